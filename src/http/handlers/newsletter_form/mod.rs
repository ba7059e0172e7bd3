//! `/newsletter`: signing up by a plain HTML form, on any page, with or without script.
//!
//! It is the sign-up of the API, with the same limits. The form needs no token against forgery: it does
//! nothing in anybody's name, and no cookie is read. What goes wrong is a page that keeps what was typed.

mod fields;
mod page;
mod redirect;

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{HeaderValue, LOCATION};
use serde_json::json;

use crate::domain::{EmailAddress, SignUpWay};
use crate::http::answer::page::WrittenPage;
use crate::http::request::evidence::evidence;
use crate::http::{BodyRule, Code, Endpoint, Problem, Reply, RequestContext};
use crate::usecases::subscribe::{Subscribed, subscribe};

use fields::FormFields;
use page::{PATH, Said, form_page};
use redirect::Target;

pub(crate) const SHOW: Endpoint = Endpoint {
    name: "newsletter.form",
    paths: &[PATH],
    is_described: false,
    ..Endpoint::get(|context, _body| Box::pin(async move { show(&context) }))
};

pub(crate) const SUBMIT: Endpoint = Endpoint {
    name: "newsletter.submit",
    paths: &[PATH],
    body: Some(BodyRule::html_form(8)),
    has_effects: true,
    is_described: false,
    ..Endpoint::post(|context, body| Box::pin(submit(context, body)))
};

pub(crate) const THANKS: Endpoint = Endpoint {
    name: "newsletter.thanks",
    paths: &[THANKS_PATH],
    is_described: false,
    ..Endpoint::get(|context, _body| Box::pin(async move { thank(&context) }))
};

const THANKS_PATH: &str = "/newsletter/thanks";

/// The empty form.
fn show(context: &RequestContext) -> Result<Reply, Problem> {
    let fields = FormFields::empty(context);
    form_page(context, &fields, None, StatusCode::OK, Said::Nothing)
}

fn thank(context: &RequestContext) -> Result<Reply, Problem> {
    // Anybody may write the query: only what is allowed becomes a link.
    let query = context.parts.uri.query().unwrap_or_default();
    let from = query.split('&').find_map(|pair| pair.strip_prefix("from="));
    let back = from.filter(|origin| context.origins.contains(origin));
    let site = back.and_then(|origin| origin.split_once("://"));
    let page = WrittenPage {
        status: StatusCode::OK,
        language: fields::language(context),
        layout: "parts/thanks.html",
        title: "thanks-title",
        // Nobody should find it by search.
        path: None,
        values: json!({ "back": back, "site": site.map(|(_scheme, host)| host) }),
    };
    page.reply(&context.state.page_writer)
}

async fn submit(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let fields = match fields::read(&context, &body) {
        Ok(fields) => fields,
        Err(problem) => {
            let pointer = problem.errors.first().map(|error| error.pointer.as_str());
            let fields = FormFields {
                unreadable: pointer.unwrap_or_default().replace("#/", ""),
                ..FormFields::empty(&context)
            };
            let status = StatusCode::BAD_REQUEST;
            let page = form_page(&context, &fields, None, status, Said::Unreadable)?;
            return Ok(page.about(problem));
        }
    };
    let target = redirect::target(
        fields.redirect.as_deref(),
        &context.app().settings.base_url,
        &context.origins,
    );
    let app = context.app();
    if app.settings.checks_forms && fields.website.is_some() {
        app.metrics.trapped_forms.increase();
        // Bots get the same answer as people, so that they learn nothing.
        return see_other(&fields, target);
    }
    match sign_up(&context, &fields).await {
        Ok(_subscribed) => see_other(&fields, target),
        Err(refused) => refused.page(&context, &fields, target.as_ref()),
    }
}

/// Why a form was not taken.
enum Refused {
    /// The address is missing or none.
    Address(Said),
    /// What fails for any sign-up.
    Failed(Box<Problem>),
}

/// Signs the address up.
async fn sign_up(context: &RequestContext, fields: &FormFields) -> Result<Subscribed, Refused> {
    let typed = fields.typed.trim();
    if typed.is_empty() {
        return Err(Refused::Address(Said::Missing));
    }
    let email = EmailAddress::parse(typed).map_err(|_error| Refused::Address(Said::Wrong))?;
    let (app, client, now) = (context.app(), &context.client, context.now);
    let source = fields.source.as_deref();
    let evidence = evidence(context, SignUpWay::Form, source, Some(fields.language));
    let subscribed = subscribe(app.newsletter(), app.meter(), now, client, email, evidence).await;
    subscribed.map_err(|error| Refused::Failed(Box::new(error.into())))
}

impl Refused {
    /// The form again, with what was typed and what to do.
    fn page(
        self,
        context: &RequestContext,
        fields: &FormFields,
        target: Option<&Target>,
    ) -> Result<Reply, Problem> {
        let (status, said) = match &self {
            Self::Address(said) => (StatusCode::BAD_REQUEST, *said),
            Self::Failed(problem) => {
                let wait = problem.decision.binding().filter(|it| it.is_violated);
                let said = wait.map_or(Said::Unavailable, |it| Said::Wait {
                    wait_s: it.reset_s(),
                });
                (problem.code.kind().status, said)
            }
        };
        let page = form_page(context, fields, target, status, said)?;
        Ok(match self {
            Self::Failed(problem) => page.about(*problem),
            Self::Address(_) => page.about(Problem::of(Code::ValidationFailed)),
        })
    }
}

/// To where the form leads once it was taken, by GET (RFC 9110, section 15.4.4).
fn see_other(fields: &FormFields, target: Option<Target>) -> Result<Reply, Problem> {
    let thanks = || {
        let from = fields.from.as_ref();
        let from = from.map_or_else(String::new, |origin| format!("&from={origin}"));
        format!("{THANKS_PATH}?lang={}{from}", fields.language.tag())
    };
    let location = target.map_or_else(thanks, |target| target.location);
    let location = HeaderValue::try_from(location).map_err(Problem::fault)?;
    let mut reply = Reply::empty();
    reply.status = StatusCode::SEE_OTHER;
    reply.headers.insert(LOCATION, location);
    Ok(reply)
}
