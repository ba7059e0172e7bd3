//! What one network may hold of the connections and of the model's turns.

use std::io;

use landing_api::adapters::model::openai::{OpenAiSettings, Roots};
use tokio::io::BufReader;
use tokio::net::TcpSocket;

use crate::openai::settings;
use crate::openai::upstream::{Script, Upstream};
use crate::prelude::*;
use crate::streaming::ask_on_the_wire;
use crate::transport::{HEALTH, hello, up_to};

/// All of 127.0.0.0/8 is this machine.
pub(crate) const ONE: &str = "127.0.0.1";
pub(crate) const OTHER: &str = "127.0.0.2";

fn few() -> ServerLimits {
    up_to(16)
}

impl Server {
    pub(crate) async fn connect_from(&self, address: &str) -> Connection {
        self.reach_from(address).await.unwrap()
    }

    async fn reach_from(&self, address: &str) -> io::Result<Connection> {
        let socket = TcpSocket::new_v4().unwrap();
        let local: SocketAddr = format!("{address}:0").parse().unwrap();
        socket.bind(local).unwrap();
        let stream = socket.connect(self.address).await?;
        Ok(Connection(BufReader::new(stream)))
    }

    /// Connects and gives the connection if it is served.
    pub(crate) async fn served_from(&self, address: &str) -> Option<Connection> {
        // A refused connection is reset, perhaps before this side knows that it is there.
        let mut connection = self.reach_from(address).await.ok()?;
        connection.is_served().await.then_some(connection)
    }

    /// So many connections that are served.
    async fn hold(&self, count: usize, address: &str) -> Vec<Connection> {
        let mut held = Vec::new();
        for _ in 0..count {
            held.push(self.served_from(address).await.unwrap());
        }
        held
    }
}

impl Connection {
    /// Whether a request is answered; if not, the connection is closed.
    pub(crate) async fn is_served(&mut self) -> bool {
        // The server may have reset the connection already.
        let _ = tokio::io::AsyncWriteExt::write_all(&mut self.0, HEALTH.as_bytes()).await;
        let mut byte = [0];
        if !matches!(self.0.get_ref().peek(&mut byte).await, Ok(1)) {
            return false;
        }
        assert_eq!(self.receive().await.0, 200);
        true
    }
}

/// Waits until `is_true`; time need not pass for it.
async fn until(mut is_true: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_true().await {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(20), waiting).await.unwrap();
}

#[tokio::test]
async fn a_network_has_no_more_connections_than_its_share() {
    let server = Server::start(Setup::default(), few()).await;
    let mut held = server.hold(2, ONE).await;
    for _ in 0..50 {
        assert!(server.served_from(ONE).await.is_none());
    }
    // Others are served meanwhile, and so are those that it has.
    let other = server.served_from(OTHER).await;
    assert!(other.is_some());
    assert!(held[1].is_served().await);
    held.remove(0);
    until(async || server.served_from(ONE).await.is_some()).await;
}

