//! Target of an accepted form: a page of this origin or of an allowed one, and no other.

use url::{Position, Url};

use crate::domain::is_same_origin;
use crate::http::AllowedOrigins;

/// Maximum length of `redirect`, in bytes.
const LEN_MAX: usize = 2048;

/// A page to redirect to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The value of `Location`: a path of this origin, or a URL of an allowed one.
    pub(super) location: String,
    /// The origin, if it isn't ours.
    pub(super) origin: Option<String>,
}

/// The target in the field `redirect`: an absolute path, or a URL whose origin is ours or allowed. `None` for
/// anything else, and for URLs that browsers read differently than they look.
pub(super) fn target(redirect: &str, base_url: &str, allowed: &AllowedOrigins) -> Option<Target> {
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if redirect.len() > LEN_MAX || redirect.contains(is_odd) {
        return None;
    }
    let base = Url::parse(base_url).ok()?;
    let base = redirect.starts_with('/').then_some(&base);
    let url = Url::options().base_url(base).parse(redirect).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https");
    if !is_web || !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    let origin = url.origin().ascii_serialization();
    if is_same_origin(&origin, base_url) {
        let path = &url[Position::BeforePath..];
        // As a reference it would name another host.
        return (!path.starts_with("//")).then(|| Target {
            location: path.to_owned(),
            origin: None,
        });
    }
    allowed.contains(&origin).then(|| Target {
        location: url.into(),
        origin: Some(origin),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(redirect: &str) -> Option<String> {
        let allowed = AllowedOrigins::new(["https://shop.example".to_owned()]);
        let target = target(redirect, "https://api.example", &allowed);
        target.map(|target| target.location)
    }

    #[test]
    fn pages_of_this_origin_and_of_allowed_ones_are_led_to() {
        for (redirect, expected) in [
            ("/", "/"),
            ("/danke?a=b#c", "/danke?a=b#c"),
            ("/a/../b", "/b"),
            ("/ä", "/%C3%A4"),
            ("https://api.example/thanks", "/thanks"),
            ("https://api.example:443", "/"),
            ("https://API.example./thanks", "/thanks"),
            ("HTTPS://Shop.Example/danke", "https://shop.example/danke"),
            ("https://shop.example", "https://shop.example/"),
        ] {
            assert_eq!(location(redirect).as_deref(), Some(expected), "{redirect}");
        }
    }

    #[test]
    fn anything_else_is_ignored() {
        let others = "|thanks|?a|//evil.example|///evil.example|/.//evil.example|/..//evil.example|\
                      /\\evil.example|\\\\evil.example|/\t/evil.example|/\n/evil.example| /thanks|\
                      https:evil.example|https:///evil.example|https://evil.example|http://api.example/|\
                      https://api.example:8443/|https://api.example.evil.example/|\
                      https://api.example@evil.example/|https://user@api.example/|\
                      https://user:word@shop.example/|https://:word@shop.example/|\
                      https://shop.example\\@evil.example/|http://shop.example/|ftp://shop.example/|\
                      javascript:alert(1)|JaVaScRiPt:alert(1)|data:text/html,hello|\
                      blob:https://shop.example/1|mailto:ada@example.com|https://[::1|/\u{0}|\
                      /\u{a0}/evil.example";
        for redirect in others.split('|') {
            assert_eq!(location(redirect), None, "{redirect:?}");
        }
        assert_eq!(location(&format!("/{}", "a".repeat(LEN_MAX))), None);
        assert!(location(&format!("/{}", "a".repeat(LEN_MAX - 1))).is_some());
    }
}
