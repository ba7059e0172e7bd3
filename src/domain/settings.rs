//! Operator settings that both responses and documents show, and hosts and origins, compared regardless of
//! spelling.

use super::accent::Accent;
use super::macros::names;
use super::policy::Policies;

names! {
    /// Destination of sign-ups.
    pub enum SignUpsGo {
        /// Stored here, without notifications.
        Kept => "kept",
        /// Stored here, and the operator's program is notified.
        Told => "told",
        /// Passed on while the visitor waits; no contact is stored.
        PassedOn => "passed-on",
    }
}

/// The operator's settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Origin under which clients reach the service, without a trailing slash.
    pub base_url: String,
    /// True if the operator set it. Otherwise it is the address that the service listens on, which links in
    /// files must not have; those in confirmation emails may while it is a loopback address.
    pub is_base_url_given: bool,
    pub service_name: String,
    /// URL of the ERP, if published.
    pub erp_url: Option<String>,
    /// URL or local path of the imprint, if pages link to one.
    pub imprint_url: Option<String>,
    /// URL or local path of the privacy notice.
    pub privacy_url: Option<String>,
    /// URL, `mailto:` or local path where visitors reach a person, if the assistant refers to one.
    pub contact: Option<String>,
    /// Questions that the chat of the home page offers, if the operator chose them.
    pub suggestions: Vec<String>,
    /// Colour of links and buttons, if not the service's own.
    pub accent: Option<Accent>,
    /// True if the navigation and home page leave out the parts for developers.
    pub hides_developers: bool,
    pub policies: Policies,
    /// True if the address of a client that signs up is stored with its consent.
    pub keeps_consent_ip: bool,
    /// True if the operator's model answers visitors, rather than a search of the guide.
    pub has_model: bool,
    /// True if a search of the pages answers while that model is unavailable.
    pub falls_back: bool,
    /// Days for which questions without an answer are stored; 0 if they are not.
    pub questions_kept_days: u64,
    /// Confirmation period of contacts, in milliseconds; `None` without confirmation.
    pub opt_in_ms: Option<u64>,
    /// Destination of sign-ups.
    pub sign_ups: SignUpsGo,
    /// Other origins whose pages may read responses.
    pub allowed_origins: Vec<String>,
    /// True if proxies are trusted to report the client's address.
    pub trusts_proxies: bool,
}

impl Settings {
    /// True if no contact is stored.
    pub fn passes_sign_ups_on(&self) -> bool {
        self.sign_ups == SignUpsGo::PassedOn
    }

    /// True if contacts confirm their sign-up by email.
    pub fn asks_to_confirm(&self) -> bool {
        self.opt_in_ms.is_some()
    }

    /// Host of the base URL, without its port; IPv6 addresses keep their brackets.
    pub fn host(&self) -> &str {
        parts(&self.base_url).map_or("", |(_, host, _)| host)
    }

    /// True if clients reach the service over TLS.
    pub fn is_https(&self) -> bool {
        self.base_url.starts_with("https://")
    }
}

/// Compares two host names, ignoring letter case and the root's dot (RFC 1034, section 3.1).
pub fn is_same_host(one: &str, other: &str) -> bool {
    rootless(one).eq_ignore_ascii_case(rootless(other))
}

/// Compares two origins, such as `https://example.com:8443` (RFC 6454, section 5), by scheme, host and port.
/// A missing port is the scheme's default. `null` is no origin.
pub fn is_same_origin(one: &str, other: &str) -> bool {
    let (Some(one), Some(other)) = (parts(one), parts(other)) else {
        return false;
    };
    one.0.eq_ignore_ascii_case(other.0) && is_same_host(one.1, other.1) && one.2 == other.2
}

/// A host name without the root's dot.
pub fn rootless(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// Scheme, host and port of an origin.
fn parts(origin: &str) -> Option<(&str, &str, u16)> {
    let (scheme, authority) = origin.split_once("://")?;
    let (host, port) = match authority.rsplit_once(':') {
        // A colon inside brackets belongs to an IPv6 address.
        Some((host, port)) if !port.ends_with(']') => (host, port),
        Some(_) | None => (authority, ""),
    };
    let port = match port {
        "" if scheme.eq_ignore_ascii_case("https") => 443,
        "" if scheme.eq_ignore_ascii_case("http") => 80,
        port if port.bytes().all(|byte| byte.is_ascii_digit()) => port.parse().ok()?,
        _ => return None,
    };
    (!rootless(host).is_empty()).then_some((scheme, host, port))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_host_has_no_port() {
        for (base_url, expected) in [
            ("https://api.example.com", "api.example.com"),
            ("http://localhost:8080", "localhost"),
            ("http://127.0.0.1:80", "127.0.0.1"),
            ("http://[::1]", "[::1]"),
            ("http://[::1]:8080", "[::1]"),
        ] {
            assert_eq!(parts(base_url).map(|parts| parts.1), Some(expected));
        }
    }

    #[test]
    fn names_are_compared_whatever_their_case_and_their_last_dot() {
        for (one, other, is_same) in [
            ("api.example.com", "api.example.com", true),
            ("api.example.com.", "API.example.com", true),
            ("[2001:DB8::1]", "[2001:db8::1]", true),
            ("api.example.com..", "api.example.com", false),
            ("api.example.com.evil.example", "api.example.com", false),
            ("", "api.example.com", false),
        ] {
            assert_eq!(is_same_host(one, other), is_same, "{one} {other}");
            assert_eq!(is_same_host(other, one), is_same, "{one} {other}");
        }
    }

    #[test]
    fn origins_are_compared_whatever_their_spelling() {
        for (origin, is_same) in [
            ("https://shop.example", true),
            ("HTTPS://Shop.Example", true),
            ("https://shop.example.", true),
            ("https://shop.example:443", true),
            ("https://shop.example.:0443", true),
            ("https://shop.example:", true),
            ("http://shop.example", false),
            ("http://shop.example:443", false),
            ("https://shop.example:8443", false),
            ("https://shop.example:+443", false),
            ("https://shop.example:65979", false),
            ("https://shop.example/", false),
            ("https://me@shop.example", false),
            ("https://a.shop.example", false),
            ("https://shop.example.evil.example", false),
            ("shop.example", false),
            ("null", false),
            ("", false),
        ] {
            let found = is_same_origin(origin, "https://shop.example");
            assert_eq!(found, is_same, "{origin}");
        }
        assert!(is_same_origin("http://[::1]:80", "http://[::1]"));
        assert!(!is_same_origin("http://[::1]:81", "http://[::1]"));
        for text in ["null", "", "://", "https://", "https://.", "ftp://a"] {
            assert!(!is_same_origin(text, text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn anything_can_be_compared(one in ".*", other in "[a-z]{0,5}(://)?[.:\\[\\]0-9a-z]*") {
            let _ = is_same_host(&one, &other);
            let _ = is_same_origin(&one, &other);
            prop_assert_eq!(is_same_origin(&other, &other), parts(&other).is_some());
        }
    }
}
