//! HTTP/2 frame by frame (RFC 9113): clients that a well-behaved library would not be.

use std::time::Duration;

use http_body_util::Empty;
use hyper::Request;
use hyper::body::Bytes;
use landing_api::http::server::{STOP_GRACE, ServerLimits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use crate::harness::Setup;
use crate::transport::{Connection, Server, connect_http_2, server};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

/// The bytes that a stream takes unless its client says otherwise.
const WINDOW: u32 = 65_535;

pub(crate) const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&[a, b, c, kind, flags][..], &stream.to_be_bytes(), payload].concat()
}

/// What a client says first; each stream takes `window` bytes.
pub(crate) fn preface(window: u32) -> Vec<u8> {
    let window = [&[0, 4][..], &window.to_be_bytes()].concat();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    [preface, &frame(SETTINGS, 0, 0, &window)[..]].concat()
}

/// The block of a GET, in HPACK without Huffman's code (RFC 7541).
pub(crate) fn get(path: &str) -> Vec<u8> {
    let path_length = u8::try_from(path.len()).unwrap();
    // The method, the scheme, the path, the authority.
    let mut block = vec![0x82, 0x86, 0x04, path_length];
    block.extend_from_slice(path.as_bytes());
    block.extend_from_slice(b"\x01\x01a");
    block
}

/// The head of a POST of JSON.
pub(crate) fn post(path: &str) -> Vec<u8> {
    let mut block = [get(path), field("content-type", "application/json")].concat();
    block[0] = 0x83;
    block
}

/// A header, never indexed.
pub(crate) fn field(name: &str, value: &str) -> Vec<u8> {
    assert!(name.len() < 127 && value.len() < 127);
    let [name_length, length] = [name, value].map(|text| u8::try_from(text.len()).unwrap());
    let (name, value) = (name.as_bytes(), value.as_bytes());
    [&[0x10, name_length], name, &[length], value].concat()
}

/// Header `number`, never indexed.
pub(crate) fn header(number: usize, value: &str) -> Vec<u8> {
    field(&format!("x-{number:03}"), value)
}

impl Connection {
    /// Begins HTTP/2 with streams that take `window` bytes.
    pub(crate) async fn begin(server: &Server, window: u32) -> Self {
        let mut connection = server.connect().await;
        connection.greet(window).await;
        connection
    }

    /// Says hello; streams take `window` bytes.
    pub(crate) async fn greet(&mut self, window: u32) {
        // The server may have hung up.
        let _ = self.0.write_all(&preface(window)).await;
    }

    /// The concurrent streams that the server's settings allow; `None` if it closes the connection.
    async fn streams_max(&mut self) -> Option<u32> {
        let (kind, _, _, payload) = self.frame().await?;
        assert_eq!(kind, SETTINGS);
        let setting = payload.chunks(6).find(|setting| setting[..2] == [0, 3]);
        Some(u32::from_be_bytes(setting?[2..].try_into().unwrap()))
    }

    /// Answers pings until the server closes the connection.
    pub(crate) async fn pong(&mut self) {
        while self.answering().await.is_some() {}
    }

    /// The next frame. If it is a ping, it is answered.
    async fn answering(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let next = self.frame().await?;
        if let (PING, flags, _, payload) = &next
            && flags & ACK == 0
        {
            let _ = self.0.write_all(&frame(PING, ACK, 0, payload)).await;
        }
        Some(next)
    }

    /// The next frame: kind, flags, stream and payload; `None` at the end.
    pub(crate) async fn frame(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).await.ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.0.read_exact(&mut payload).await.ok()?;
        Some((kind, flags, u32::from_be_bytes(stream), payload))
    }
}

#[tokio::test]
async fn a_head_has_as_many_headers_as_on_http_1_and_16_kib_of_them() {
    let server = server().await;
    let (mut sender, connection) = connect_http_2(&server).await;
    tokio::spawn(connection);
    // Name, value and 32 bytes each are counted.
    for (count, length, status) in [
        (100, 1, 200),
        (101, 1, 400),
        (400, 1, 400),
        (1, 16_000, 200),
        (1, 16_384, 431),
        (90, 130, 200),
        (90, 150, 431),
        (0, 0, 200),
    ] {
        let mut request = Request::get("http://a/api/v1/health");
        for number in 0..count {
            request = request.header(format!("x-{number:03}"), "v".repeat(length));
        }
        let request = request.body(Empty::<Bytes>::new()).unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), status, "{count} of {length}");
    }
}

