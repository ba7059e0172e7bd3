//! Encoded values decode, and nothing else is accepted.

use proptest::prelude::*;

use super::*;
use crate::domain::secret::{Secret, SecretKeys};

const NOW: Timestamp = Timestamp::from_ms(1_800_000_000_000);

fn keys() -> SecretKeys {
    Secret::new([1; 32]).keys()
}

fn registration() -> impl Strategy<Value = Registration> {
    (any::<[u8; 16]>(), 0..=INSTANT_MS_MAX)
        .prop_map(|(random, now_ms)| Registration::new(random, Timestamp::from_ms(now_ms)))
}

fn token() -> impl Strategy<Value = AccessToken> {
    (registration(), 0..=INSTANT_MS_MAX).prop_map(|(registration, now_ms)| {
        AccessToken::new(registration, Timestamp::from_ms(now_ms))
    })
}

/// `text` with one bit flipped, for each of its bits, where the result is UTF-8.
fn flipped(text: &str) -> impl Iterator<Item = String> {
    (0..8 * text.len()).filter_map(|bit| {
        let mut bytes = text.as_bytes().to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        String::from_utf8(bytes).ok()
    })
}

/// `text` cut at every place, and with more after it or before it.
fn of_other_lengths(text: &str) -> impl Iterator<Item = String> {
    (0..text.len())
        .flat_map(|at| [text[..at].to_owned(), text[at + 1..].to_owned()])
        .chain(["A", "=", " "].map(|more| format!("{text}{more}")))
        .chain([format!("A{text}"), text.repeat(1000)])
}

