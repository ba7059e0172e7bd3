//! Idle connections closed for new ones when all are in use.

use tokio::io::AsyncWriteExt as _;
use tokio::runtime::Builder;

use crate::http2::{
    DATA, END_HEADERS, END_STREAM, HEADERS, WINDOW_UPDATE, frame, get, header, post,
};
use crate::prelude::*;
use crate::shares::{ONE, OTHER};
use crate::transport::{hello, up_to, waiting_server};

#[tokio::test]
async fn when_all_are_taken_the_network_that_has_most_makes_room() {
    let server = Server::start(Setup::default(), up_to(16)).await;
    let mut gone = server.connect_from(ONE).await;
    let mut held = vec![server.connect_from(ONE).await];
    for host in 2..=15 {
        let address = format!("127.0.0.{host}");
        held.push(server.served_from(&address).await.unwrap());
    }
    held.push(server.served_from("127.0.0.16").await.unwrap());
    assert_eq!(gone.rest().await, b"");
    for connection in &mut held {
        assert!(connection.is_served().await);
    }
    // As often as one likes.
    for _ in 0..20 {
        assert!(server.served_from("127.0.0.17").await.is_some());
    }
}

#[tokio::test]
async fn a_connection_whose_answer_is_due_makes_no_room() {
    let (server, model) = waiting_server(up_to(16)).await;
    let mut due = server.connect_from(ONE).await;
    due.send(hello()).await;
    model.wait_until_asked().await;
    let mut gone = server.connect_from(ONE).await;
    let mut held = Vec::new();
    for host in 2..=16 {
        let address = format!("127.0.0.{host}");
        held.push(server.served_from(&address).await.unwrap());
    }
    assert_eq!(gone.rest().await, b"");
    model.let_answer();
    assert_eq!(due.receive().await.0, 200);
}

#[tokio::test]
async fn all_networks_together_have_only_so_many_connections_of_http_2() {
    let server = Server::start(Setup::default(), up_to(8 * 16)).await;
    let mut held = Vec::new();
    for host in 1..=9 {
        for number in 1..=3 {
            let mut connection = server.connect_from(&format!("127.0.0.{host}")).await;
            connection.greet(65_535).await;
            let is_served = connection.frame().await.is_some();
            assert_eq!(is_served, host <= 8 && number <= 2, "{host} {number}");
            held.push(connection);
        }
    }
    // HTTP/1.1 is spoken all the same, and HTTP/2 again once others have gone.
    assert!(server.served_from("127.0.0.9").await.is_some());
    held.clear();
    loop {
        let mut connection = server.connect_from("127.0.0.9").await;
        connection.greet(65_535).await;
        if connection.frame().await.is_some() {
            break;
        }
    }
}

#[tokio::test]
async fn a_client_that_floods_is_disconnected_and_its_network_has_fewer_http_2_connections() {
    let server = Server::start(Setup::default(), up_to(8 * 16)).await;
    let updates = frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]).repeat(2000);
    // Heads that come at once are read before a request counts.
    let mut first = server.connect_from(OTHER).await;
    first.greet(65_535).await;
    let block = [get("/livez"), header(0, &"x".repeat(120)).repeat(8)].concat();
    let heads =
        (0..30).map(|number| frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, &block));
    first.send(heads.collect::<Vec<_>>().concat()).await;
    for _ in 0..30 {
        while !matches!(first.frame().await.unwrap(), (HEADERS, ..)) {}
    }
    drop(first);
    // Parts of a body excuse nothing.
    for part in [vec![], frame(DATA, 0, 7, b" ")] {
        let mut connection = server.connect_from(ONE).await;
        connection.greet(65_535).await;
        for stream in [1, 3, 5] {
            let head = frame(HEADERS, END_HEADERS | END_STREAM, stream, &get("/livez"));
            connection.send(head).await;
            connection.send(&updates).await;
            while !matches!(connection.frame().await, Some((HEADERS, ..))) {}
        }
        let head = frame(HEADERS, END_HEADERS, 7, &post("/api/v1/sandbox/echo"));
        connection.send(head).await;
        // Frames of an unknown kind are ignored.
        let ignored = frame(0xff, 0, 0, &[0; 16_384]);
        for _ in 0..800 {
            let _ = connection.0.write_all(&[&*part, &ignored].concat()).await;
        }
        while connection.frame().await.is_some() {}
    }
    let mut third = server.connect_from(ONE).await;
    third.greet(65_535).await;
    assert_eq!(third.frame().await, None);
    assert!(server.served_from(ONE).await.is_some());
    let mut other = server.connect_from(OTHER).await;
    other.greet(65_535).await;
    assert!(other.frame().await.is_some());
}

#[test]
fn too_many_headers_count_and_are_logged_as_any_request() {
    let ((), log) = logged(|| {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let setup = Setup::default().limit("ip", "2/1h");
            let server = Server::start(setup, ServerLimits::default()).await;
            let mut connection = Connection::begin(&server, 65_535).await;
            // `age`, without a value: a byte for each.
            let block = [get("/api/v1/health"), vec![0x95; 101]].concat();
            for stream in [1, 3, 5] {
                let head = frame(HEADERS, END_HEADERS | END_STREAM, stream, &block);
                connection.send(head).await;
                while !matches!(connection.frame().await, Some((HEADERS, ..))) {}
            }
        });
    });
    for part in ["status=400", "malformed_head", "status=429"] {
        assert!(log.contains(part), "{part}: {log}");
    }
}