#[tokio::test]
async fn a_trusted_proxy_has_all_connections_it_needs() {
    let setup = Setup::default().behind(&["127.0.0.1/32"]);
    let server = Server::start(setup, few()).await;
    let mut held = server.hold(10, ONE).await;
    for is_served in [true, true, false] {
        let connection = server.served_from(OTHER).await;
        assert_eq!(connection.is_some(), is_served);
        held.extend(connection);
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_whose_requests_are_refused_idles_like_any_other() {
    let setup = Setup::default().limit("ip", "1/1h");
    let server = Server::start(setup, few()).await;
    let mut connection = server.connect_from(ONE).await;
    for status in [200, 429, 429] {
        connection.send(HEALTH).await;
        assert_eq!(connection.receive().await.0, status);
    }
    let began = Instant::now();
    assert_eq!(connection.rest().await, b"");
    assert!(began.elapsed() <= few().idle_deadline + Duration::from_secs(1));
}

/// What is logged during `attack`, whose addresses are not.
async fn log_of(attack: impl Future<Output = ()>) -> String {
    let ((), log) = logged_async(attack).await;
    assert!(!log.contains(ONE) && !log.contains(OTHER), "{log}");
    log
}

/// The warnings in a log that has so many.
fn warnings<const N: usize>(log: &str) -> [&str; N] {
    let lines = log.lines().filter(|line| line.contains("WARN"));
    let lines: Vec<_> = lines.collect();
    lines.try_into().unwrap_or_else(|_| panic!("{log}"))
}

#[tokio::test(start_paused = true)]
async fn refused_connections_are_logged_once_a_minute_with_a_pseudonym_and_what_to_do() {
    let log = log_of(async {
        let server = Server::start(Setup::default(), few()).await;
        for _ in 0..2 {
            let held = server.hold(2, ONE).await;
            for _ in 0..7 {
                assert!(server.served_from(ONE).await.is_none());
            }
            drop(held);
            sleep(Duration::from_secs(61)).await;
        }
    })
    .await;
    let [first, second] = warnings(&log);
    assert!(first.contains("count=1 "), "{first}");
    // The other six of the first minute, and the first of the second.
    assert!(second.contains("count=7 "), "{second}");
    let pseudonym = |line: &str| {
        let (_, rest) = line.split_once("busiest.network=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    assert_eq!(pseudonym(first), pseudonym(second));
    assert_eq!(pseudonym(first).len(), 8);
    assert!(first.contains("busiest.connections=2"), "{first}");
    for advice in ["--trusted-proxy", "--max-connections"] {
        assert!(first.contains(advice), "{first}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_cap_is_logged_with_the_busiest_network_and_what_to_do() {
    let log = log_of(async {
        // While a connection is on its way, paused time would pass until one is idle for too long.
        tokio::time::resume();
        let server = Server::start(Setup::default(), few()).await;
        let mut held = server.hold(2, ONE).await;
        for host in 2..=15 {
            held.push(server.connect_from(&format!("127.0.0.{host}")).await);
        }
        // Refused, and counted apart.
        assert!(server.served_from(ONE).await.is_none());
        // It is served, because another is closed.
        assert!(server.served_from("127.0.0.16").await.is_some());
    })
    .await;
    let [refused, line] = warnings(&log);
    assert!(refused.contains("count=1 "), "{refused}");
    for part in [
        "count=1 connections=16 busiest.network=\"",
        "busiest.connections=2",
        "--max-connections",
        "ss -tn",
    ] {
        assert!(line.contains(part), "{line}");
    }
}

/// A server before a model with so many places, of which a network may have an eighth.
async fn model_server(upstream: &Upstream, places: usize) -> (Server, Arc<OpenAiModelClient>) {
    let settings = OpenAiSettings {
        concurrency: places,
        ..settings(upstream)
    };
    let model = OpenAiModelClient::new(settings, Roots::of([]), CancellationToken::new());
    let model = Arc::new(model);
    let setup = Setup::with_model(model.clone());
    (Server::start(setup, ServerLimits::default()).await, model)
}

#[tokio::test(start_paused = true)]
async fn a_network_has_no_more_turns_than_its_share_however_it_asks() {
    for asked in [hello(), ask_on_the_wire(), mcp::ask_on_the_wire()] {
        let upstream = Upstream::start([Script::silent()]).await;
        let (server, model) = model_server(&upstream, 16).await;
        let mut waiting = Vec::new();
        for _ in 0..2 {
            let mut connection = server.connect_from(ONE).await;
            connection.send(&asked).await;
            upstream.wait_until_asked().await;
            waiting.push(connection);
        }
        for _ in 0..3 {
            let mut third = server.connect_from(ONE).await;
            third.send(hello()).await;
            let (status, head, body) = third.receive().await;
            assert_eq!(status, 503);
            assert!(head.contains("ratelimit: \"assistant\";r=10"), "{head}");
            assert!(!head.contains("set-cookie"), "nothing is charged: {head}");
            let problem: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(problem["code"], "model_unavailable");
            assert!(problem["detail"].as_str().unwrap().contains("network"));
        }
        let mut tool = server.connect_from(ONE).await;
        tool.send(mcp::ask_on_the_wire()).await;
        let (_, head, body) = tool.receive().await;
        // A program's turns count by its network.
        let left = if asked == mcp::ask_on_the_wire() {
            8
        } else {
            10
        };
        assert_present(&head, &[&format!("ratelimit: \"assistant\";r={left}")]);
        assert!(body.contains("model_unavailable"), "{body}");
        let mut other = server.connect_from(OTHER).await;
        other.send(hello()).await;
        upstream.wait_until_asked().await;
        assert_eq!((model.permits_free(), server.service.held().1), (13, 3));
        // Their clients go, and so does the model's work.
        drop((waiting, other));
        until(async || model.permits_free() == 16).await;
        until(async || server.service.held() == (0, 0)).await;
        upstream.script([Script::saying("There you are.")]);
        let mut next = server.connect_from(ONE).await;
        next.send(hello()).await;
        assert_eq!(next.receive().await.0, 200);
    }
}

#[tokio::test]
async fn a_small_model_answers_one_turn_of_a_network_at_least() {
    let upstream = Upstream::start([Script::saying("Hi.")]).await;
    let (server, _model) = model_server(&upstream, 1).await;
    let mut connection = server.connect_from(ONE).await;
    for _ in 0..3 {
        connection.send(hello()).await;
        assert_eq!(connection.receive().await.0, 200);
        assert_eq!(server.service.held(), (0, 0));
    }
}
