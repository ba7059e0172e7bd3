//! The fields of the form.

use hyper::body::Bytes;

use crate::domain::Language;
use crate::http::request::form::{self, FormParams};
use crate::http::request::negotiate;
use crate::http::{Errors, Problem, RequestContext};

/// The submitted fields. Unknown fields are ignored.
#[derive(Debug, Default)]
pub(super) struct FormFields {
    /// The address as typed.
    pub(super) typed: String,
    pub(super) redirect: Option<String>,
    /// The allowed origin that it comes from, also after the page was shown again.
    pub(super) from: Option<String>,
    pub(super) language: Language,
    /// The honeypot: a field invisible to people.
    pub(super) website: Option<String>,
    /// The page's name for itself.
    pub(super) source: Option<String>,
    /// Name of the field that couldn't be read.
    pub(super) unreadable: String,
}

impl FormFields {
    /// The fields of an empty form.
    pub(super) fn empty(context: &RequestContext) -> Self {
        Self {
            language: language(context),
            ..Self::default()
        }
    }
}

/// Reads a body of either media type.
///
/// # Errors
/// A problem when a field can't be decoded or is repeated.
pub(super) fn read(context: &RequestContext, body: &Bytes) -> Result<FormFields, Problem> {
    FormFields::of(context, &form::read(context.headers(), body))
}

impl FormFields {
    fn of(context: &RequestContext, form: &FormParams) -> Result<Self, Problem> {
        let mut errors = Errors::default();
        let origin = context.state().origins.origin_of(context.headers());
        let origin = origin.and_then(|origin| origin.to_str().ok());
        let mut field = |name| form.optional(name, &mut errors).map(str::to_owned);
        let named = field("lang");
        let named = named.as_deref().and_then(Language::of_tag);
        let kept = field("from").filter(|from| context.state().origins.contains(from));
        let fields = Self {
            typed: field("email").unwrap_or_default(),
            redirect: field("redirect"),
            from: origin.map(str::to_owned).or(kept),
            language: named.unwrap_or_else(|| language(context)),
            website: field("website"),
            source: field("source"),
            unreadable: String::new(),
        };
        errors.finish(Some(fields))
    }
}

/// Language of the request.
pub(super) fn language(context: &RequestContext) -> Language {
    negotiate::language(&context.parts.uri, context.headers())
}
