//! Which addresses are taken: by the parser, and by the pattern that is published for them.

use std::sync::LazyLock;

use jsonschema::Validator;
use landing_api::domain::email::{EmailAddress, EmailError};
use proptest::prelude::*;

use crate::openapi_contract::contract::{CONTRACT, validator};

/// Accepted: as given, and as stored.
const ACCEPTED: [(&str, &str); 14] = [
    ("ada@example.com", "ada@example.com"),
    ("Ada.Lovelace@Example.COM", "ada.lovelace@example.com"),
    ("a+tag@b.co", "a+tag@b.co"),
    ("o'neill@example.ie", "o'neill@example.ie"),
    ("x_y-z@sub.sub.example.org", "x_y-z@sub.sub.example.org"),
    ("1@1and1.com", "1@1and1.com"),
    ("a@münchen.de", "a@xn--mnchen-3ya.de"),
    ("a@MÜNCHEN.de", "a@xn--mnchen-3ya.de"),
    ("a@xn--mnchen-3ya.de", "a@xn--mnchen-3ya.de"),
    ("a@日本.jp", "a@xn--wgv71a.jp"),
    // Compatibility letters become what they stand for, so that one mailbox is one contact.
    ("a@\u{FF45}xample.com", "a@example.com"),
    ("a@\u{212A}iwi.com", "a@kiwi.com"),
    ("{{7*7}}@x.com", "{{7*7}}@x.com"),
    // A top label of one letter, which is several in its ASCII form.
    ("a@\u{FFD2}.\u{2D00}", "a@xn--2sd.xn--rkj"),
];

/// Refused, and why.
const REFUSED: [(&str, &str); 49] = [
    ("", "empty"),
    ("plain", "no at sign"),
    ("@example.com", "no local part"),
    ("@A.a", "no local part"),
    ("a@", "no domain"),
    ("a@b", "one label"),
    ("a@b.c", "top label of one letter"),
    ("a@127.0.0.1", "an IP address"),
    ("a@1.2", "numbers"),
    ("a@x.123", "numeric top label"),
    ("a@[127.0.0.1]", "domain literal"),
    ("a@[zzz]", "domain literal"),
    (" a@b.com", "leading space"),
    ("a@b.com ", "trailing space"),
    (" <a@b.com>", "brackets"),
    ("<a@b.com>", "brackets"),
    ("Ada <a@b.com>", "display name"),
    ("\"a b\"@c.com", "quoted local part"),
    ("\"a@b\"@c.com", "quoted local part"),
    ("a@b@c.com", "two at signs"),
    ("a..b@c.com", "empty atom"),
    (".a@c.com", "leading dot"),
    ("a.@c.com", "trailing dot"),
    ("a@c.com.", "trailing dot"),
    ("a@.c.com", "empty label"),
    ("a@c..com", "empty label"),
    ("-a@x.com", "leading hyphen"),
    ("a@-x.com", "label with leading hyphen"),
    ("a@x-.com", "label with trailing hyphen"),
    ("a@ex!ample.com", "not a host name"),
    ("a@ex_ample.com", "not a host name"),
    ("a@e|x.com", "not a host name"),
    ("a@e%x.com", "not a host name"),
    ("a@ex`ample.com", "not a host name"),
    ("a@x.c_m", "not a host name"),
    ("a@xn--ü.de", "mixed encoding"),
    ("josé@x.com", "local part beyond ASCII"),
    ("jose\u{301}@x.com", "local part beyond ASCII"),
    ("\u{212A}@x.com", "Kelvin sign lowercases to k"),
    ("İ@x.com", "lowercases to two characters"),
    ("a\u{200B}@x.com", "zero width space"),
    ("a@x\u{202E}.com", "bidi override"),
    ("a@\u{1F600}.", "trailing dot"),
    ("a\0@x.com", "NUL"),
    ("a\r\nBcc: b@x.com", "header injection"),
    ("a(comment)@x.com", "comment"),
    ("a,b@x.com", "list"),
    ("a;b@x.com", "list"),
    ("a b@x.com", "inner space"),
];

/// What the pattern cannot tell: it knows no Unicode.
const BEYOND_THE_PATTERN: [&str; 2] = ["mixed encoding", "bidi override"];

/// The published schema of the address, without its format: readers disagree about that.
static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
    let request = &CONTRACT.document["components"]["schemas"]["NewsletterSubscribeRequest"];
    let mut schema = request["properties"]["email"].clone();
    assert_eq!(schema["format"], "email");
    schema.as_object_mut().unwrap().remove("format");
    validator(&schema)
});

fn is_published(address: &str) -> bool {
    SCHEMA.is_valid(&address.into())
}

#[test]
fn golden_accepted() {
    for (given, stored) in ACCEPTED {
        let address = EmailAddress::parse(given);
        let address = address.as_ref().map(EmailAddress::as_str);
        assert_eq!(address, Ok(stored), "{given}");
        assert!(is_published(given), "{given}");
        assert!(is_published(stored), "{stored}");
    }
}

#[test]
fn golden_refused() {
    for (bad, why) in REFUSED {
        let address = EmailAddress::parse(bad);
        assert_eq!(address, Err(EmailError::Malformed), "{bad:?}: {why}");
        let is_beyond = BEYOND_THE_PATTERN.contains(&why);
        assert_eq!(is_published(bad), is_beyond, "{bad:?}: {why}");
    }
}

#[test]
fn lengths_are_published_as_they_are_checked() {
    let local = "a".repeat(64);
    let label = "b".repeat(63);
    let domain = format!("{label}.{label}.{}", "c".repeat(61));
    let longest = format!("{local}@{domain}");
    assert_eq!(longest.len(), 254);
    for address in [
        longest.clone(),
        format!("{local}a@{domain}"),
        format!("a{local}@b.com"),
        format!("a@{label}.com"),
        format!("a@{label}b.com"),
        format!("a@b.{label}"),
        format!("a@b.{label}c"),
        format!("{longest}c"),
    ] {
        let is_accepted = EmailAddress::parse(&address).is_ok();
        assert_eq!(is_published(&address), is_accepted, "{address}");
    }
    // Short as sent, too long with its domain in ASCII form.
    let labels = vec![format!("ä{}", "b".repeat(55)); 3].join(".");
    let swelling = format!("{local}@{labels}.de");
    assert!(swelling.chars().count() <= 254);
    for address in [format!("{longest}c"), swelling] {
        assert_eq!(EmailAddress::parse(&address), Err(EmailError::TooLong));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_accepted_is_never_refused_by_the_pattern(
        text in "[a-z.+'-]{1,8}@\\PC{1,12}\\.\\PC{1,4}|\\PC{0,30}"
    ) {
        if EmailAddress::parse(&text).is_ok() {
            prop_assert!(is_published(&text), "{:?}", text);
        }
    }

    #[test]
    fn in_ascii_the_pattern_is_exact(
        text in "[!-~]{0,6}@[a-zA-Z0-9._-]{1,12}\\.[a-z0-9-]{1,4}|[a-z.-]{1,8}@[a-z0-9.-]{1,12}|[\\x00-\\x7F]{0,20}"
    ) {
        // Whether such a label stands for anything is beyond a pattern.
        prop_assume!(!text.to_ascii_lowercase().contains("xn--"));
        prop_assert_eq!(is_published(&text), EmailAddress::parse(&text).is_ok(), "{:?}", text);
    }
}
