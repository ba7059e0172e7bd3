//! Connections that speak TLS.

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, HandshakeKind, ServerConfig};

use crate::fixtures::eventually;
use crate::prelude::*;
use crate::shares::{ONE, OTHER};
use crate::transport::HEALTH;

use super::{Authority, BOTH, name};

type Client = TlsStream<TcpStream>;

async fn serve(authority: &Authority, limits: ServerLimits) -> Server {
    let tls = authority.pair("server").open().unwrap().tls().unwrap();
    Server::start_tls(Setup::default(), limits, tls).await
}

async fn server(authority: &Authority) -> Server {
    serve(authority, ServerLimits::default()).await
}

impl Server {
    async fn shake(&self, address: &str, config: &Arc<ClientConfig>) -> std::io::Result<Client> {
        let stream = self.connect_from(address).await.0.into_inner();
        let connector = TlsConnector::from(Arc::clone(config));
        connector.connect(name(), stream).await
    }

    fn outcomes(&self) -> [u64; 3] {
        let metrics = &self.app.metrics.tls;
        [&metrics.completed, &metrics.failed, &metrics.timed_out].map(|it| it.get())
    }
}

/// The answer to `request` on a connection that ends with it.
async fn answer_to(mut client: Client, request: &str) -> String {
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    answer
}

fn last_health() -> String {
    HEALTH.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")
}

#[tokio::test]
async fn both_versions_of_tls_are_spoken_with_the_version_of_http_that_was_agreed_on() {
    let authority = Authority::new();
    let server = server(&authority).await;
    for version in [&TLS12, &TLS13] {
        for (offered, agreed) in [
            (&[] as &[_], None),
            (&["http/1.1"], Some("http/1.1")),
            (&["http/1.1", "h2"], Some("h2")),
            (&["h3", "h2"], Some("h2")),
        ] {
            let config = authority.client(&[version], offered);
            let client = server.shake(ONE, &config).await.unwrap();
            let session = client.get_ref().1;
            assert_eq!(session.alpn_protocol(), agreed.map(str::as_bytes));
            assert_eq!(session.protocol_version(), Some(version.version));
            if agreed == Some("h2") {
                check_http2(client).await;
            } else {
                let answer = answer_to(client, &last_health()).await;
                assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            }
        }
        // Neither is taken for the other.
        let config = authority.client(&[version], &["http/1.0"]);
        let refused = server.shake(ONE, &config).await.unwrap_err();
        check_disagreed(&refused);
    }
    assert_eq!(server.outcomes(), [8, 2, 0]);
}

#[tokio::test]
async fn whoever_has_no_place_for_http_2_agrees_on_http_1_1() {
    let authority = Authority::new();
    let limits = ServerLimits {
        connections_max: 8 * 16,
        ..ServerLimits::default()
    };
    let server = serve(&authority, limits).await;
    let config = authority.client(BOTH, &["h2", "http/1.1"]);
    let agreed = async |address| {
        let client = server.shake(address, &config).await.unwrap();
        let agreed = client.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        (client, String::from_utf8(agreed.unwrap()).unwrap())
    };
    // Neither half a handshake nor HTTP/1.1 takes a place.
    let _silent = server.connect_from(ONE).await;
    let http1 = authority.client(BOTH, &["http/1.1"]);
    let _older = server.shake(ONE, &http1).await.unwrap();
    let held = [agreed(ONE).await, agreed(ONE).await];
    assert!(held.iter().all(|(_, http)| http == "h2"), "two are");
    let (client, http) = agreed(ONE).await;
    assert_eq!(http, "http/1.1");
    let answer = answer_to(client, &last_health()).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let only_http2 = authority.client(BOTH, &["h2"]);
    let refused = server.shake(ONE, &only_http2).await.unwrap_err();
    check_disagreed(&refused);
    let (client, http) = agreed(OTHER).await;
    assert_eq!(http, "h2");
    check_http2(client).await;
    drop(held);
    while agreed(ONE).await.1 != "h2" {
        tokio::task::yield_now().await;
    }
}

fn check_disagreed(refused: &std::io::Error) {
    let told = refused.to_string();
    assert!(told.contains("NoApplicationProtocol"), "{told}");
}

/// The lines about handshakes that failed.
fn lines_of(log: &str) -> Vec<&str> {
    let is_told = |line: &&str| line.contains("handshakes failed");
    log.lines().filter(is_told).collect()
}

async fn check_http2(client: Client) {
    let io = TokioIo::new(client);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("https://landing.example/api/v1/health");
    let request = request.body(Empty::<Bytes>::new()).unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), 200);
}

#[tokio::test]
async fn whoever_was_here_before_resumes_the_session() {
    let authority = Authority::new();
    let server = server(&authority).await;
    for version in [&TLS12, &TLS13] {
        let config = authority.client(&[version], &["http/1.1"]);
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let client = server.shake(ONE, &config).await.unwrap();
            assert_eq!(client.get_ref().1.handshake_kind(), Some(kind));
            answer_to(client, &last_health()).await;
        }
    }
}

