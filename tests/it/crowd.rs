//! Who gives way when connections are scarce.

use landing_api::http::server::ServerLimits;
use tokio::io::AsyncWriteExt as _;
use tokio::runtime::Builder;

use crate::fixtures::logged;
use crate::harness::Setup;
use crate::http2::{END_HEADERS, END_STREAM, GOAWAY, HEADERS, WINDOW_UPDATE, frame, get, header};
use crate::shares::{ONE, OTHER};
use crate::transport::{Connection, HEALTH, Server};

const LOT: &str = "127.0.0.3";

fn few(connections_max: usize) -> ServerLimits {
    ServerLimits {
        connections_max,
        connections_per_network: Some(connections_max),
        ..ServerLimits::default()
    }
}

impl Connection {
    /// Whether the answer to a request says that it is the last.
    async fn is_asked_to_close(&mut self) -> bool {
        self.send(HEALTH).await;
        let (status, head, _) = self.receive().await;
        assert_eq!(status, 200);
        head.contains("connection: close")
    }
}

#[tokio::test]
async fn from_three_quarters_on_a_network_above_its_fair_part_is_asked_to_close() {
    let server = Server::start(Setup::default(), few(8)).await;
    let mut many = Vec::new();
    for _ in 0..5 {
        many.push(server.served_from(ONE).await.unwrap());
    }
    for connection in &mut many {
        assert!(!connection.is_asked_to_close().await, "five of eight");
    }
    let mut first = server.served_from(OTHER).await.unwrap();
    // Six of eight, and the fair part of each of two networks is four.
    assert!(!first.is_asked_to_close().await);
    let mut fifth = many.pop().unwrap();
    assert!(fifth.is_asked_to_close().await);
    assert_eq!(fifth.rest().await, b"");
    let mut second = server.served_from(OTHER).await.unwrap();
    for connection in many.iter_mut().chain([&mut first, &mut second]) {
        assert!(!connection.is_asked_to_close().await);
    }
    // A third network makes their parts smaller.
    let mut third = server.served_from(LOT).await.unwrap();
    assert!(many[0].is_asked_to_close().await);
    assert!(!first.is_asked_to_close().await);
    assert!(!third.is_asked_to_close().await);
}

#[tokio::test]
async fn on_http_2_it_is_told_and_answered() {
    let server = Server::start(Setup::default(), few(4)).await;
    let _other = server.served_from(OTHER).await.unwrap();
    let _held = server.served_from(ONE).await.unwrap();
    let _held = (_held, server.served_from(ONE).await.unwrap());
    let mut connection = Connection::begin(&server, 65_535).await;
    let head = frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/livez"));
    connection.send(head).await;
    let mut kinds = Vec::new();
    while let Some((kind, ..)) = connection.frame().await {
        kinds.push(kind);
    }
    assert!(
        kinds.contains(&HEADERS) && kinds.contains(&GOAWAY),
        "{kinds:?}"
    );
}

#[tokio::test]
async fn when_all_are_taken_the_network_that_has_most_makes_room() {
    let server = Server::start(Setup::default(), few(4)).await;
    let mut gone = server.connect_from(ONE).await;
    let mut held = [
        server.connect_from(ONE).await,
        server.connect_from(ONE).await,
        server.served_from(OTHER).await.unwrap(),
    ];
    let mut next = server.served_from(OTHER).await.unwrap();
    assert_eq!(gone.rest().await, b"");
    for connection in held.iter_mut().chain([&mut next]) {
        assert!(connection.is_served().await);
    }
    // As often as one likes, as long as somebody has more.
    for _ in 0..20 {
        assert!(server.served_from(LOT).await.is_some());
    }
}

#[tokio::test]
async fn all_networks_together_have_only_so_many_connections_of_http_2() {
    let limits = ServerLimits {
        http2_connections_max: 16,
        ..ServerLimits::default()
    };
    let server = Server::start(Setup::default(), limits).await;
    let mut held = Vec::new();
    for host in 1..=9 {
        for number in 1..=3 {
            let address = format!("127.0.0.{host}");
            let mut connection = server.connect_from(&address).await;
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
    let limits = ServerLimits {
        http2_connections_max: 16,
        ..ServerLimits::default()
    };
    let server = Server::start(Setup::default(), limits).await;
    let updates = frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]).repeat(2000);
    // Heads that come at once are read before a request counts.
    let mut first = server.connect_from(OTHER).await;
    first.greet(65_535).await;
    let padding = header(0, &"x".repeat(120)).repeat(8);
    let block = [get("/livez"), padding].concat();
    let heads =
        (0..100).map(|number| frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, &block));
    first.send(heads.collect::<Vec<_>>().concat()).await;
    for _ in 0..100 {
        while !matches!(first.frame().await.unwrap(), (HEADERS, ..)) {}
    }
    drop(first);
    for _ in 0..2 {
        let mut connection = server.connect_from(ONE).await;
        connection.greet(65_535).await;
        // A request asks for more bytes than its frame has.
        for stream in [1, 3, 5] {
            let head = frame(HEADERS, END_HEADERS | END_STREAM, stream, &get("/livez"));
            connection.send(head).await;
            connection.send(&updates).await;
            while !matches!(connection.frame().await, Some((HEADERS, ..))) {}
        }
        for _ in 0..30 {
            let _ = connection.0.write_all(&updates).await;
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
