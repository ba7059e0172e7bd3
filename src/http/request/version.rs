//! API versions and deprecation notices.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use crate::http::{Area, Code, Problem};

/// The only version there is: in the path, and in what health and sandbox report.
pub(crate) const VERSION: &str = "v1";

const SERVICE_API_VERSION: HeaderName = HeaderName::from_static("service-api-version");
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// The version that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Nothing.
    Any,
    /// This one.
    Ours,
    /// Anything else.
    Unknown,
}

impl Wanted {
    /// Parses `Service-API-Version`, which is ignored outside the API. The value is case-sensitive, as
    /// in the path. Repeated headers are unknown even if both are right: a proxy may join them.
    pub(crate) fn of(area: Area, headers: &HeaderMap) -> Self {
        if area != Area::Api {
            return Self::Any;
        }
        let mut values = headers.get_all(&SERVICE_API_VERSION).iter();
        match (values.next(), values.next()) {
            (None, _) => Self::Any,
            (Some(value), None) if value == VERSION => Self::Ours,
            (Some(_), _) => Self::Unknown,
        }
    }

    /// Whether the request can be served.
    ///
    /// # Errors
    /// A problem when it asks for a version that does not exist.
    pub(crate) fn check(self) -> Result<(), Problem> {
        match self {
            Self::Any | Self::Ours => Ok(()),
            Self::Unknown => Err(Problem::of(Code::UnsupportedApiVersion)),
        }
    }

    /// Confirms the version to a client that asked for it.
    pub(crate) fn confirm(self, headers: &mut HeaderMap) {
        if self == Self::Ours {
            headers.insert(SERVICE_API_VERSION, HeaderValue::from_static(VERSION));
        }
    }
}

/// Writes the notice of an operation's removal after `sunset`, an HTTP date.
pub(crate) fn announce(sunset: &'static str, headers: &mut HeaderMap) {
    // The value of the first drafts; RFC 9745 has a date.
    headers.insert(DEPRECATION, HeaderValue::from_static("true"));
    headers.insert(SUNSET, HeaderValue::from_static(sunset));
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn wanted(values: &[&[u8]]) -> Wanted {
        let of = |path| {
            let mut request = Request::get(path);
            for value in values {
                request = request.header(SERVICE_API_VERSION, *value);
            }
            let request = request.body(()).unwrap();
            Wanted::of(Area::of(request.uri().path()), request.headers())
        };
        assert_eq!(of("/docs"), Wanted::Any);
        of("/api/v1/health")
    }

    #[test]
    fn only_one_exact_name_is_a_version() {
        assert_eq!(wanted(&[]), Wanted::Any);
        assert_eq!(wanted(&[b"v1"]), Wanted::Ours);
        for values in [
            &[&b""[..]][..],
            &[b"V1"],
            &[b"v2"],
            &[b"1"],
            &[b"v1, v1"],
            &[b"v1.0"],
            &[b"\"v1\""],
            &[b"v\xff"],
            &[b"v1", b"v1"],
            &[b"v1", b"v2"],
        ] {
            assert_eq!(wanted(values), Wanted::Unknown, "{values:?}");
        }
    }
}
