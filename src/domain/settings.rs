//! Operator settings that both responses and documents show; hosts and origins, compared regardless of spelling; and the
//! colour of links and buttons, one for light pages and one for dark ones. Both are legible on the pages' backgrounds:
//! WCAG 2.2, success criterion 1.4.3, level AA.

use std::net::IpAddr;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};

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

/// True if traffic to `host`, an address or a name, stays on this machine.
pub fn is_this_machine(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
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

/// A colour of sRGB: red, green, blue.
type Color = [u8; 3];

/// The colour of links and buttons on light pages; the one on dark pages is derived from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accent(Color);

/// Minimum contrast of text of any size.
const CONTRAST_MIN: f64 = 4.5;

/// The service's own colours, on light pages and on dark ones.
const OWN_LIGHT: &str = "#0b665e";
const OWN_DARK: &str = "#62cdbf";

/// The least contrasting background of light pages: that of code.
const LIGHT_BACKGROUND: Color = [0xf0, 0xf3, 0xf3];

impl Accent {
    /// Parses `#RRGGBB`, the colour on light pages. Dark pages get it with 60 % of white, which is always legible.
    ///
    /// # Errors
    /// The fault and its fix, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let light = color(text)?;
        let found = contrast(light, LIGHT_BACKGROUND);
        if found < CONTRAST_MIN {
            return Err(format!(
                "has a contrast of {found:.2} on light pages, where links need {CONTRAST_MIN} (WCAG AA): \
                 use a darker colour"
            ));
        }
        Ok(Self(light))
    }

    /// `style` with these colours in place of the service's own.
    pub fn applied_to(&self, style: &str) -> String {
        let dark = self.0.map(|channel| channel / 5 * 2 + 153);
        let style = style.replace(OWN_LIGHT, &hex(self.0));
        style.replace(OWN_DARK, &hex(dark))
    }
}

fn color(text: &str) -> Result<Color, String> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    let bytes = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok();
    let color = bytes.and_then(|bytes| bytes.try_into().ok());
    Ok(color.ok_or("must be a colour such as '#0b665e', in quotes for the shell")?)
}

fn hex(color: Color) -> String {
    format!("#{}", HEXLOWER.encode_display(&color))
}

/// Contrast ratio of the two, from 1 to 21.
fn contrast(one: Color, other: Color) -> f64 {
    let (one, two) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(two) / one.min(two)
}

/// Relative luminance, from 0 to 1.
fn luminance(color: Color) -> f64 {
    let [red, green, blue] = color.map(|channel| match f64::from(channel) / 255.0 {
        dim if dim <= 0.04045 => dim / 12.92,
        bright => ((bright + 0.055) / 1.055).powf(2.4),
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
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
        let same = "https://shop.example HTTPS://Shop.Example https://shop.example. https://shop.example:443 \
                    https://shop.example.:0443 https://shop.example:";
        for origin in same.split(' ') {
            assert!(is_same_origin(origin, "https://shop.example"), "{origin}");
        }
        let others = "|http://shop.example|http://shop.example:443|https://shop.example:8443|\
                      https://shop.example:+443|https://shop.example:65979|https://shop.example/|null|\
                      https://me@shop.example|https://a.shop.example|https://shop.example.evil.example|shop.example";
        for origin in others.split('|') {
            assert!(!is_same_origin(origin, "https://shop.example"), "{origin}");
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

    /// The least contrasting background of dark pages: that of code.
    const DARK_BACKGROUND: Color = [0x1f, 0x26, 0x2a];

    #[test]
    fn a_colour_that_can_be_read_is_taken_and_its_shade_for_dark_pages_found() {
        for (given, light, dark) in [
            ("#9e5f00", "#9e5f00", "#d7bf99"),
            ("#7A1FA2", "#7a1fa2", "#c9a5d9"),
            ("000000", "#000000", "#999999"),
        ] {
            let accent = Accent::parse(given).unwrap();
            let styled = accent.applied_to("a #0b665e b #62cdbf");
            assert_eq!(styled, format!("a {light} b {dark}"));
            // Text on a button.
            let [light, dark] = [light, dark].map(|text| color(text).unwrap());
            assert!(contrast(light, [0xff; 3]) >= CONTRAST_MIN);
            for background in [DARK_BACKGROUND, [0x11, 0x15, 0x18]] {
                assert!(contrast(dark, background) >= CONTRAST_MIN);
            }
        }
    }

    #[test]
    fn what_cannot_be_read_or_is_no_colour_is_refused_with_what_to_do() {
        let refused = |given| Accent::parse(given).unwrap_err();
        let pale = "has a contrast of 1.92 on light pages, where links need 4.5 (WCAG AA): use a darker \
                    colour";
        assert_eq!(refused("#ff9900"), pale);
        for given in "|#|#fff|#0b665e0|#0b665e |##0b665e|#+b665e|#0b665g|teal|#äöüä".split('|')
        {
            let told = "must be a colour such as '#0b665e', in quotes for the shell";
            assert_eq!(refused(given), told, "{given}");
        }
    }

    #[test]
    fn the_contrast_is_that_of_the_guidelines() {
        let color = |text| color(text).unwrap();
        for (one, two, expected) in [
            ("#000000", "#ffffff", 21.0),
            ("#ffffff", "#ffffff", 1.0),
            ("#777777", "#ffffff", 4.48),
            ("#767676", "#ffffff", 4.54),
        ] {
            let contrast = contrast(color(one), color(two));
            let is_near = (contrast - expected).abs() < 0.005;
            assert!(is_near, "{one} {two} {contrast}");
        }
    }

    #[test]
    fn the_style_sheets_have_the_colours_that_are_counted_with() {
        let pages = include_str!("../../data/style.css");
        let elements = include_str!("../../data/embed/style.css");
        for color in [OWN_LIGHT, OWN_DARK] {
            assert!(pages.contains(color) && elements.contains(color));
        }
        for background in [LIGHT_BACKGROUND, DARK_BACKGROUND] {
            assert!(pages.contains(&format!("--code: {};", hex(background))));
        }
    }
}
