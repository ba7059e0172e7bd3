//! API versions and deprecation notices.

use hyper::header::HeaderName;

/// The only version so far: in the path, and in the responses of health and sandbox.
pub(crate) const VERSION: &str = "v1";

pub(crate) const SERVICE_API_VERSION: HeaderName = HeaderName::from_static("service-api-version");
pub(crate) const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
pub(crate) const SUNSET: HeaderName = HeaderName::from_static("sunset");
