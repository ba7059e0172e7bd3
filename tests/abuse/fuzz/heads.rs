//! Bytes on a connection: what hyper, and what looks at a head before and after it, make of them.

use std::net::SocketAddr;
use std::time::Duration;

use landing_api::http::server::ServerLimits;
use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::{Parts, Trace, runtime};
use crate::Run;
use crate::harness::Setup;
use crate::random::Random;
use crate::transport::Server;

const INPUTS: u64 = 512;

const HEALTH: &[u8] = b"GET /api/v1/health HTTP/1.1\r\nHost: landing.example\r\n\r\n";

/// Has the server close the connection.
const LAST: &[u8] = b"GET /livez HTTP/1.1\r\nHost: landing.example\r\nConnection: close\r\n\r\n";

/// How long a server that makes nothing of an input is waited for.
const SILENCE: Duration = Duration::from_millis(50);

/// The preface, empty settings, and a request of the headers `:method: GET`, `:scheme: http`,
/// `:path: /` and `:authority: a`.
const HTTP_2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\
    \0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x41\x01a";

const SAMPLES: [&[u8]; 14] = [
    HEALTH,
    HTTP_2,
    b"GET / HTTP/1.0\r\n\r\n",
    b"GET http://landing.example/docs?a=b HTTP/1.1\r\nHost: landing.example\r\nAccept: */*\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\nOrigin: https://a.example\r\n\r\n",
    b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
    b"HEAD /index.md HTTP/1.1\r\nhost:[::1]:8080\r\nConnection: close\r\n\r\n",
    b"GET /api/health HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
      HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
    b"POST /api/v1/newsletter HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
      Content-Length: 27\r\n\r\n{\"email\":\"ada@example.com\"}",
    b"POST /api/v1/sandbox/echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
      Transfer-Encoding: chunked\r\n\r\n5;a=b\r\n{\"mes\r\n0c\r\nsage\":\"hello\r\n2\r\n\"}\r\n0\r\n\
      Trailer: a\r\n\r\n",
    b"POST /api/v1/keys HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
    b"POST /oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n\
      Content-Length: 31\r\nAuthorization: Basic YTpi\r\n\r\ngrant_type=client_credentials&a",
    b"POST /api/v1/assistant/chat HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\
      Content-Length: 48\r\n\r\n{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}",
    b"GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\nGET /docs HTTP/1.1\r\nHost: a\r\nCookie: a=b\r\n\
      X-Forwarded-For: 1.2.3.4\r\n\r\n",
];

pub(crate) fn heads(run: Run) -> Result<String, String> {
    let parts = Parts::of(run.of(1_000, 500_000), INPUTS);
    super::run(run, "heads", parts, |random, trace| {
        runtime().block_on(part(random, trace));
    })
}

async fn part(random: &mut Random, trace: &Trace) {
    let limits = ServerLimits {
        idle_deadline: Duration::from_secs(5),
        ..ServerLimits::default()
    };
    let wide = "1000000/60s";
    let setup = Setup::default().limit("default", wide).limit("ip", wide);
    let server = Server::start(setup, limits).await;
    for _ in 0..INPUTS {
        let sample = *random.pick(&SAMPLES);
        let input = random.mutated(sample, &SAMPLES);
        trace.begin(&input);
        let answer = exchange(server.address, &input, SILENCE).await;
        check(&input, &answer);
    }
    // The last connections may be closing still.
    while (server.service.held(), server.service.unfinished().len()) != ((0, 0), 0) {
        sleep(Duration::from_millis(1)).await;
    }
    let answer = exchange(server.address, HEALTH, limits.idle_deadline).await;
    assert!(answer.starts_with(b"HTTP/1.1 200 "));
}

/// All that the server sends for `input` and a last request, until it closes. What is not whole would wait for
/// more: after `silence` the client hangs up.
async fn exchange(address: SocketAddr, input: &[u8], silence: Duration) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut answer = Vec::new();
    // It may have answered and closed before all is sent.
    let _ = stream.write_all(&[input, LAST].concat()).await;
    let _ = timeout(silence, stream.read_to_end(&mut answer)).await;
    answer
}

fn check(input: &[u8], answer: &[u8]) {
    let text = answer.escape_ascii();
    // Frames that a client has to understand stand at the front if it spoke HTTP/2.
    let is_http_1 = answer.starts_with(b"HTTP/1.");
    let is_http_2 = input.starts_with(b"PRI * HTTP/2.0\r\n") || answer.get(3) == Some(&4);
    assert!(answer.is_empty() || is_http_1 || is_http_2, "{text}");
    let is_quoted = memmem::find(input, b"HTTP/1.1 5").is_some();
    let is_error = memmem::find(answer, b"HTTP/1.1 5").is_some();
    assert!(is_quoted || !is_error, "{text}");
    if let Some(end) = memmem::find(answer, b"\r\n\r\n").filter(|_| is_http_1) {
        let head = std::str::from_utf8(&answer[..end]).expect("a head is text");
        for line in head.split("\r\n").skip(1) {
            assert!(line.contains(": "), "{head}");
        }
        assert!(!head.replace("\r\n", "").contains(['\r', '\n']), "{head}");
    }
}
