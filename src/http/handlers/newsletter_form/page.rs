//! The form as a page, with what was typed and what to do.

use hyper::StatusCode;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use serde_json::json;

use crate::http::answer::documents::PAGE_POLICY;
use crate::http::answer::page::WrittenPage;
use crate::http::{Problem, Reply, RequestContext};

use crate::http::handlers::newsletter_form::fields::FormFields;
use crate::http::handlers::newsletter_form::redirect::Target;

/// Where the form is, and is sent.
pub(super) const PATH: &str = "/newsletter";

/// What the page says above the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Nothing,
    /// The address is missing.
    Missing,
    /// It is not an address.
    Wrong,
    /// A field cannot be decoded, or comes twice.
    Unreadable,
    /// A limit is used up.
    Wait {
        wait_s: u64,
    },
    /// The service cannot keep it now.
    Unavailable,
}

impl Said {
    /// The key of the message, and seconds that it names.
    const fn message(self) -> (&'static str, u64) {
        match self {
            Self::Nothing => ("", 0),
            Self::Missing => ("newsletter-address-missing", 0),
            Self::Wrong => ("newsletter-address-wrong", 0),
            Self::Unreadable => ("newsletter-unreadable", 0),
            Self::Wait { wait_s } => ("newsletter-wait", wait_s),
            Self::Unavailable => ("newsletter-unavailable", 0),
        }
    }

    const fn is_about_address(self) -> bool {
        matches!(self, Self::Missing | Self::Wrong)
    }
}

/// The form as a page, which leads to `target` once it is taken.
pub(super) fn form_page(
    context: &RequestContext,
    fields: &FormFields,
    target: Option<&Target>,
    status: StatusCode,
    said: Said,
) -> Result<Reply, Problem> {
    let (message, wait_s) = said.message();
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
            "message": message,
            "wait_s": wait_s,
            "is_about_address": said.is_about_address(),
        }),
    };
    let mut reply = page.reply(&context.state.page_writer)?;
    if let Some(origin) = target.and_then(|target| target.origin.as_deref()) {
        // Chromium holds the policy against where a form is sent on to, too.
        let policy = format!("form-action 'self' {origin}");
        let policy = PAGE_POLICY.replace("form-action 'self'", &policy);
        if let Ok(policy) = HeaderValue::try_from(policy) {
            reply.headers.insert(CONTENT_SECURITY_POLICY, policy);
        }
    }
    Ok(reply)
}
