//! What a request's head tells by itself: the area of its path, and what HTTP asks of it and hyper
//! leaves to the service.

use std::net::Ipv6Addr;

use hyper::Version;
use hyper::header::{COOKIE, HOST, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;

use crate::domain::is_same_origin;

/// What a path is for, whether or not anything exists there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// `/api`.
    Api,
    /// `/agent` and `/oauth2`: problems have the members of RFC 6749 too, and no answer may be
    /// stored.
    OAuth,
    /// `/mcp`: answers are messages of its protocol, once a request has been admitted.
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

    /// Whether an invalid credential ends a request. Elsewhere it is ignored: the documents that a
    /// challenge names, and the endpoints that issue or revoke credentials, must work for a client
    /// whose credential has expired.
    pub const fn refuses_bad_credentials(self) -> bool {
        match self {
            Self::Api | Self::Mcp => true,
            Self::OAuth | Self::Site => false,
        }
    }

    /// Whether programs call it: answers always show the rate limits, and pages of allowed origins
    /// may read them.
    pub const fn is_for_programs(self) -> bool {
        match self {
            Self::Api | Self::OAuth | Self::Mcp => true,
            Self::Site => false,
        }
    }
}

/// Most headers of a request. On HTTP/1, hyper refuses more with 431.
pub(crate) const HEADERS_MAX: usize = 100;

/// Checks where the request is meant to go, how its body is framed and how many headers it has. On HTTP/1 the
/// connection has to be closed after a request that fails: a proxy before the service may see its end
/// elsewhere.
///
/// hyper itself refuses every other last transfer coding than `chunked`, and any on HTTP/1.0. Beside
/// one it ignores `Content-Length`, and closes the connection after the answer (RFC 9112, section 6.3).
///
/// # Errors
/// What is wrong, in words for the client.
pub(crate) fn check(parts: &Parts) -> Result<(), &'static str> {
    // HTTP/2 may split the cookies into a field for each (RFC 9113, section 8.2.3).
    let crumbs = parts.headers.get_all(COOKIE).iter().skip(1).count();
    if parts.headers.len() - crumbs > HEADERS_MAX {
        return Err("The request has more than 100 headers.");
    }
    let mut codings = parts.headers.get_all(TRANSFER_ENCODING).iter();
    if let Some(coding) = codings.next()
        && (codings.next().is_some() || !coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
    {
        return Err("The only transfer coding accepted is a single chunked.");
    }
    let mut hosts = parts.headers.get_all(HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err("The request has more than one Host.");
    }
    let host = match host.map(|host| host.to_str().unwrap_or_default()) {
        Some(host) if !is_host(host) => {
            return Err("Host must be a host name or an IP address, with an optional port.");
        }
        host => host,
    };
    // That of `:authority` on HTTP/2, and of a whole URL as the target on HTTP/1.
    let authority = parts.uri.authority().map(Authority::as_str);
    if authority.is_some_and(|authority| !is_host(authority)) {
        return Err("The authority must be a host name or an IP address, with an optional port.");
    }
    match (parts.version, host, authority) {
        // RFC 9113, section 8.3.1.
        (Version::HTTP_2, Some(host), Some(authority)) if !is_same(parts, host, authority) => {
            Err("Host and :authority differ.")
        }
        (Version::HTTP_11, None, _) | (Version::HTTP_2, None, None) => {
            Err("The request names no host: Host is missing.")
        }
        _ => Ok(()),
    }
}

/// Compares two authorities of the request's scheme.
fn is_same(parts: &Parts, one: &str, other: &str) -> bool {
    let scheme = parts.uri.scheme_str().unwrap_or("https");
    is_same_origin(&format!("{scheme}://{one}"), &format!("{scheme}://{other}"))
}

/// Whether `text` is a host as DNS or IP names it, and perhaps a port (RFC 9110, section 7.2).
fn is_host(text: &str) -> bool {
    let (is_host, rest) = if let Some(literal) = text.strip_prefix('[') {
        let (address, rest) = literal.split_once(']').unwrap_or_default();
        (address.parse::<Ipv6Addr>().is_ok(), rest)
    } else {
        let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        (!name.is_empty() && name.bytes().all(is_of_name), rest)
    };
    let is_port = |port: &str| {
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        port.is_empty() || is_number && port.parse::<u16>().is_ok()
    };
    is_host && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(is_host(host), "{host}");
        }
        for text in [
            "",
            ":",
            ":80",
            "a:b",
            "a:65536",
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
            assert!(!is_host(text), "{text:?}");
        }
    }
}
