//! Checks and facts of a request's head: the area of its path, the version it asks for, and whether it has a credential.

use std::net::Ipv6Addr;

use hyper::Version;
use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;

use crate::domain::is_same_origin;

use crate::http::request::client_ip::FORWARDING_HEADERS;

/// Maximum number of headers of a request. On HTTP/1, hyper refuses more with 431.
const HEADERS_MAX: usize = 100;

/// The only version so far: in the path, and in the responses of health and sandbox.
pub(crate) const VERSION: &str = "v1";

pub(crate) const SERVICE_API_VERSION: HeaderName = HeaderName::from_static("service-api-version");

pub(super) const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The purpose of a path, whether or not it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// `/api`.
    Api,
    /// `/agent` and `/oauth2`: problems have the fields of RFC 6749 too, and no response may be stored.
    OAuth,
    /// `/mcp`: responses are messages of its protocol, once a request has been admitted.
    Mcp,
    /// Documents and pages, which caches may keep.
    Site,
}

impl Area {
    /// The area of a path. The documents below `/mcp` are in [`Area::Site`].
    pub fn of(path: &str) -> Self {
        let is_below = |root| {
            let rest = path.strip_prefix(root);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if is_below("/api") {
            Self::Api
        } else if is_below("/agent") || is_below("/oauth2") {
            Self::OAuth
        } else if path == "/mcp" {
            Self::Mcp
        } else {
            Self::Site
        }
    }

    /// True if an invalid credential ends a request. Elsewhere it is ignored: the documents listed in a
    /// challenge, and the endpoints that issue or revoke credentials, must work for a client whose credential
    /// has expired.
    pub const fn refuses_bad_credentials(self) -> bool {
        matches!(self, Self::Api | Self::Mcp)
    }

    /// True if programs call it: responses always show the rate limits, and pages of allowed origins may read
    /// them.
    pub const fn is_for_programs(self) -> bool {
        matches!(self, Self::Api | Self::OAuth | Self::Mcp)
    }
}

/// Facts about a head that decide the path of its request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head {
    /// The fault of its target, its framing or its number of headers, in words for the client. On HTTP/1 the
    /// connection must be closed after the request then: a proxy in front of the service may see its end elsewhere.
    ///
    /// hyper itself refuses every other last transfer coding than `chunked`, and any on HTTP/1.0. With a transfer
    /// coding it ignores `Content-Length`, and closes the connection after the response (RFC 9112, section 6.3).
    pub(crate) fault: Option<&'static str>,
    /// True if it presents a credential, valid or not.
    pub(crate) has_credential: bool,
    /// A proxy forwarded the request, or the client claims so.
    pub(crate) is_forwarded: bool,
    /// True if it asks for our version of the API, false if for another, and `None` outside the API.
    pub(crate) is_our_version: Option<bool>,
}

impl Head {
    /// Reads the head of a request to a path of `area`, at the service of `base_url`.
    pub(crate) fn read(parts: &Parts, area: Area, base_url: &str) -> Self {
        let mut head = Self::default();
        let (mut host, mut coding, mut cookies) = (None, None, 0_usize);
        for (name, value) in &parts.headers {
            if name == HOST {
                if host.replace(value.as_bytes()).is_some() {
                    head.fault = Some("The request has more than one Host.");
                }
            } else if name == COOKIE {
                cookies += 1;
            } else if name == TRANSFER_ENCODING {
                let is_chunked = value.as_bytes().eq_ignore_ascii_case(b"chunked");
                if coding.replace(value).is_some() || !is_chunked {
                    head.fault = Some("The only accepted transfer coding is a single chunked.");
                }
            } else if is_credential(name, value) {
                head.has_credential = true;
            } else if FORWARDING_HEADERS.contains(name) {
                head.is_forwarded = true;
            } else if area == Area::Api && name == SERVICE_API_VERSION {
                // The value is case-sensitive, as in the path. Repeated headers are unknown even if both are
                // right: a proxy may join them.
                head.is_our_version = Some(head.is_our_version.is_none() && value == VERSION);
            }
        }
        // HTTP/2 may split the cookies into a field for each (RFC 9113, section 8.2.3).
        if parts.headers.len() - cookies.saturating_sub(1) > HEADERS_MAX {
            head.fault = Some("The request has more than 100 headers.");
        }
        head.fault = head.fault.or_else(|| host_fault(parts, host, base_url));
        head
    }
}

/// True if the header presents a credential, valid or not.
fn is_credential(name: &HeaderName, value: &HeaderValue) -> bool {
    name == AUTHORIZATION && of_scheme(b"bearer", value.as_bytes()).is_some() || name == API_KEY
}

/// The rest of an `Authorization` value of `scheme`; `None` for another scheme. Scheme names ignore case
/// (RFC 9110, section 11.1). A tab may follow as well as a space, so that no credential is overlooked.
pub(super) fn of_scheme<'a>(scheme: &[u8], value: &'a [u8]) -> Option<&'a [u8]> {
    let (name, rest) = value.split_at_checked(scheme.len())?;
    if !name.eq_ignore_ascii_case(scheme) {
        return None;
    }
    match rest {
        [] => Some(rest),
        [b' ' | b'\t', ..] => Some(rest.trim_ascii()),
        // The name of a longer scheme.
        _ => None,
    }
}