#[test]
fn values_have_the_published_shapes() {
    let keys = keys();
    let registration = Registration::new([9; 16], NOW);
    let token = AccessToken::new(registration, NOW);
    for (value, prefix, length) in [
        (registration.client_id(), "reg_", 40),
        (registration.client_secret(&keys.client_secret), "las_", 56),
        (token.encode(&keys.access_token), "lat_", 100),
    ] {
        assert_eq!(value.len(), length);
        let digits = value.strip_prefix(prefix).unwrap();
        assert!(digits.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
}

proptest! {
    #[test]
    fn what_was_written_is_read_back(token in token()) {
        let keys = keys();
        let registration = token.registration;
        let text = token.encode(&keys.access_token);
        prop_assert_eq!(AccessToken::decode(&text, &keys.access_token), Some(token));
        let client_id = registration.client_id();
        prop_assert_eq!(Registration::from_client_id(&client_id), Some(registration));
        let secret = registration.client_secret(&keys.client_secret);
        prop_assert!(registration.has_secret(&secret, &keys.client_secret));
        prop_assert!(token.expires_at <= registration.expires_at());
    }

    #[test]
    fn any_flipped_bit_is_refused(token in token()) {
        let keys = keys();
        for text in flipped(&token.encode(&keys.access_token)) {
            prop_assert_eq!(AccessToken::decode(&text, &keys.access_token), None);
        }
        let registration = token.registration;
        let secret = registration.client_secret(&keys.client_secret);
        for text in flipped(&secret) {
            prop_assert!(!registration.has_secret(&text, &keys.client_secret));
        }
        // Another client id is another registration, which has another secret.
        for text in flipped(&registration.client_id()) {
            let other = Registration::from_client_id(&text);
            prop_assert_ne!(other, Some(registration));
            let believed = other
                .is_some_and(|agent| agent.has_secret(&secret, &keys.client_secret));
            prop_assert!(!believed);
        }
    }

    #[test]
    fn any_other_length_is_refused(token in token()) {
        let keys = keys();
        for text in of_other_lengths(&token.encode(&keys.access_token)) {
            prop_assert_eq!(AccessToken::decode(&text, &keys.access_token), None);
        }
        let registration = token.registration;
        for text in of_other_lengths(&registration.client_secret(&keys.client_secret)) {
            prop_assert!(!registration.has_secret(&text, &keys.client_secret));
        }
        for text in of_other_lengths(&registration.client_id()) {
            prop_assert_eq!(Registration::from_client_id(&text), None);
        }
    }

    #[test]
    fn anything_at_all_can_be_read(text in "(la[st]_|reg_)?[A-Z2-7]{0,100}|\\PC*") {
        let keys = keys();
        prop_assert_eq!(AccessToken::decode(&text, &keys.access_token), None);
        if let Some(registration) = Registration::from_client_id(&text) {
            prop_assert_eq!(registration.client_id(), text);
        }
    }
}

#[test]
fn nothing_made_with_another_key_or_for_another_purpose_is_believed() {
    let (ours, theirs) = (keys(), Secret::new([2; 32]).keys());
    let registration = Registration::new([9; 16], NOW);
    let token = AccessToken::new(registration, NOW);
    for key in [&theirs.access_token, &ours.client_secret] {
        let text = token.encode(key);
        assert_eq!(AccessToken::decode(&text, &ours.access_token), None);
    }
    for key in [&theirs.client_secret, &ours.access_token] {
        assert!(!registration.has_secret(&registration.client_secret(key), &ours.client_secret));
    }
    let other = Registration::new([8; 16], NOW).client_secret(&ours.client_secret);
    assert!(!registration.has_secret(&other, &ours.client_secret));
}

#[test]
fn both_expire_to_the_millisecond_and_no_token_outlives_its_registration() {
    let registration = Registration::new([9; 16], NOW);
    let end = NOW.plus_ms(30 * DAY_MS);
    assert_eq!(registration.expires_at(), end);
    assert!(registration.is_active(Timestamp::from_ms(end.as_ms() - 1)));
    assert!(!registration.is_active(end));
    for (issued_after_ms, lifetime_ms) in [
        (0, DAY_MS),
        (29 * DAY_MS, DAY_MS),
        (29 * DAY_MS + 1, DAY_MS - 1),
        (30 * DAY_MS - 1, 1),
    ] {
        let issued = NOW.plus_ms(issued_after_ms);
        let token = AccessToken::new(registration, issued);
        assert!(token.is_active(issued.plus_ms(lifetime_ms - 1)));
        assert!(!token.is_active(issued.plus_ms(lifetime_ms)));
    }
}

#[test]
fn a_clock_beyond_all_bounds_makes_what_has_expired() {
    let registration = Registration::new([9; 16], Timestamp::from_ms(u64::MAX));
    assert!(!registration.is_active(Timestamp::from_ms(u64::MAX)));
    let client_id = registration.client_id();
    assert_eq!(Registration::from_client_id(&client_id), Some(registration));
}

#[test]
fn debug_output_names_nobody() {
    let registration = Registration::new([9; 16], NOW);
    assert_eq!(format!("{registration:?}"), "Registration(..)");
    let token = format!("{:?}", AccessToken::new(registration, NOW));
    assert!(!token.contains('9'), "{token}");
}

#[test]
fn a_value_comes_back_as_the_visitor_it_was_made_for() {
    let key = Secret::new([1; 32]).keys().quota_token;
    let token = QuotaToken::from_bytes([9; 16]);
    let value = token.encode(&key);
    assert_eq!(value.len(), 80);
    assert_eq!(QuotaToken::decode(&value, &key), Some(token));
}

#[test]
fn a_value_we_did_not_make_names_nobody() {
    let key = Secret::new([1; 32]).keys().quota_token;
    let good = QuotaToken::from_bytes([9; 16]).encode(&key);
    let foreign = QuotaToken::from_bytes([9; 16]).encode(&Secret::new([2; 32]).keys().quota_token);
    let other = QuotaToken::from_bytes([8; 16]).encode(&key);
    let swapped = format!("{}{}", &good[..29], &other[29..]);
    for bad in [
        foreign,
        swapped,
        String::new(),
        "v1.".to_owned(),
        good[..good.len() - 1].to_owned(),
        format!("{good}A"),
        good.replacen("v1", "v2", 1),
        good.replace('.', "-"),
        "\u{e9}".repeat(40),
        good.to_lowercase(),
        "v1.".repeat(10_000),
    ] {
        assert_eq!(QuotaToken::decode(&bad, &key), None, "{bad:.60}");
    }
}
