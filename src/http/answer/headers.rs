//! Names and values of headers that several answers have.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The value of `Cache-Control` that forbids every cache to keep an answer.
pub(crate) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Inserts `value`, which consists of visible ASCII characters.
pub(crate) fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
