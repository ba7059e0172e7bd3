//! Which pages of other origins may read the answers: CORS, as the Fetch standard has it.
//!
//! Without allowed origins there is no CORS at all. With some, every answer under `/api`, `/agent`
//! and `/oauth2` varies by `Origin`, and an allowed one gets the headers that let its script read
//! the answer, whatever the status: a page that cannot read a 429 cannot wait. Origins are compared
//! byte by byte with what the operator named.
//!
//! A preflight is answered here, before anything is counted, looked up or read: it costs one
//! comparison of strings, whoever sends it, and what bounds it is what bounds every connection.
//! One from an origin that is not allowed gets the same 204 without the headers. Its browser
//! refuses the page either way, and a 403 would only tell more.
//!
//! Documents are the same for everybody: any page may read them, allowed origin or not.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderValue, ORIGIN, VARY,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};

use super::route::Area;
use super::routes::Route;

/// Every header of an answer for programs but CORS's own, and whether scripts have to be allowed
/// to read it. Left out is what belongs to one connection, such as `Connection`.
const SENT: [(&str, Readable); 21] = [
    ("allow", Readable::IfExposed),
    ("cache-control", Readable::Always),
    ("content-length", Readable::Always),
    ("content-type", Readable::Always),
    ("date", Readable::IfExposed),
    ("deprecation", Readable::IfExposed),
    ("pragma", Readable::Always),
    ("ratelimit", Readable::IfExposed),
    ("ratelimit-limit", Readable::IfExposed),
    ("ratelimit-policy", Readable::IfExposed),
    ("ratelimit-remaining", Readable::IfExposed),
    ("ratelimit-reset", Readable::IfExposed),
    ("retry-after", Readable::IfExposed),
    ("service-api-version", Readable::IfExposed),
    ("set-cookie", Readable::Never),
    ("sunset", Readable::IfExposed),
    ("vary", Readable::IfExposed),
    ("www-authenticate", Readable::IfExposed),
    ("x-accel-buffering", Readable::IfExposed),
    ("x-content-type-options", Readable::IfExposed),
    ("x-request-id", Readable::IfExposed),
];

/// Which scripts can read a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readable {
    /// Any: it is a CORS-safelisted response-header name.
    Always,
    /// Those of an allowed origin, if it is exposed to them.
    IfExposed,
    /// None: it is a forbidden response-header name.
    Never,
}

/// The request headers that an operation reads and a script may set.
const ACCEPTED: HeaderValue =
    HeaderValue::from_static("accept, authorization, content-type, service-api-version, x-api-key");

/// The same of the MCP endpoint.
const ACCEPTED_BY_MCP: HeaderValue = HeaderValue::from_static(
    "accept, authorization, content-type, mcp-method, mcp-name, mcp-protocol-version, x-api-key",
);

/// The request headers that choose a document's form, and that a script may set.
const ACCEPTED_BY_DOCUMENTS: HeaderValue =
    HeaderValue::from_static("accept, content-type, if-none-match, service-api-version");

/// What scripts may read of an answer about a document, beside what they can read of any answer.
const SENT_WITH_DOCUMENTS: HeaderValue = HeaderValue::from_static(
    "allow, content-security-policy, cross-origin-opener-policy, date, etag, link, \
     permissions-policy, ratelimit, ratelimit-limit, ratelimit-policy, ratelimit-remaining, \
     ratelimit-reset, referrer-policy, retry-after, service-api-version, vary, www-authenticate, \
     x-content-type-options, x-request-id",
);

/// How long a browser may remember a preflight's answer, in seconds. Chromium keeps none longer.
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("7200");

/// The origins whose pages may read the answers.
#[derive(Clone, Debug)]
pub struct AllowedOrigins {
    origins: Vec<String>,
    exposed: HeaderValue,
}

impl Default for AllowedOrigins {
    fn default() -> Self {
        Self::new([])
    }
}

impl AllowedOrigins {
    /// Allows `origins`, each serialised as browsers do: scheme, host, and the port if it is not
    /// the scheme's own.
    #[must_use]
    pub fn new(origins: impl IntoIterator<Item = String>) -> Self {
        let exposed: Vec<_> = SENT
            .iter()
            .filter(|(_, readable)| *readable == Readable::IfExposed)
            .map(|(name, _)| *name)
            .collect();
        Self {
            origins: origins.into_iter().collect(),
            // Header names are always a valid value.
            exposed: HeaderValue::try_from(exposed.join(", "))
                .unwrap_or(HeaderValue::from_static("")),
        }
    }

    /// The request's origin, if that is the only one it names and an allowed one.
    pub(crate) fn of<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        if self.origins.is_empty() {
            return None;
        }
        let origin = only_origin(headers)?;
        let is_allowed = |allowed: &String| allowed.as_bytes() == origin.as_bytes();
        self.origins.iter().any(is_allowed).then_some(origin)
    }

    /// Whether the request comes from no page at all, from one of the origin `own`, or from one of
    /// an allowed origin.
    pub(crate) fn admits(&self, headers: &HeaderMap, own: &str) -> bool {
        let is_own = |origin: &HeaderValue| origin.as_bytes() == own.as_bytes();
        !headers.contains_key(ORIGIN)
            || only_origin(headers).is_some_and(is_own)
            || self.of(headers).is_some()
    }

    /// The headers of the answer to a preflight; nothing if the request is none, or if no origin
    /// is allowed at all, or if there is nothing at its path.
    pub(crate) fn preflight(&self, parts: &Parts, route: Route) -> Option<HeaderMap> {
        let Route::WrongMethod { allow, is_document } = route else {
            return None;
        };
        if !is_preflight(parts) {
            return None;
        }
        if is_document {
            return Some(open_preflight(allow));
        }
        let area = Area::of(parts.uri.path());
        if self.origins.is_empty() || !area.is_for_programs() {
            return None;
        }
        let mut headers = HeaderMap::new();
        headers.insert(
            VARY,
            HeaderValue::from_static(
                "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
            ),
        );
        if let Some(origin) = self.of(&parts.headers) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE);
            let methods = HeaderValue::from_static(allow);
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
            let accepted = match area {
                Area::Mcp => ACCEPTED_BY_MCP,
                Area::Api | Area::OAuth | Area::Site => ACCEPTED,
            };
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, accepted);
            headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE_S);
        }
        Some(headers)
    }

    /// Writes what an answer for programs tells the browser, for a request whose allowed origin is
    /// `origin`, if it has one.
    pub(crate) fn write(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        if self.origins.is_empty() {
            return;
        }
        let vary = match headers.get(VARY).and_then(|vary| vary.to_str().ok()) {
            Some(vary) => HeaderValue::try_from(format!("{vary}, Origin")).ok(),
            None => Some(HeaderValue::from_static("Origin")),
        };
        if let Some(vary) = vary {
            headers.insert(VARY, vary);
        }
        if let Some(origin) = origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, self.exposed.clone());
        }
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

fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS
        && parts.headers.contains_key(ORIGIN)
        && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The headers of the answer to a preflight for a document.
fn open_preflight(allow: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static(allow),
    );
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ACCEPTED_BY_DOCUMENTS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE_S);
    headers
}

/// Writes that any page may read an answer about a document, whatever its status.
pub(crate) fn open(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, SENT_WITH_DOCUMENTS);
}

const ANY: HeaderValue = HeaderValue::from_static("*");
const TRUE: HeaderValue = HeaderValue::from_static("true");
