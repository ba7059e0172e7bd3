//! `/newsletter`: signing up with a plain HTML form, on any page, with or without script.
//!
//! It is the sign-up of the API, with the same limits. The form needs no CSRF token: it does nothing in
//! anybody's name, and no cookie is read. On errors the page returns with the typed values.

mod fields;
mod page;
mod redirect;

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{HeaderValue, LOCATION};
use serde_json::json;

use crate::domain::{EmailAddress, SignUpWay};
use crate::http::answer::page::WrittenPage;
use crate::http::endpoint::{Handled::Now, later};
use crate::http::request::evidence::evidence;
use crate::http::{BodyRule, Code, Endpoint, Problem, Reply, RequestContext};
use crate::usecases::subscribe::{Subscribed, subscribe};

use fields::FormFields;
use page::{PATH, form_page, in_any_frame};
use redirect::Target;

pub(crate) const SHOW: Endpoint = Endpoint {
    name: "newsletter.form",
    paths: &[PATH],
    is_described: false,
    ..Endpoint::get(|context, _body| Now(show(context)))
};

pub(crate) const SUBMIT: Endpoint = Endpoint {
    name: "newsletter.submit",
    paths: &[PATH],
    body: Some(BodyRule::html_form(8)),
    has_effects: true,
    is_described: false,
    ..Endpoint::post(|context, body| later(submit(context.clone(), body)))
};

pub(crate) const THANKS: Endpoint = Endpoint {
    name: "newsletter.thanks",
    paths: &[THANKS_PATH],
    is_described: false,
    ..Endpoint::get(|context, _body| Now(thank(context)))
};

const THANKS_PATH: &str = "/newsletter/thanks";

/// The empty form.
fn show(context: &RequestContext) -> Result<Reply, Problem> {
    let fields = FormFields::empty(context);
    form_page(context, &fields, None, StatusCode::OK, "", 0)
}

fn thank(context: &RequestContext) -> Result<Reply, Problem> {
    // Anybody may write the query: only allowed values become a link.
    let query = context.parts.uri.query().unwrap_or_default();
    let from = query.split('&').find_map(|pair| pair.strip_prefix("from="));
    let back = from.filter(|origin| context.state().origins.contains(origin));
    let site = back.and_then(|origin| origin.split_once("://"));
    let page = WrittenPage {
        status: StatusCode::OK,
        language: fields::language(context),
        layout: "parts/thanks.html",
        title: match context.app().opt_in {
            Some(_) => "thanks-asked-title",
            None => "thanks-title",
        },
        // Nobody should find it by search.
        path: None,
        values: json!({ "back": back, "site": site.map(|(_scheme, host)| host) }),
    };
    Ok(in_any_frame(page.reply(&context.state().page_writer)?, ""))
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
            return again(&context, &fields, None, "newsletter-unreadable", problem);
        }
    };
    let target = redirect::target(
        fields.redirect.as_deref(),
        &context.app().settings.base_url,
        &context.state().origins,
    );
    let app = context.app();
    if fields.website.is_some() {
        app.metrics.trapped_forms.increase();
        // Bots get the same response as people, so that they learn nothing.
        return see_other(&fields, target);
    }
    match sign_up(&context, &fields).await {
        Ok(_subscribed) => see_other(&fields, target),
        Err((said, problem)) => again(&context, &fields, target.as_ref(), said, *problem),
    }
}

/// Signs up the address.
///
/// # Errors
/// The key of the page's message, and the problem.
async fn sign_up(
    context: &RequestContext,
    fields: &FormFields,
) -> Result<Subscribed, (&'static str, Box<Problem>)> {
    let invalid = |said| (said, Box::new(Problem::of(Code::ValidationFailed)));
    let typed = fields.typed.trim();
    if typed.is_empty() {
        return Err(invalid("newsletter-address-missing"));
    }
    let email = EmailAddress::parse(typed);
    let email = email.map_err(|_error| invalid("newsletter-address-wrong"))?;
    let (app, client) = (context.app(), &context.client);
    let source = fields.source.as_deref();
    let evidence = evidence(context, SignUpWay::Form, source, Some(fields.language));
    let subscribed = subscribe(app.newsletter(), app.meter(), client, email, evidence).await;
    subscribed.map_err(|error| ("newsletter-unavailable", Box::new(error.into())))
}

/// The form again, with the typed values and advice.
fn again(
    context: &RequestContext,
    fields: &FormFields,
    target: Option<&Target>,
    said: &str,
    problem: Problem,
) -> Result<Reply, Problem> {
    let violated = problem.decision.binding().filter(|found| found.is_violated);
    let wait = violated.map(|standing| ("newsletter-wait", standing.reset_s()));
    let (said, wait_s) = wait.unwrap_or((said, 0));
    let status = problem.code.kind().status;
    Ok(form_page(context, fields, target, status, said, wait_s)?.about(problem))
}

/// Redirects to the form's target by GET (RFC 9110, section 15.4.4).
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
