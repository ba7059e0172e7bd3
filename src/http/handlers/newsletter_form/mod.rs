//! `/newsletter`: signing up with a plain HTML form, on any page, with or without script.
//!
//! It is the sign-up of the API, with the same limits. The form needs no CSRF token: it does nothing in
//! anybody's name, and no cookie is read. On errors the page returns with the typed values.

mod redirect;

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue, LOCATION};
use serde_json::json;

use crate::domain::{EmailAddress, Language, SignUpWay};
use crate::http::answer::documents::PAGE_POLICY;
use crate::http::answer::page::WrittenPage;
use crate::http::endpoint::{Handled::Now, later};
use crate::http::request::evidence::evidence;
use crate::http::request::{form, negotiate};
use crate::http::{BodyRule, Code, Endpoint, Errors, Problem, Reply, RequestContext};
use crate::usecases::subscribe::subscribe;

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

/// Path of the form and of its submission.
const PATH: &str = "/newsletter";

const THANKS_PATH: &str = "/newsletter/thanks";

/// The submitted fields. Unknown fields are ignored.
#[derive(Debug, Default)]
struct FormFields {
    /// The address as typed.
    typed: String,
    redirect: Option<String>,
    language: Language,
    /// The honeypot: a field invisible to people.
    website: Option<String>,
    /// The page's name for itself.
    source: Option<String>,
    /// Name of the field that couldn't be read.
    unreadable: String,
}

/// The empty form.
fn show(context: &RequestContext) -> Result<Reply, Problem> {
    let fields = FormFields {
        language: negotiate::language(&context.parts),
        ..FormFields::default()
    };
    form_page(context, &fields, None, StatusCode::OK, "", 0)
}

fn thank(context: &RequestContext) -> Result<Reply, Problem> {
    let page = WrittenPage {
        status: StatusCode::OK,
        language: negotiate::language(&context.parts),
        layout: "parts/thanks.html",
        title: match context.app().opt_in {
            Some(_) => "thanks-asked-title",
            None => "thanks-title",
        },
        // Nobody should find it by search.
        path: None,
        values: json!({}),
    };
    Ok(in_any_frame(page.reply(&context.state().page_writer)?, ""))
}

async fn submit(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let fields = match read(&context, &body) {
        Ok(fields) => fields,
        Err(problem) => {
            let pointer = problem.errors.first().map(|error| error.pointer.as_str());
            let fields = FormFields {
                language: negotiate::language(&context.parts),
                unreadable: pointer.unwrap_or_default().replace("#/", ""),
                ..FormFields::default()
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
        Ok(()) => see_other(&fields, target),
        Err((said, problem)) => again(&context, &fields, target.as_ref(), said, *problem),
    }
}

/// Reads a body of either media type.
///
/// # Errors
/// A problem when a field can't be decoded or is repeated.
fn read(context: &RequestContext, body: &Bytes) -> Result<FormFields, Problem> {
    let form = form::read(context.headers(), body);
    let mut errors = Errors::default();
    let mut field = |name| form.optional(name, &mut errors).map(str::to_owned);
    let named = field("lang").and_then(|tag| Language::of_tag(&tag));
    let asked = || negotiate::language(&context.parts);
    let fields = FormFields {
        typed: field("email").unwrap_or_default(),
        redirect: field("redirect"),
        language: named.unwrap_or_else(asked),
        website: field("website"),
        source: field("source"),
        unreadable: String::new(),
    };
    errors.finish(Some(fields))
}

/// Signs up the address.
///
/// # Errors
/// The key of the page's message, and the problem.
async fn sign_up(
    context: &RequestContext,
    fields: &FormFields,
) -> Result<(), (&'static str, Box<Problem>)> {
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
    let failed = |error| ("newsletter-unavailable", Box::new(Problem::from(error)));
    subscribed.map(|_subscribed| ()).map_err(failed)
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
    let thanks = || format!("{THANKS_PATH}?lang={}", fields.language.tag());
    let location = target.map_or_else(thanks, |target| target.location);
    let location = HeaderValue::try_from(location).map_err(Problem::fault)?;
    let mut reply = Reply::empty();
    reply.status = StatusCode::SEE_OTHER;
    reply.headers.insert(LOCATION, location);
    Ok(reply)
}

/// The form as a page, which leads to `target` once it is accepted. Above it is the message of the key
/// `said`, if any, optionally with a waiting time.
fn form_page(
    context: &RequestContext,
    fields: &FormFields,
    target: Option<&Target>,
    status: StatusCode,
    said: &str,
    wait_s: u64,
) -> Result<Reply, Problem> {
    let page = WrittenPage {
        status,
        language: fields.language,
        layout: "parts/newsletter.html",
        title: "newsletter-title",
        path: Some(PATH),
        values: json!({
            "email": fields.typed,
            "field": fields.unreadable,
            "redirect": target.map_or("", |target| target.location.as_str()),
            "message": said,
            "wait_s": wait_s,
            "is_about_address": said.starts_with("newsletter-address-"),
        }),
    };
    let reply = page.reply(&context.state().page_writer)?;
    let origin = target.and_then(|target| target.origin.as_deref());
    Ok(in_any_frame(reply, origin.unwrap_or_default()))
}

/// Allows any page to show this one in a frame, because its plain form may be in one: nothing is done there
/// in anybody's name. The form may lead on to `origin`; Chromium applies the policy to redirects, too.
fn in_any_frame(mut reply: Reply, origin: &str) -> Reply {
    let policy = PAGE_POLICY.replace("frame-ancestors 'none'; ", "");
    let action = format!("form-action 'self' {origin}");
    let policy = policy.replace("form-action 'self'", action.trim_end());
    if let Ok(policy) = HeaderValue::try_from(policy) {
        reply.headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    reply
}