/// The fault of the host that the request is for, in words for the client.
fn host_fault(parts: &Parts, host: Option<&[u8]>, base_url: &str) -> Option<&'static str> {
    if host.is_some_and(|host| !is_host_of(base_url, host) && !is_host(host)) {
        return Some("Host must be a host name or an IP address, with an optional port.");
    }
    // `:authority` on HTTP/2, and the target's authority on HTTP/1 if that is a whole URL.
    let authority = parts.uri.authority().map(Authority::as_str);
    if authority.is_some_and(|authority| !is_host(authority.as_bytes())) {
        return Some("The authority must be a host name or an IP address, with an optional port.");
    }
    match (parts.version, host, authority) {
        // RFC 9113, section 8.3.1.
        (Version::HTTP_2, Some(host), Some(authority)) if !is_same(parts, host, authority) => {
            Some("Host and :authority differ.")
        }
        (Version::HTTP_11, None, _) | (Version::HTTP_2, None, None) => {
            Some("The Host header is missing.")
        }
        _ => None,
    }
}

/// Compares two authorities of the request's scheme.
fn is_same(parts: &Parts, host: &[u8], authority: &str) -> bool {
    let scheme = parts.uri.scheme_str().unwrap_or("https");
    let host = String::from_utf8_lossy(host);
    let origin = |authority: &str| format!("{scheme}://{authority}");
    is_same_origin(&origin(&host), &origin(authority))
}

/// True if `base_url`, which has no path, is that of `host`. Most requests name it, so it needs no parsing.
fn is_host_of(base_url: &str, host: &[u8]) -> bool {
    let scheme = base_url.as_bytes().strip_suffix(host);
    scheme.is_some_and(|scheme| scheme.ends_with(b"//"))
}

/// True if `text` is a host name or IP address, optionally with a colon and perhaps a port (RFC 9110, section 7.2).
fn is_host(text: &[u8]) -> bool {
    // Most have no port.
    if !text.is_empty() && text.iter().copied().all(is_of_name) {
        return true;
    }
    let text = str::from_utf8(text).unwrap_or_default();
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        Some(_) | None => (text, ""),
    };
    let literal = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let is_host = match literal {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(is_of_name),
    };
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    is_host && (port.is_empty() || is_number && port.parse::<u16>().is_ok())
}

const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    #[test]
    fn only_one_exact_name_is_a_version() {
        let is_ours = |area, values: &[&[u8]]| {
            let request = values.iter().fold(Request::get("/"), |request, value| {
                request.header(SERVICE_API_VERSION, *value)
            });
            let (parts, ()) = request.body(()).unwrap().into_parts();
            Head::read(&parts, area, "http://a").is_our_version
        };
        assert_eq!(is_ours(Area::Api, &[]), None);
        assert_eq!(is_ours(Area::Api, &[b"v1"]), Some(true));
        assert_eq!(is_ours(Area::Site, &[b"v1"]), None);
        let others = b"|V1|v2|1|v1, v1|v1.0|\"v1\"|v\xff|v1+v1|v1+v1+v1|v1+v2";
        for lines in others.split(|byte| *byte == b'|') {
            let values: Vec<_> = lines.split(|byte| *byte == b'+').collect();
            assert_eq!(is_ours(Area::Api, &values), Some(false), "{lines:?}");
        }
    }

    #[test]
    fn the_host_of_a_base_url_is_all_behind_its_scheme() {
        let is_host = |text: &str| is_host_of("http://api.example.com:8080", text.as_bytes());
        assert!(is_host("api.example.com:8080"));
        let others = "|8080|example.com:8080|/api.example.com:8080|//api.example.com:8080";
        for other in others.split('|') {
            assert!(!is_host(other), "{other}");
        }
    }

    #[test]
    fn a_host_is_a_name_or_an_address_and_perhaps_a_port() {
        let hosts = "a API.example.com my_host-1.example. 127.0.0.1 127.0.0.1:8080 [::1] [::1]:8080 \
                     [2001:db8::ffff:1.2.3.4] a: a:0 a:65535";
        for host in hosts.split(' ') {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        let others = "|:|:80|a:b|a:65536|a:4294967296|a:99999999999999999999|a:+8|a:-1|a:8 |a:1:2|::1|[::1|\
                      []|[::1]80|[::1]:x|[a]|[1.2.3.4]|a b|a,b|a, b|a/|a?|a#|me@a|me:pw@a|a%20|a\\b|a\tb|\
                      ä|http://a|<a>|a\0";
        for text in others.split('|') {
            assert!(!is_host(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn areas_are_told_by_the_first_segment() {
        for (path, area) in [
            ("/api", Area::Api),
            ("/api/", Area::Api),
            ("/api/v1/nothing", Area::Api),
            ("/apis", Area::Site),
            ("/API", Area::Site),
            ("api", Area::Site),
            ("//api", Area::Site),
            ("/agent", Area::OAuth),
            ("/agent/auth/claim", Area::OAuth),
            ("/agents", Area::Site),
            ("/oauth2/nothing", Area::OAuth),
            ("/mcp", Area::Mcp),
            ("/mcp/", Area::Site),
            ("/mcp/server-card", Area::Site),
            ("/", Area::Site),
            ("", Area::Site),
            ("*", Area::Site),
        ] {
            assert_eq!(Area::of(path), area, "{path}");
        }
    }
}
