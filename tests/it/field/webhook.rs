//! Receivers of messages, as they are in use: pauses, redirects and floods.

use landing_api::domain::delivery::{DeliveryId, Failure};
use landing_api::domain::time::Timestamp;
use landing_api::ports::WebhookSender as _;

use super::peer::{Peer, Script};
use crate::notify::webhook_client;

/// Sat, 21 Nov 2026 12:00:00 GMT.
const NOON: Timestamp = Timestamp::from_ms(1_795_262_400_000);

/// The failure of a message that is answered so: why, and for how long the receiver is left alone.
async fn failure(script: Script) -> (String, Option<u64>) {
    let peer = Peer::start(vec![script]).await;
    let client = webhook_client(&peer.url("/hook?token=t"), None);
    let sent = client
        .send(DeliveryId::from_bytes([7; 16]), "{}", NOON)
        .await;
    match sent.unwrap_err() {
        Failure::Later { error, wait_ms } => (error, wait_ms),
        Failure::Final(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_receiver_is_not_tried_before_the_time_it_asks_for() {
    for (headers, wait_ms) in [
        ("Retry-After: 1800", Some(1_800_000)),
        ("Retry-After:   7  ", Some(7_000)),
        ("retry-after: 7.5", Some(7_500)),
        (
            "Retry-After: Sat, 21 Nov 2026 12:30:00 GMT",
            Some(1_800_000),
        ),
        (
            "Retry-After: Saturday, 21-Nov-26 12:30:00 GMT",
            Some(1_800_000),
        ),
        ("Retry-After: Sat Nov 21 12:30:00 2026", Some(1_800_000)),
        // Its clock is an hour behind.
        (
            "Date: Sat, 21 Nov 2026 11:00:00 GMT\r\nRetry-After: Sat, 21 Nov 2026 11:30:00 GMT",
            Some(1_800_000),
        ),
        ("Retry-After: Sat, 21 Nov 2026 11:30:00 GMT", None),
        ("Retry-After: 99999999999999999999", Some(u64::MAX)),
        ("Retry-After: -7", None),
        ("Retry-After: soon", None),
        ("Retry-After: \u{e9}", None),
        ("X: 1", None),
    ] {
        let script = Script::response(&format!("503 X\r\n{headers}\r\n"), "");
        let expected = ("responded with 503".to_owned(), wait_ms);
        assert_eq!(failure(script).await, expected, "{headers}");
    }
}

#[tokio::test]
async fn the_error_of_a_redirect_tells_where_it_leads() {
    for (status, location, address) in [
        (308, "https://a.test/hook?token=t", "https://a.test/hook"),
        (301, "/hook/", "/hook/"),
        (302, "//a.test/#top", "//a.test/"),
        (307, "https://ada@a.test/", "(address)"),
        (303, "", ""),
    ] {
        let script = Script::response(&format!("{status} X\r\nLocation: {location}\r\n"), "");
        let error = format!(
            "responded with {status}, a redirect to \"{address}\"; redirects are not followed"
        );
        assert_eq!(failure(script).await, (error, None));
    }
}

#[tokio::test]
async fn bytes_that_are_no_response_are_an_error_in_a_few_words() {
    const HINTS: &str = "HTTP/1.1 102 Processing\r\n\r\n";
    let long = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(1 << 20));
    for (script, words) in [
        (Script::repeating(HINTS), "too many interim responses"),
        (
            Script::closing(HINTS),
            "the connection was lost before the response",
        ),
        (
            Script::closing("\x1b[31m\r\n\r\n"),
            "the connection was lost before the response",
        ),
        (
            Script::holding(long),
            "the connection was lost before the response",
        ),
        (Script::closing("HTTP/1.1 500 \u{202E}\x1b\r\n\r\n"), ""),
    ] {
        let (error, wait_ms) = failure(script).await;
        assert!(error.contains(words) && error.len() < 300, "{error}");
        assert!(!error.contains(char::is_control), "{error}");
        assert_eq!(wait_ms, None, "{error}");
    }
}
