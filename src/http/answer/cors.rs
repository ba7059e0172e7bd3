//! CORS (Fetch standard, section 3.2): which pages of other origins may read the answers.
//!
//! Without allowed origins there are no CORS headers under `/api`, `/agent`, `/oauth2` and `/mcp`.
//! With some, every answer there varies by `Origin`, and an allowed origin gets the headers that let
//! its scripts read the answer, whatever its status: a page that cannot read a 429 cannot wait.
//!
//! A preflight is answered before anything is counted or read. One from an origin that is not
//! allowed gets the same 204 without the headers: its browser refuses the page either way.
//!
//! Documents are the same for everybody, so any page may read them.

use std::sync::Arc;

use hyper::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderValue, ORIGIN, VARY,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};

use crate::domain::is_same_origin;
use crate::http::Area;

/// What scripts of an allowed origin may read, beside the CORS-safelisted response headers: every
/// header of an answer for programs but `Set-Cookie`, which no script may read.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "allow, date, deprecation, ratelimit, ratelimit-limit, ratelimit-policy, ratelimit-remaining, \
     ratelimit-reset, retry-after, service-api-version, sunset, vary, www-authenticate, \
     x-accel-buffering, x-content-type-options, x-request-id",
);

/// The request headers that an operation reads and a script may set.
const ACCEPTED: HeaderValue = HeaderValue::from_static(
    "accept, authorization, content-type, mcp-method, mcp-name, mcp-protocol-version, \
     service-api-version, x-api-key",
);

const VARY_OF_PREFLIGHTS: HeaderValue = HeaderValue::from_static(
    "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
);

/// How long a browser may remember a preflight's answer, in seconds. Chromium keeps none longer.
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("7200");

/// The origins whose pages may read the answers.
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
        self.0.iter().any(|allowed| is_same_origin(allowed, origin))
    }

    /// The request's origin, if it names exactly one and that is allowed.
    pub(crate) fn origin_of<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        only_origin(headers).filter(|origin| self.contains(origin))?;
        headers.get(ORIGIN)
    }

    /// Whether the request has no origin, the origin `own`, or an allowed one.
    pub(crate) fn admits(&self, headers: &HeaderMap, own: &str) -> bool {
        let is_admitted = |origin| is_same_origin(origin, own) || self.contains(origin);
        !headers.contains_key(ORIGIN) || only_origin(headers).is_some_and(is_admitted)
    }

    /// The headers of the answer to a preflight, for a path that has the methods `allow`. `None` if the
    /// request is no preflight, or no origin is allowed at all.
    pub(crate) fn preflight(
        &self,
        parts: &Parts,
        allow: &'static str,
        is_document: bool,
    ) -> Option<HeaderMap> {
        let is_preflight = parts.method == Method::OPTIONS
            && parts.headers.contains_key(ORIGIN)
            && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if !is_preflight {
            return None;
        }
        let mut headers = HeaderMap::new();
        if is_document {
            headers.extend([
                (ACCESS_CONTROL_ALLOW_ORIGIN, ANY),
                (ACCESS_CONTROL_ALLOW_HEADERS, ANY),
            ]);
        } else if self.0.is_empty() || !Area::of(parts.uri.path()).is_for_programs() {
            return None;
        } else {
            headers.insert(VARY, VARY_OF_PREFLIGHTS);
            let Some(origin) = self.origin_of(&parts.headers) else {
                return Some(headers);
            };
            headers.extend([
                (ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone()),
                (ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE),
                (ACCESS_CONTROL_ALLOW_HEADERS, ACCEPTED),
            ]);
        }
        let methods = HeaderValue::from_static(allow);
        headers.extend([
            (ACCESS_CONTROL_ALLOW_METHODS, methods),
            (ACCESS_CONTROL_MAX_AGE, MAX_AGE_S),
        ]);
        Some(headers)
    }

    /// Adds the headers of an answer for programs to a request with these headers.
    pub(crate) fn apply(&self, request: &HeaderMap, headers: &mut HeaderMap) {
        if self.0.is_empty() {
            return;
        }
        headers.append(VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = self.origin_of(request) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }
}

/// The origin that a request names, if it names no other.
fn only_origin(headers: &HeaderMap) -> Option<&str> {
    let mut named = headers.get_all(ORIGIN).iter();
    let first = named.next().filter(|_| named.next().is_none())?;
    first.to_str().ok()
}

/// Lets any page read an answer about a document, whatever its status.
pub(crate) fn open(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, ANY);
}

const ANY: HeaderValue = HeaderValue::from_static("*");
const TRUE: HeaderValue = HeaderValue::from_static("true");
