//! Checks and facts of a request's head.

use std::net::Ipv6Addr;

use hyper::Version;
use hyper::header::{COOKIE, HOST, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;

use crate::domain::is_same_origin;

use crate::http::Area;
use crate::http::request::client_ip::FORWARDING_HEADERS;
use crate::http::request::identity;
use crate::http::request::version::{SERVICE_API_VERSION, VERSION};

/// Maximum number of headers of a request. On HTTP/1, hyper refuses more with 431.
const HEADERS_MAX: usize = 100;

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
            } else if identity::is_credential(name, value) {
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
}