#[tokio::test]
async fn a_request_says_which_host_it_is_for_and_once() {
    const OK: u8 = 0x88;
    const BAD_REQUEST: u8 = 0x8c;
    let authority = get("/api/v1/health");
    // Without its last field.
    let none = authority.strip_suffix(b"\x01\x01a").unwrap().to_vec();
    let [a, upper, b, bad, empty] = ["a", "A", "b", "a b", ""].map(|value| field("host", value));
    for (block, status) in [
        (authority.clone(), OK),
        ([&*authority, &a].concat(), OK),
        ([&*authority, &upper].concat(), OK),
        ([&*none, &b].concat(), OK),
        (none.clone(), BAD_REQUEST),
        ([&*none, &bad].concat(), BAD_REQUEST),
        ([&*none, &empty].concat(), BAD_REQUEST),
        ([&*none, &a, &a].concat(), BAD_REQUEST),
        ([&*authority, &b].concat(), BAD_REQUEST),
        ([&*authority, &a, &a].concat(), BAD_REQUEST),
        ([&*none, b"\x01\x03x@a"].concat(), BAD_REQUEST),
    ] {
        let server = server().await;
        let mut connection = Connection::begin(&server, WINDOW).await;
        let mut head = frame(HEADERS, END_HEADERS | END_STREAM, 1, &block);
        for _ in 0..2 {
            connection.send(&head).await;
            let payload = loop {
                let (kind, _, _, payload) = connection.frame().await.unwrap();
                if kind == HEADERS {
                    break payload;
                }
            };
            // The first field, after what may resize the table.
            let first = payload.iter().find(|&&byte| byte & 0xe0 != 0x20);
            assert_eq!(first, Some(&status), "{block:x?}: {payload:x?}");
            // The connection lives on.
            head[8] += 2;
        }
    }
}

/// The literal `:status: 431`, its digits in Huffman's code.
const TOO_LARGE: &[u8] = b"\x48\x83\x69\x90\xff";

#[tokio::test]
async fn a_header_that_is_indexed_thousands_of_times_ends_the_connection_or_the_request() {
    // `age`, without a value: a byte for each.
    let block = [get("/"), vec![0x95; 1900]].concat();
    let server = server().await;
    let mut connection = Connection::begin(&server, WINDOW).await;
    connection.send(frame(HEADERS, END_STREAM, 1, &block)).await;
    let end = frame(CONTINUATION, END_HEADERS, 1, &[]);
    connection.send(end).await;
    while let Some((kind, _, _, payload)) = connection.frame().await {
        if kind == HEADERS {
            assert!(payload.starts_with(TOO_LARGE), "{payload:x?}");
            return;
        }
        if kind == GOAWAY {
            return;
        }
    }
}

#[tokio::test]
async fn a_head_that_goes_on_and_on_ends_the_connection() {
    let server = server().await;
    let mut connection = Connection::begin(&server, WINDOW).await;
    connection.send(frame(HEADERS, 0, 1, &get("/"))).await;
    let mut sent = 0;
    let ended = timeout(Duration::from_secs(10), async {
        loop {
            let more = frame(CONTINUATION, 0, 1, &header(sent, "v"));
            if connection.0.write_all(&more).await.is_err() {
                return;
            }
            sent += 1;
            tokio::task::yield_now().await;
            let frame = timeout(Duration::from_millis(1), connection.frame());
            if let Ok(None | Some((GOAWAY, ..))) = frame.await {
                return;
            }
        }
    });
    ended.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_head_that_is_never_finished_ends_the_connection() {
    for parts in [0, 1, 4] {
        let server = server().await;
        let mut connection = Connection::begin(&server, WINDOW).await;
        let began = Instant::now();
        connection.send(frame(HEADERS, 0, 1, &get("/"))).await;
        for number in 0..parts {
            let part = frame(CONTINUATION, 0, 1, &header(number, "v"));
            connection.send(part).await;
        }
        while connection.frame().await.is_some() {}
        let elapsed = began.elapsed();
        assert!(elapsed <= Duration::from_secs(31), "{parts}: {elapsed:?}");
    }
}

#[tokio::test]
async fn streams_that_are_reset_before_they_are_accepted_end_the_connection() {
    // hyper allows a few before it takes them for an attack.
    for (streams, survives) in [(10, true), (100, false)] {
        let server = server().await;
        let mut connection = Connection::begin(&server, WINDOW).await;
        // One write, so that the server sees them together.
        let burst = (0..streams).flat_map(|number| {
            let stream = 2 * number + 1;
            let open = frame(HEADERS, END_HEADERS | END_STREAM, stream, &get("/"));
            [open, frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])].concat()
        });
        connection.send(burst.collect::<Vec<u8>>()).await;
        connection.send(frame(PING, 0, 0, &[7; 8])).await;
        let is_answered = loop {
            match connection.frame().await {
                Some((PING, ACK, ..)) => break true,
                Some(_) => {}
                None => break false,
            }
        };
        assert_eq!(is_answered, survives, "{streams}");
    }
}

