//! Connections to the listener of the admin page: clients that hold them.

use landing_api::operator::page::web::serve_connection;
use tokio::io::{AsyncWriteExt as _, duplex};

use super::Desk;
use crate::prelude::*;

/// How long a connection lasts whose client sends `sent` and reads nothing.
async fn lifetime(sent: &str) -> Duration {
    let page = Arc::new(Desk::new().page);
    // What a socket's buffers take.
    let (mut client, server) = duplex(4096);
    client.write_all(sent.as_bytes()).await.unwrap();
    let began = Instant::now();
    let served = serve_connection(server, page, CancellationToken::new());
    let hour = Duration::from_secs(3600);
    timeout(hour, served).await.expect("it lasts");
    let lifetime = began.elapsed();
    drop(client);
    lifetime
}

#[tokio::test(start_paused = true)]
async fn half_a_head_ends_a_connection_after_15_seconds() {
    // Nor does one last that says nothing, or that waits for another request.
    let whole = "GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for sent in ["", "GET /live HTTP/1.1\r\nHost: local", whole] {
        assert_eq!(lifetime(sent).await.as_secs(), 15, "{sent:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_for_75_seconds_is_dropped() {
    let stalled = lifetime("GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(stalled.as_secs(), 75);
}
