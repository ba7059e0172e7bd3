//! Heads that hyper takes and HTTP does not: without one good Host, or with a doubtful framing
//! (RFC 9112, sections 3.2 and 6.1).

use crate::prelude::*;
use crate::transport::HEALTH;

/// Sends `request` and a second one that asks for health. Gives all that comes back until the server
/// closes, or until the second has been answered.
async fn answers(request: &[u8]) -> String {
    let setup = Setup::default().limit("default", "off").limit("ip", "off");
    let server = Server::start(setup, ServerLimits::default()).await;
    let mut connection = server.connect().await;
    let last = HEALTH.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    connection.send([request, last.as_bytes()].concat()).await;
    String::from_utf8(connection.rest().await).unwrap()
}

fn statuses(answers: &str) -> Vec<&str> {
    let heads = answers.split("HTTP/1.").skip(1);
    heads.map(|head| &head[2..5]).collect()
}

/// The only answer is a problem of the head, and closes the connection.
fn check_refused(answers: &str, request: &str) {
    assert_eq!(statuses(answers), ["400"], "{request}: {answers}");
    let (head, body) = answers.split_once("\r\n\r\n").unwrap();
    for header in ["\r\nconnection: close", "\r\nx-request-id: "] {
        assert!(head.contains(header), "{request}: {head}");
    }
    let problem: Value = serde_json::from_str(body).unwrap();
    assert_eq!(problem["code"], "malformed_head", "{request}");
    assert!(!body.contains("evil"), "{request}: {body}");
}

/// What a good one is, the tests of `http::request::head` say.
#[tokio::test]
async fn a_request_of_http_1_has_one_good_host() {
    let (get, old) = ("GET /api/v1/health HTTP/1.1", "GET /api/v1/health HTTP/1.0");
    for (line, hosts) in [
        (get, "Host: a\r\n"),
        (get, "hOsT:[::1]:8080 \r\n"),
        ("GET http://b/api/v1/health HTTP/1.1", "Host: a\r\n"),
        (old, "Host: a\r\nConnection: keep-alive\r\n"),
        (old, "Connection: keep-alive\r\n"),
    ] {
        let request = format!("{line}\r\n{hosts}\r\n");
        let answers = answers(request.as_bytes()).await;
        assert_eq!(statuses(&answers), ["200", "200"], "{request}: {answers}");
    }
    for (line, hosts) in [
        (get, ""),
        ("GET / HTTP/1.1", ""),
        ("GET /nowhere HTTP/1.1", ""),
        ("GET http://b/api/v1/health HTTP/1.1", ""),
        ("GET http://evil@b/api/v1/health HTTP/1.1", "Host: b\r\n"),
        (get, "Host:\r\n"),
        (get, "Host: a\r\nHost: a\r\n"),
        (get, "Host: a\r\nX: y\r\nHost: evil\r\n"),
        (old, "Host: a\r\nHost: a\r\n"),
        (old, "Host: a, evil\r\n"),
        (get, "Host: evil@a\r\n"),
        (get, "Host: \u{e9}vil\r\n"),
    ] {
        let request = format!("{line}\r\n{hosts}\r\n");
        check_refused(&answers(request.as_bytes()).await, &request);
    }
}

/// A POST with these headers on its framing and `body`. `TE` stands for `Transfer-Encoding`.
fn framed(version: &str, framing: &str, body: &str) -> String {
    let framing = framing.replace("TE", "Transfer-Encoding");
    format!(
        "POST /api/v1/sandbox/echo {version}\r\nHost: a\r\nContent-Type: application/json\r\n\
         {framing}\r\n{body}"
    )
}

const CHUNKED_HELLO: &str = "13\r\n{\"message\":\"hello\"}\r\n0\r\n\r\n";

