//! Clients that shut down their sending side and wait for the answer, and clients that only seem to.

use std::time::Duration;

use landing_api::http::server::ServerLimits;
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, sleep};

use crate::transport::{Connection, HEALTH, hello, post, server, waiting_turn};

const ECHO: &str = "/api/v1/sandbox/echo";

impl Connection {
    /// Sends no more.
    async fn shut_down(&mut self) {
        self.0.get_mut().shutdown().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_no_more_is_answered() {
    let echo = post(ECHO, r#"{"message":"hello"}"#);
    let sign_up = post("/api/v1/newsletter", r#"{"email":"ada@example.com"}"#);
    let docs = HEALTH.replace("/api/v1/health", "/docs");
    let head = HEALTH.replacen("GET", "HEAD", 1);
    let old = "GET /api/v1/health HTTP/1.0\r\n\r\n".to_owned();
    for (requests, answers) in [
        (HEALTH.to_owned(), 1),
        (old, 1),
        (head, 1),
        (echo.clone(), 1),
        (sign_up.clone(), 1),
        (hello(), 1),
        (docs.clone(), 1),
        (format!("{echo}{HEALTH}{docs}{}{sign_up}", hello()), 5),
    ] {
        let server = server().await;
        let began = Instant::now();
        let mut connection = server.connect().await;
        connection.send(&requests).await;
        connection.shut_down().await;
        let came = String::from_utf8(connection.rest().await).unwrap();
        let ok = came.matches(" 200 OK\r\n").count();
        assert_eq!(ok, answers, "{requests}: {came}");
        // And the connection is closed then.
        assert!(began.elapsed() < Duration::from_secs(1), "{requests}");
    }
}

// With the real clock: while the kernel moves bytes, a paused one would run ahead.
#[tokio::test]
async fn a_large_answer_reaches_a_slow_client_that_sends_no_more() {
    let server = server().await;
    let (count, mut whole) = (100, 0);
    for path in ["/docs", "/openapi.json"] {
        let request = HEALTH.replace("/api/v1/health", path);
        let mut connection = server.connect().await;
        connection.send(request.repeat(count)).await;
        connection.shut_down().await;
        // Far more than the buffers between take: the server has to wait.
        sleep(Duration::from_secs(1)).await;
        let rest = String::from_utf8(connection.rest().await).unwrap();
        assert_eq!(rest.matches("HTTP/1.1 200 OK\r\n").count(), count);
        whole += rest.len();
    }
    assert!(whole > 10_000_000, "{whole}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_seconds_reaches_a_client_that_sends_no_more() {
    let (server, model, mut connection) = waiting_turn(hello(), ServerLimits::default()).await;
    connection.shut_down().await;
    sleep(Duration::from_secs(3)).await;
    model.let_answer();
    let (status, _, body) = connection.receive().await;
    assert_eq!(status, 200);
    assert!(body.contains("At last."), "{body}");
    let began = Instant::now();
    assert_eq!(connection.rest().await, b"");
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(server.service.unfinished(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_no_more_and_gets_nothing_is_given_up_with_its_turn() {
    let (server, model, mut connection) = waiting_turn(hello(), ServerLimits::default()).await;
    let began = Instant::now();
    connection.shut_down().await;
    assert_eq!(connection.rest().await, b"");
    let elapsed = began.elapsed();
    assert!(
        (Duration::from_secs(4)..Duration::from_secs(5)).contains(&elapsed),
        "{elapsed:?}"
    );
    while server.service.unfinished() > 0 {
        sleep(Duration::from_millis(1)).await;
    }
    // The model is free for others, and was asked once.
    let mut other = server.connect().await;
    other.send(hello()).await;
    assert_eq!(other.receive().await.0, 429, "the turn stays charged");
    drop(model);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_cut_is_400_at_once() {
    let whole = post(ECHO, r#"{"message":"never whole"}"#);
    let chunked = format!(
        "POST {ECHO} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n5\r\n{{\"mes"
    );
    let (head, _) = whole.split_once("\r\n\r\n").unwrap();
    let bare = format!("{head}\r\n\r\n");
    for request in [&whole[..whole.len() - 1], &bare, &chunked] {
        let server = server().await;
        let began = Instant::now();
        let mut connection = server.connect().await;
        connection.send(request).await;
        connection.shut_down().await;
        let (status, _, body) = connection.receive().await;
        assert_eq!(status, 400, "{request}");
        assert!(body.contains("malformed_body"), "{request}: {body}");
        assert_eq!(connection.rest().await, b"");
        assert!(began.elapsed() < Duration::from_secs(1), "{request}");
        assert_eq!(server.service.held(), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_that_is_cut_ends_the_connection_at_once() {
    for said in ["", "GET", "GET / HTTP/1.1\r\nHost: a\r\n"] {
        let server = server().await;
        let began = Instant::now();
        let mut connection = server.connect().await;
        connection.send(said).await;
        connection.shut_down().await;
        let rest = String::from_utf8(connection.rest().await).unwrap();
        assert!(
            rest.is_empty() || rest.starts_with("HTTP/1.1 400"),
            "{rest}"
        );
        assert!(began.elapsed() < Duration::from_secs(1), "{said:?}");
    }
}
