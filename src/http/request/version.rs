//! API versions and deprecation notices.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use crate::http::{Code, Problem};

/// The only version so far: in the path, and in the responses of health and sandbox.
pub(crate) const VERSION: &str = "v1";

pub(crate) const SERVICE_API_VERSION: HeaderName = HeaderName::from_static("service-api-version");
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// The version a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// None in particular.
    Any,
    /// The only one.
    Ours,
    /// Any other.
    Unknown,
}

impl Wanted {
    /// Takes another `Service-API-Version` header into account. The value is case-sensitive, as in the path.
    /// Repeated headers are unknown even if both are right: a proxy may join them.
    pub(crate) fn and(self, value: &HeaderValue) -> Self {
        match self {
            Self::Any if value == VERSION => Self::Ours,
            Self::Any | Self::Ours | Self::Unknown => Self::Unknown,
        }
    }

    /// Checks that the version exists.
    ///
    /// # Errors
    /// A problem when it doesn't.
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

/// Adds the notice of an operation's removal after `sunset`, an HTTP date.
pub(crate) fn announce(sunset: &'static str, headers: &mut HeaderMap) {
    // The value of the first drafts; RFC 9745 has a date.
    headers.insert(DEPRECATION, HeaderValue::from_static("true"));
    headers.insert(SUNSET, HeaderValue::from_static(sunset));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_exact_name_is_a_version() {
        let wanted = |values: &[&[u8]]| {
            let values = values
                .iter()
                .map(|value| HeaderValue::from_bytes(value).unwrap());
            values.fold(Wanted::Any, |wanted, value| wanted.and(&value))
        };
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
