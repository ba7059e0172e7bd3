//! Connections to the listener of the admin page: clients that hold them, and monitors, which come in anyway.

use std::sync::Arc;
use std::time::Duration;

use landing_api::operator::page::Serves;
use landing_api::operator::page::web::{serve_connection, serve_web};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::Desk;

const HALF_A_HEAD: &str = "GET /live HTTP/1.1\r\nHost: local";

/// How long a connection lasts whose client sends `sent` and reads nothing.
async fn lifetime(sent: &str) -> Duration {
    let page = Arc::new(Desk::new().page);
    // What a socket's buffers take.
    let (mut client, server) = duplex(4096);
    client.write_all(sent.as_bytes()).await.unwrap();
    let began = Instant::now();
    let served = serve_connection(server, page, Serves::All, CancellationToken::new());
    let hour = Duration::from_secs(3600);
    timeout(hour, served).await.expect("it lasts");
    let lifetime = began.elapsed();
    drop(client);
    lifetime
}

#[tokio::test(start_paused = true)]
async fn half_a_head_ends_a_connection_after_15_seconds() {
    let half = lifetime(HALF_A_HEAD).await;
    assert_eq!(half.as_secs(), 15);
    // So does a connection that waits for a request.
    let whole = lifetime("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(whole.as_secs(), 15);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_for_75_seconds_is_dropped() {
    let stalled = lifetime("GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(stalled.as_secs(), 75);
}

/// The answer to a request on a connection of its own.
async fn ask(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn monitors_are_answered_while_others_hold_all_places() {
    let page = Arc::new(Desk::new().page);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let served = tokio::spawn(serve_web(listener.into(), page, stop.clone()));
    assert!(ask(address, "/login").await.starts_with("HTTP/1.1 403 "));
    let mut held = Vec::new();
    for _ in 0..64 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(HALF_A_HEAD.as_bytes()).await.unwrap();
        held.push(stream);
    }
    // More often than there are places for them.
    for _ in 0..5 {
        for path in ["/live", "/ready", "/metrics"] {
            let answer = ask(address, path).await;
            assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        }
    }
    let told = ask(address, "/login").await;
    assert!(told.starts_with("HTTP/1.1 503 "), "{told}");
    assert!(told.contains("Too many connections are open"));
    held.pop();
    // Once the place is free.
    while ask(address, "/login").await.starts_with("HTTP/1.1 503 ") {}
    stop.cancel();
    served.await.unwrap();
}