#[tokio::test]
async fn the_only_transfer_coding_is_chunked_once() {
    for coding in ["chunked", "Chunked", " CHUNKED "] {
        let request = framed("HTTP/1.1", &format!("TE:{coding}\r\n"), CHUNKED_HELLO);
        let answers = answers(request.as_bytes()).await;
        assert_eq!(statuses(&answers), ["200", "200"], "{answers}");
    }
    for framing in [
        "TE: gzip, chunked\r\n",
        "TE: chunked, chunked\r\n",
        "TE: , chunked\r\n",
        "TE: identity, chunked\r\n",
        "TE: gzip\r\nTE: chunked\r\n",
        "TE: chunked\r\nTE: chunked\r\n",
        "TE: identity\r\nX: y\r\nTE: chunked\r\n",
        "TE: gzip, chunked\r\nContent-Length: 5\r\n",
    ] {
        for body in [CHUNKED_HELLO, "0\r\n\r\n"] {
            let request = framed("HTTP/1.1", framing, body);
            check_refused(&answers(request.as_bytes()).await, &request);
        }
    }
}

#[tokio::test]
async fn codings_that_hyper_does_not_take_end_the_connection() {
    let (new, old) = ("HTTP/1.1", "HTTP/1.0");
    for (version, framing) in [
        (new, "TE: gzip\r\n"),
        (new, "TE: identity\r\n"),
        (new, "TE: chunked;q=1\r\n"),
        (new, "TE: xchunked\r\n"),
        (new, "TE: \"chunked\"\r\n"),
        (new, "TE: chunked,\r\n"),
        (new, "TE:\r\n"),
        (new, "TE: chunked\r\nTE: gzip\r\n"),
        (old, "Connection: keep-alive\r\nTE: chunked\r\n"),
        (new, "TE : chunked\r\n"),
        (new, "Content-Length: 5\r\nContent-Length: 6\r\n"),
        (new, "Content-Length: +5\r\n"),
    ] {
        let request = framed(version, framing, CHUNKED_HELLO);
        let answers = answers(request.as_bytes()).await;
        assert_eq!(statuses(&answers), ["400"], "{request}: {answers}");
    }
}

#[tokio::test]
async fn beside_chunked_a_length_is_ignored_and_the_connection_closed() {
    // To a proxy that went by the length, the request for health would be part of the body.
    for framing in [
        "Content-Length: 1000\r\nTE: chunked\r\n",
        "TE: chunked\r\nContent-Length: 1000\r\n",
        "TE: chunked\r\nContent-Length: 0\r\nConnection: keep-alive\r\n",
    ] {
        let request = framed("HTTP/1.1", framing, CHUNKED_HELLO);
        let answers = answers(request.as_bytes()).await;
        assert_eq!(statuses(&answers), ["200"], "{request}: {answers}");
    }
}

#[tokio::test]
async fn a_malformed_head_counts_like_any_request_and_does_nothing() {
    let app = Setup::default().limit("default", "3/60s").start();
    let sign_up = Call::sign_up("ada@example.com");
    let twice = sign_up.clone().header("host", "landing.example");
    let malformed = "400 malformed_head";
    let reply = app.expect(malformed, twice.clone()).await;
    assert_eq!(reply.shown(), "default 2");
    assert_eq!(reply.header("connection"), Some("close"));
    // Its credential is not judged, and it is no preflight.
    let bad = twice.clone().bearer("nonsense");
    app.expect(malformed, bad).await;
    let preflight = Call::preflight("/api/v1/newsletter", "http://landing.example");
    let reply = app.expect(malformed, preflight.without("host")).await;
    assert_eq!(reply.remaining(), 0);
    let reply = app.expect("429", twice).await;
    assert_eq!(reply.header("connection"), Some("close"));
    // Nothing was stored, and nothing counted under the endpoint's own limits.
    app.clock.advance_ms(60_000);
    let reply = app.send(sign_up.clone()).await;
    assert_eq!(reply.json()["alreadyExists"], false);
    assert_eq!(reply.header("connection"), None);
    app.expect_left("default 1", sign_up).await;
}

#[tokio::test]
async fn documents_need_a_host_too() {
    let app = TestApp::new();
    for path in ["/", "/docs", "/openapi.json", "/mcp", "/oauth2/token"] {
        let call = Call::get(path).without("host");
        app.expect("400 malformed_head", call).await;
    }
}