#[tokio::test]
async fn a_network_has_64_connections_of_http_2_and_a_trusted_proxy_has_more_with_more_streams() {
    for (trusted, streams) in [
        (&[][..], [Some(32), Some(32), None]),
        (&["127.0.0.0/8"], [Some(128); 3]),
    ] {
        let setup = Setup::default().behind(trusted);
        let server = Server::start(setup, ServerLimits::default()).await;
        let mut held = Vec::new();
        let mut seen = Vec::new();
        for number in 1..=65 {
            let mut connection = Connection::begin(&server, WINDOW).await;
            if [1, 64, 65].contains(&number) {
                seen.push(connection.streams_max().await);
            }
            held.push(connection);
        }
        assert_eq!(seen, streams);
        // HTTP/1.1 is spoken all the same.
        let mut connection = server.connect().await;
        connection.check_health().await;
    }
}

/// Asks for a long document and takes `bytes` of it every `pause`, for as long as the server lets it;
/// how long that is, and how much came.
async fn read_slowly(bytes: u32, pause: Duration, length: usize) -> (Duration, usize) {
    let server = Server::start(Setup::default(), ServerLimits::default()).await;
    let mut connection = Connection::begin(&server, bytes).await;
    let head = frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/openapi.json"));
    connection.send(head).await;
    let (began, mut taken) = (Instant::now(), 0);
    let mut next = Instant::now() + pause;
    loop {
        match tokio::time::timeout_at(next, connection.answering()).await {
            Err(_elapsed) => {
                next += pause;
                for stream in [0, 1] {
                    let more = frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes());
                    let _ = connection.0.write_all(&more).await;
                }
            }
            Ok(Some((DATA, _, _, payload))) => taken += payload.len(),
            Ok(Some(_)) => {}
            Ok(None) => return (began.elapsed(), taken),
        }
        if taken >= length {
            return (began.elapsed(), taken);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_a_byte_now_and_then_is_let_go_and_one_that_is_only_slow_is_not() {
    let stall = ServerLimits::default().idle_deadline;
    let (elapsed, taken) = read_slowly(1, Duration::from_secs(30), usize::MAX).await;
    assert!((1..10).contains(&taken), "{taken}");
    assert!(elapsed <= 2 * stall, "{elapsed:?}");
    // Some 110 bytes a second, for ten times as long.
    let (elapsed, taken) = read_slowly(4096, stall / 2, 10 * 8192).await;
    assert_eq!(taken, 10 * 8192);
    assert!(elapsed >= 9 * stall, "{elapsed:?}");
}

/// Answers pings until the server says that it ends the connection, and how long that took.
async fn until_goodbye(connection: &mut Connection) -> Duration {
    let began = Instant::now();
    while connection.answering().await.expect("GOAWAY comes first").0 != GOAWAY {}
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn an_idle_client_is_told_before_the_connection_ends() {
    let (idle, grace) = (ServerLimits::default().idle_deadline, STOP_GRACE);
    let server = server().await;
    let mut connection = Connection::begin(&server, WINDOW).await;
    let elapsed = until_goodbye(&mut connection).await;
    assert!((idle..idle + grace).contains(&elapsed), "{elapsed:?}");
    // A request that was on its way is answered.
    let head = frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/livez"));
    connection.send(head).await;
    let mut body = Vec::new();
    while let Some((kind, _, _, payload)) = connection.answering().await {
        if kind == DATA {
            body.extend(payload);
        }
    }
    assert_eq!(body, br#"{"live":true}"#);

    // One that answers nothing more is waited for no longer than the grace.
    let mut silent = Connection::begin(&server, WINDOW).await;
    until_goodbye(&mut silent).await;
    let began = Instant::now();
    silent.rest().await;
    assert!(began.elapsed() <= 2 * grace, "{:?}", began.elapsed());
}
