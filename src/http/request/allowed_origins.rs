//! The origins whose pages the operator trusts.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::{HeaderValue, ORIGIN};

/// The origins whose pages may read the answers. They are compared byte by byte.
#[derive(Clone, Debug, Default)]
pub struct AllowedOrigins(Arc<[String]>);

impl AllowedOrigins {
    /// Allows `origins`, each serialised as browsers do: scheme, host, and the port if it is not
    /// the scheme's default.
    pub fn new(origins: impl IntoIterator<Item = String>) -> Self {
        Self(origins.into_iter().collect())
    }

    /// Whether `origin` is allowed.
    pub(crate) fn contains(&self, origin: &str) -> bool {
        self.0.iter().any(|allowed| allowed == origin)
    }

    /// The request's origin, if it names exactly one and that is allowed.
    pub(crate) fn origin_of<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = only_origin(headers)?;
        let is_allowed = |allowed: &String| allowed.as_bytes() == origin.as_bytes();
        self.0.iter().any(is_allowed).then_some(origin)
    }

    /// Whether the request has no origin, the origin `own`, or an allowed one.
    pub(crate) fn admits(&self, headers: &HeaderMap, own: &str) -> bool {
        let is_own = |origin: &HeaderValue| origin.as_bytes() == own.as_bytes();
        !headers.contains_key(ORIGIN)
            || only_origin(headers).is_some_and(is_own)
            || self.origin_of(headers).is_some()
    }

    /// Whether no origin is allowed.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The origin that a request names, if it names no other.
fn only_origin(headers: &HeaderMap) -> Option<&HeaderValue> {
    let mut named = headers.get_all(ORIGIN).iter();
    match (named.next(), named.next()) {
        (origin, None) => origin,
        (_, Some(_)) => None,
    }
}
