//! Receivers of messages, as they are in use: pauses, redirects and floods.

use landing_api::domain::delivery::{DeliveryId, Failure};
use landing_api::domain::time::Timestamp;
use landing_api::ports::WebhookSender as _;

use crate::notify::webhook_client;
use crate::provider::{Provider, Script, Then};

/// Sat, 21 Nov 2026 12:00:00 GMT.
const NOON: Timestamp = Timestamp::from_ms(1_795_262_400_000);

/// The failure of a message that is answered so: why, and for how long the receiver is left alone.
async fn failure(script: Script) -> (String, Option<u64>) {
    let peer = Provider::start([script]).await;
    let client = webhook_client(&peer.url("/hook?token=t"), None);
    let sent = client.send(DeliveryId::from_bytes([7; 16]), "{}", NOON);
    match sent.await.unwrap_err() {
        Failure::Later { error, wait_ms } => (error, wait_ms),
        Failure::Final(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_response_whose_body_nobody_reads() {
    let body = format!("{:x}\r\nthanks\r\n", "thanks".len());
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for bytes in [head.to_owned(), format!("{head}{body}")] {
        let script = Script::closing(&*bytes).then(Then::GoOn);
        let peer = Provider::start([script]).await;
        let client = webhook_client(&peer.url("/"), None);
        for _ in 0..3 {
            let sent = client.send(DeliveryId::from_bytes([7; 16]), "{}", NOON);
            assert_eq!(sent.await, Ok(()));
        }
        assert_eq!(peer.requests().len(), 3);
        assert_eq!(peer.connections_ended(), 0, "{bytes}");
    }
}

/// All forms of a time the tests of outbound connections have.
#[tokio::test]
async fn a_receiver_is_not_tried_before_the_time_it_asks_for() {
    for (headers, wait_ms) in [
        ("retry-after:   7.5  ", Some(7_500)),
        (
            "Date: Sat, 21 Nov 2026 12:00:00 GMT\r\nRetry-After: Sat, 21 Nov 2026 12:00:30 GMT",
            Some(30_000),
        ),
        ("Retry-After: 99999999999999999999", Some(u64::MAX)),
        ("Retry-After: soon", None),
        ("X: 1", None),
    ] {
        let script = Script::response(&format!("503 X\r\n{headers}\r\n"), "");
        let expected = ("responded with 503".to_owned(), wait_ms);
        assert_eq!(failure(script).await, expected, "{headers}");
    }
}

#[tokio::test]
async fn bytes_that_are_no_response_are_an_error_in_a_few_words() {
    const HINTS: &str = "HTTP/1.1 102 Processing\r\n\r\n";
    let long = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(1 << 20));
    let lost = "the connection was lost before the response";
    for (script, words) in [
        (Script::closing(HINTS), lost),
        (Script::closing("\x1b[31m\r\n\r\n"), lost),
        (Script::holding(long), lost),
        (Script::closing("HTTP/1.1 500 \u{202E}\x1b\r\n\r\n"), ""),
    ] {
        let (error, wait_ms) = failure(script).await;
        assert!(error.contains(words) && error.len() < 300, "{error}");
        assert!(!error.contains(char::is_control), "{error}");
        assert_eq!(wait_ms, None, "{error}");
    }
}
