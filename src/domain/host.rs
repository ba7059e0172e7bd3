//! Hosts and origins, compared regardless of spelling.

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
