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
use crate::http::handlers::newsletter::evidence;
use crate::http::request::form;
use crate::http::{BodyRule, Code, Endpoint, Errors, Problem, Reply, RequestContext};
use crate::usecases::subscribe::subscribe;

use redirect::Target;

pub(crate) const SHOW: Endpoint = Endpoint {
    name: "newsletter.form",
    paths: &[PATH],
    ..Endpoint::get(|context, _body| Now(show(context)))
};

pub(crate) const SUBMIT: Endpoint = Endpoint {
    name: "newsletter.submit",
    paths: &[PATH],
    body: Some(BodyRule::html_form(8)),
    has_effects: true,
    ..Endpoint::post(|context, body| later(submit(context.clone(), body)))
};

pub(crate) const THANKS: Endpoint = Endpoint {
    name: "newsletter.thanks",
    paths: &[THANKS_PATH],
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
    /// Where an accepted form leads.
    target: Option<Target>,
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
        language: context.language(),
        ..FormFields::default()
    };
    form_page(context, &fields, StatusCode::OK, "", 0)
}

fn thank(context: &RequestContext) -> Result<Reply, Problem> {
    let page = WrittenPage {
        status: StatusCode::OK,
        language: context.language(),
        layout: "parts/thanks.html",
        title: match context.app().opt_in {
            Some(_) => "thanks-asked-title",
            None => "thanks-title",
        },
        // Nobody should find it by search.
        path: None,
        values: json!({}),
    };
    in_any_frame(context, &page, "")
}

async fn submit(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let fields = match read(&context, &body) {
        Ok(fields) => fields,
        Err(problem) => {
            let pointer = problem.errors.first().map(|error| error.pointer.as_str());
            let fields = FormFields {
                language: context.language(),
                unreadable: pointer.unwrap_or_default().replace("#/", ""),
                ..FormFields::default()
            };
            return again(&context, &fields, problem);
        }
    };
    if fields.website.is_some() {
        // Bots get the same response as people, so that they learn nothing.
        context.app().metrics.trapped_forms.increase();
    } else if let Err(problem) = sign_up(&context, &fields).await {
        return again(&context, &fields, problem);
    }
    let thanks = || format!("{THANKS_PATH}?lang={}", fields.language.as_str());
    let location = fields.target.map_or_else(thanks, |target| target.location);
    let location = HeaderValue::try_from(location).map_err(Problem::fault)?;
    let mut reply = Reply::empty();
    // By GET (RFC 9110, section 15.4.4).
    *reply.response.status_mut() = StatusCode::SEE_OTHER;
    reply.response.headers_mut().insert(LOCATION, location);
    Ok(reply)
}

/// Reads a body of either media type.
///
/// # Errors
/// A problem when a field can't be decoded or is repeated.
fn read(context: &RequestContext, body: &Bytes) -> Result<FormFields, Problem> {
    let form = form::read(context.headers(), body);
    let mut errors = Errors::default();
    let mut field = |name| form.optional(name, &mut errors).map(str::to_owned);
    let (own, allowed) = (&context.app().settings.base_url, &context.state().origins);
    let named = field("lang").and_then(|tag| Language::of_tag(&tag));
    let fields = FormFields {
        typed: field("email").unwrap_or_default(),
        target: field("redirect").and_then(|page| redirect::target(&page, own, allowed)),
        language: named.unwrap_or_else(|| context.language()),
        website: field("website"),
        source: field("source"),
        unreadable: String::new(),
    };
    errors.finish(Some(fields))
}

/// Signs up the address.
async fn sign_up(context: &RequestContext, fields: &FormFields) -> Result<(), Problem> {
    let email = EmailAddress::parse(fields.typed.trim());
    let email = email.map_err(|_error| Problem::of(Code::ValidationFailed))?;
    let (app, client) = (context.app(), &context.client);
    let source = fields.source.as_deref();
    let evidence = evidence(context, SignUpWay::Form, source, Some(fields.language));
    subscribe(app.newsletter(), client, email, evidence).await?;
    Ok(())
}

/// The form again, with the typed values and advice.
fn again(
    context: &RequestContext,
    fields: &FormFields,
    problem: Problem,
) -> Result<Reply, Problem> {
    let violated = problem.decision.binding().filter(|found| found.is_violated);
    let is_invalid = problem.code == Code::ValidationFailed;
    let message = match (is_invalid, violated) {
        _ if !fields.unreadable.is_empty() => "newsletter-unreadable",
        (true, _) if fields.typed.trim().is_empty() => "newsletter-address-missing",
        (true, _) => "newsletter-address-wrong",
        (false, Some(_)) => "newsletter-wait",
        (false, None) => "newsletter-unavailable",
    };
    let wait_s = violated.map_or(0, |standing| standing.reset_s());
    let status = problem.code.status();
    Ok(form_page(context, fields, status, message, wait_s)?.about(problem))
}

/// The form as a page, which leads to the target once it is accepted. Above it is the text of the key `message`,
/// if any, optionally with a waiting time.
fn form_page(
    context: &RequestContext,
    fields: &FormFields,
    status: StatusCode,
    message: &str,
    wait_s: u64,
) -> Result<Reply, Problem> {
    let target = fields.target.as_ref();
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
            "message": message,
            "wait_s": wait_s,
            "is_about_address": message.starts_with("newsletter-address-"),
        }),
    };
    let origin = target.and_then(|target| target.origin.as_deref());
    in_any_frame(context, &page, origin.unwrap_or_default())
}

/// Renders `page` and allows any page to show it in a frame, because its plain form may be in one: nothing is done
/// there in anybody's name. The form may lead on to `origin`; Chromium applies the policy to redirects, too.
fn in_any_frame(
    context: &RequestContext,
    page: &WrittenPage<'_>,
    origin: &str,
) -> Result<Reply, Problem> {
    let mut reply = page.reply(&context.state().templates)?;
    let policy = PAGE_POLICY.replace("frame-ancestors 'none'; ", "");
    let action = format!("form-action 'self' {origin}");
    let policy = policy.replace("form-action 'self'", action.trim_end());
    let policy = HeaderValue::try_from(policy).map_err(Problem::fault)?;
    let headers = reply.response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    Ok(reply)
}
