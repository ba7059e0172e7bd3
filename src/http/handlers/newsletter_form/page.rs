//! The form as a page, with the typed values and advice.

use hyper::StatusCode;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use serde_json::json;

use crate::http::answer::documents::PAGE_POLICY;
use crate::http::answer::page::WrittenPage;
use crate::http::{Problem, Reply, RequestContext};

use crate::http::handlers::newsletter_form::fields::FormFields;
use crate::http::handlers::newsletter_form::redirect::Target;

/// Path of the form and of its submission.
pub(super) const PATH: &str = "/newsletter";

/// The form as a page, which leads to `target` once it is accepted. Above it is the message of the key
/// `said`, if any, optionally with a waiting time.
pub(super) fn form_page(
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
            "from": fields.from,
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
pub(super) fn in_any_frame(mut reply: Reply, origin: &str) -> Reply {
    let policy = PAGE_POLICY.replace("frame-ancestors 'none'; ", "");
    let action = format!("form-action 'self' {origin}");
    let policy = policy.replace("form-action 'self'", action.trim_end());
    if let Ok(policy) = HeaderValue::try_from(policy) {
        reply.headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    reply
}
