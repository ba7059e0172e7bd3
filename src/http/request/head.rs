//! Checks and facts of a request's head.

use std::net::Ipv6Addr;

use hyper::Version;
use hyper::header::{COOKIE, HOST, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use smallvec::SmallVec;

use crate::domain::is_same_origin;

use crate::http::Area;
use crate::http::request::client_ip::FORWARDING_HEADERS;
use crate::http::request::identity;
use crate::http::request::version::{SERVICE_API_VERSION, Wanted};

/// Maximum number of headers of a request. On HTTP/1, hyper refuses more with 431.
const HEADERS_MAX: usize = 100;

/// Facts about a head that decide the path of its request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// Its fault, in words for the client.
    pub(crate) check: Result<(), &'static str>,
    /// True if it presents a credential, valid or not.
    pub(crate) has_credential: bool,
    /// A proxy forwarded the request, or the client claims so.
    pub(crate) is_forwarded: bool,
    /// Always [`Wanted::Any`] outside the API.
    pub(crate) wanted: Wanted,
}

impl Head {
    /// Reads the head of a request to a path of `area`, at the service of `base_url`.
    pub(crate) fn read(parts: &Parts, area: Area, base_url: &str) -> Self {
        let mut head = Self {
            check: Ok(()),
            has_credential: false,
            is_forwarded: false,
            wanted: Wanted::Any,
        };
        let mut framing = Framing::default();
        for (name, value) in &parts.headers {
            if name == HOST {
                framing.hosts.push(value);
            } else if name == COOKIE {
                framing.cookies += 1;
            } else if name == TRANSFER_ENCODING {
                framing.codings.push(value);
            } else if identity::is_credential(name, value) {
                head.has_credential = true;
            } else if FORWARDING_HEADERS.contains(name) {
                head.is_forwarded = true;
            } else if area == Area::Api && name == SERVICE_API_VERSION {
                head.wanted = head.wanted.and(value);
            }
        }
        head.check = framing.check(parts, base_url);
        head
    }
}

/// The fields of a head that say where the request ends, and for which host it is.
#[derive(Default)]
struct Framing<'a> {
    hosts: SmallVec<[&'a HeaderValue; 1]>,
    codings: SmallVec<[&'a HeaderValue; 1]>,
    cookies: usize,
}

impl Framing<'_> {
    /// Checks the request's target, its framing and its number of headers. On HTTP/1 the connection must be
    /// closed after a request that fails: a proxy in front of the service may see its end elsewhere.
    ///
    /// hyper itself refuses every other last transfer coding than `chunked`, and any on HTTP/1.0. With a transfer
    /// coding it ignores `Content-Length`, and closes the connection after the response (RFC 9112, section 6.3).
    ///
    /// # Errors
    /// The fault, in words for the client.
    fn check(&self, parts: &Parts, base_url: &str) -> Result<(), &'static str> {
        // HTTP/2 may split the cookies into a field for each (RFC 9113, section 8.2.3).
        let crumbs = self.cookies.saturating_sub(1);
        if parts.headers.len() - crumbs > HEADERS_MAX {
            return Err("The request has more than 100 headers.");
        }
        match self.codings.as_slice() {
            [] => {}
            [coding] if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => {}
            [..] => return Err("The only accepted transfer coding is a single chunked."),
        }
        let host = match self.hosts.as_slice() {
            [] => None,
            [host] if is_host_of(base_url, host.as_bytes()) || is_host(host.as_bytes()) => {
                Some(host.as_bytes())
            }
            [_] => {
                return Err("Host must be a host name or an IP address, with an optional port.");
            }
            [..] => return Err("The request has more than one Host."),
        };
        // `:authority` on HTTP/2, and the target's authority on HTTP/1 if that is a whole URL.
        let authority = parts.uri.authority().map(Authority::as_str);
        if authority.is_some_and(|authority| !is_host(authority.as_bytes())) {
            return Err(
                "The authority must be a host name or an IP address, with an optional port.",
            );
        }
        match (parts.version, host, authority) {
            // RFC 9113, section 8.3.1.
            (Version::HTTP_2, Some(host), Some(authority)) if !is_same(parts, host, authority) => {
                Err("Host and :authority differ.")
            }
            (Version::HTTP_11, None, _) | (Version::HTTP_2, None, None) => {
                Err("The Host header is missing.")
            }
            _ => Ok(()),
        }
    }
}

/// Compares two authorities of the request's scheme.
fn is_same(parts: &Parts, host: &[u8], authority: &str) -> bool {
    let scheme = parts.uri.scheme_str().unwrap_or("https");
    let host = String::from_utf8_lossy(host);
    is_same_origin(
        &format!("{scheme}://{host}"),
        &format!("{scheme}://{authority}"),
    )
}

/// True if `base_url`, which has no path, is that of `host`. Most requests name it, so it needs no parsing.
fn is_host_of(base_url: &str, host: &[u8]) -> bool {
    let scheme = base_url.as_bytes().strip_suffix(host);
    scheme.is_some_and(|scheme| scheme.ends_with(b"//"))
}

/// True if `text` is a host name or IP address, optionally with a port (RFC 9110, section 7.2).
fn is_host(text: &[u8]) -> bool {
    let (is_host, rest) = if let Some(literal) = text.strip_prefix(b"[") {
        let end = literal.iter().position(|byte| *byte == b']');
        let (address, rest) = literal.split_at(end.unwrap_or(literal.len()));
        let address = str::from_utf8(address).unwrap_or_default();
        let is_closed = !rest.is_empty();
        (
            is_closed && address.parse::<Ipv6Addr>().is_ok(),
            rest.get(1..).unwrap_or_default(),
        )
    } else {
        let is_of_name = |byte: &&u8| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_');
        let name = text.iter().take_while(is_of_name).count();
        (name > 0, text.get(name..).unwrap_or_default())
    };
    is_host && is_port(rest)
}

/// True if nothing follows a host, or a colon and perhaps a port.
fn is_port(rest: &[u8]) -> bool {
    let Some((b':', digits)) = rest.split_first() else {
        return rest.is_empty();
    };
    let digits = str::from_utf8(digits).unwrap_or("no number");
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.is_empty() || is_number && digits.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_base_url_is_all_behind_its_scheme() {
        let base_url = "http://api.example.com:8080";
        assert!(is_host_of(base_url, b"api.example.com:8080"));
        for other in [
            "",
            "8080",
            "example.com:8080",
            "/api.example.com:8080",
            "//api.example.com:8080",
        ] {
            assert!(!is_host_of(base_url, other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_host_is_a_name_or_an_address_and_perhaps_a_port() {
        for host in [
            "a",
            "API.example.com",
            "my_host-1.example.",
            "127.0.0.1",
            "127.0.0.1:8080",
            "[::1]",
            "[::1]:8080",
            "[2001:db8::ffff:1.2.3.4]",
            "a:",
            "a:0",
            "a:65535",
        ] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        for text in [
            "",
            ":",
            ":80",
            "a:b",
            "a:65536",
            "a:4294967296",
            "a:99999999999999999999",
            "a:+8",
            "a:-1",
            "a:8 ",
            "a:1:2",
            "::1",
            "[::1",
            "[]",
            "[::1]80",
            "[::1]:x",
            "[a]",
            "[1.2.3.4]",
            "a b",
            "a,b",
            "a, b",
            "a/",
            "a?",
            "a#",
            "me@a",
            "me:pw@a",
            "a%20",
            "a\\b",
            "a\tb",
            "ä",
            "http://a",
            "<a>",
            "a\0",
        ] {
            assert!(!is_host(text.as_bytes()), "{text:?}");
        }
    }
}