#[tokio::test]
async fn a_large_answer_and_a_body_pass_through() {
    let authority = Authority::new();
    let server = server(&authority).await;
    let client = server.shake(ONE, &authority.client(BOTH, &[])).await;
    let request = last_health().replace("/api/v1/health", "/openapi.json");
    let answer = answer_to(client.unwrap(), &request).await;
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(body.len() > 64 * 1024 && serde_json::from_str::<Value>(body).is_ok());
    let client = server.shake(ONE, &authority.client(BOTH, &[])).await;
    let body = format!(r#"{{"email":"ada@example.com"{}}}"#, " ".repeat(4000));
    let post = crate::transport::post("/api/v1/newsletter", &body);
    let post = post.replace("Host:", "Connection: close\r\nHost:");
    let answer = answer_to(client.unwrap(), &post).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_handshake_has_five_seconds_whatever_has_arrived_of_it() {
    let authority = Authority::new();
    let server = server(&authority).await;
    // A record of a handshake message that does not end.
    let begun = [&[22, 3, 1, 2, 0, 1, 0, 1, 252][..], &[3; 100]].concat();
    for sent in [&[][..], &begun[..1], &begun] {
        let mut connection = server.connect().await;
        connection.send(sent).await;
        let began = Instant::now();
        assert_eq!(connection.rest().await, b"");
        let took = began.elapsed();
        assert_eq!(took.as_millis() / 100, 50, "{took:?}");
    }
    assert_eq!(server.outcomes(), [0, 0, 3]);
}

#[tokio::test]
async fn half_a_handshake_takes_a_place_of_its_network() {
    let authority = Authority::new();
    let limits = ServerLimits {
        connections_max: 16,
        ..ServerLimits::default()
    };
    let server = serve(&authority, limits).await;
    let config = authority.client(BOTH, &[]);
    let held = (
        server.connect_from(ONE).await,
        server.connect_from(ONE).await,
    );
    let third = server.shake(ONE, &config).await;
    assert!(third.is_err(), "an eighth is two");
    let client = server.shake(OTHER, &config).await.unwrap();
    let answer = answer_to(client, &last_health()).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    drop(held);
    let is_served = async || server.shake(ONE, &config).await.is_ok();
    while !is_served().await {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn handshakes_that_fail_are_counted_and_make_one_line() {
    let authority = Authority::new();
    let stranger = Authority::new().client(BOTH, &[]);
    let attack = async {
        let server = server(&authority).await;
        for _ in 0..20 {
            let mut connection = server.connect_from(ONE).await;
            connection.send(HEALTH).await;
            // An alert, and nothing that was asked for.
            assert_eq!(connection.rest().await.first(), Some(&21));
            assert!(server.shake(OTHER, &stranger).await.is_err());
        }
        // The client is the first to know.
        eventually("all are counted", || server.outcomes()[1] == 40).await;
        assert_eq!(server.outcomes(), [0, 40, 0]);
    };
    let ((), log) = logged_async(attack).await;
    let lines = lines_of(&log);
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("count=1"), "{log}");
    assert!(!log.contains(ONE) && !log.contains(OTHER), "{log}");
}

#[tokio::test(start_paused = true)]
async fn the_next_line_about_failed_handshakes_has_the_number_of_those_between() {
    let authority = Authority::new();
    let attack = async {
        let server = server(&authority).await;
        for count in [1, 7, 1] {
            for _ in 0..count {
                let mut connection = server.connect().await;
                connection.send("no TLS").await;
                connection.rest().await;
            }
            if count == 7 {
                advance(Duration::from_secs(60)).await;
            }
        }
    };
    let ((), log) = logged_async(attack).await;
    let lines = lines_of(&log);
    assert_eq!(lines.len(), 2, "{log}");
    assert!(lines[0].contains("count=1 "), "{log}");
    assert!(lines[1].contains("count=8 "), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_answers_and_not_for_handshakes() {
    let authority = Authority::new();
    let mut server = server(&authority).await;
    let config = authority.client(BOTH, &[]);
    let mut idle = server.shake(ONE, &config).await.unwrap();
    let mut silent = server.connect().await;
    let begun = Instant::now();
    server.stop();
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).await.unwrap();
    assert_eq!((rest, silent.rest().await), (vec![], vec![]));
    (&mut server.task).await.unwrap();
    let took = begun.elapsed();
    assert!(took <= Duration::from_millis(1100), "{took:?}");
}

#[test]
fn sessions_are_kept_by_the_clients_alone_and_nothing_is_taken_before_the_handshake() {
    let authority = Authority::new();
    let tls: Arc<ServerConfig> = authority.pair("server").open().unwrap().tls().unwrap();
    assert!(tls.ticketer.enabled() && !tls.session_storage.can_cache());
    // What is sent early could be replayed (RFC 8446, section 8).
    assert_eq!(tls.max_early_data_size, 0);
}
