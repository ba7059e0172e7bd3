//! API versions and deprecation notices.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

/// The only version so far: in the path, and in the responses of health and sandbox.
pub(crate) const VERSION: &str = "v1";

pub(crate) const SERVICE_API_VERSION: HeaderName = HeaderName::from_static("service-api-version");
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// Adds the notice of an operation's removal after `sunset`, an HTTP date.
pub(crate) fn announce(sunset: &'static str, headers: &mut HeaderMap) {
    // The value of the first drafts; RFC 9745 has a date.
    headers.insert(DEPRECATION, HeaderValue::from_static("true"));
    headers.insert(SUNSET, HeaderValue::from_static(sunset));
}
