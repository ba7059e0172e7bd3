//! Valid requests with changes by chance: whatever comes, no request is a fault of the service.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use memchr::memmem;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::harness::{Pace, Trial, Verdict};
use super::http2;
use super::wire::{HEALTH, Wire, chat, post, sign_up};
use crate::Run;
use crate::random::Random;

/// Requests at once.
const AT_ONCE: usize = 32;

/// Follows each request, so that the service hangs up if it finds it.
const LAST: &str = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

fn valid() -> Vec<Vec<u8>> {
    let form = "grant_type=client_credentials&client_id=reg_AGRJ&client_secret=las_IKB5";
    let get = |path, headers| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    let mut requests: Vec<Vec<u8>> = [
        HEALTH.to_owned(),
        get("/docs.md?a=%20", "Accept: text/markdown;q=0.5, */*\r\n"),
        get("/", "If-None-Match: \"abc\", W/\"d\"\r\nRange: bytes=0-1\r\n"),
        get("/api/v1/health", "X-API-Key: lak_56FLwnCX5al1JYneNjbtuTOvfA8nMJ1aa4jI\r\n"),
        get("/api/v1/assistant/chat", "Cookie: assistant_quota=v1.aaaa.bbbb; b=\"c\"\r\n"),
        get("/api/v1/keys", "X-Forwarded-For: 192.0.2.1, [2001:db8::1]:80\r\nOrigin: null\r\n"),
        sign_up("Authorization: Bearer lat_AGRJ\r\n", "ada.l+1@ex\u{e4}mple.com"),
        chat("Accept: text/event-stream\r\n", "How do I get a key? \\ud83d\\ude00"),
        post("/api/v1/sandbox/echo", "", r#"{"message":"hello","echo_headers":true}"#),
        post("/api/v1/keys", "Expect: 100-continue\r\n", "{}"),
        post("/agent/auth", "", r#"{"type":"anonymous","label":"price-watcher"}"#),
        post(
            "/mcp",
            "Accept: application/json, text/event-stream\r\n",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}"#,
        ),
        format!(
            "POST /oauth2/token HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic cmVnOnNlYw==\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
            form.len()
        ),
        "POST /api/v1/newsletter HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\
         10\r\n{\"email\":\"a@b.cd\r\n2;x=y\r\n\"}\r\n0\r\nA: b\r\n\r\n"
            .to_owned(),
        "OPTIONS /api/v1/keys HTTP/1.1\r\nHost: localhost\r\nOrigin: https://a.example\r\n\
         Access-Control-Request-Method: POST\r\n\r\n"
            .to_owned(),
    ]
    .into_iter()
    .map(String::into_bytes)
    .collect();
    requests.push([http2::preface(65_535), http2::get(1), http2::get(3)].concat());
    requests
}

pub(super) async fn requests(run: Run) -> Verdict {
    let limits = "default ip keys agents newsletter newsletter-ip assistant assistant-ip keys-all";
    let limits = limits.split(' ');
    let limits: Vec<_> = limits
        .map(|policy| format!("--limit={policy}=off"))
        .collect();
    let limits: Vec<_> = limits.iter().map(String::as_str).collect();
    let trial = Trial::begin(&limits).await;
    let valid = valid();
    let mut random = Random::new(run.seed, "attack-mutations", 0);
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let mut asking = JoinSet::new();
    let mut pace = Pace::of(500);
    for number in 0..run.of(2500, 100_000_u32) {
        pace.step().await;
        let mut request = random.pick(&valid).clone();
        request = random.mutated(&request, &valid);
        request.extend_from_slice(LAST.as_bytes());
        let slot = Arc::clone(&slots).acquire_owned().await.unwrap();
        let host = u8::try_from(number % 200).unwrap();
        let (from, address) = (IpAddr::V4(Ipv4Addr::new(127, 0, 1, host)), trial.address);
        asking.spawn(async move {
            let _slot = slot;
            let mut wire = Wire::connect(from, address).await.unwrap();
            // A refusal may come before all of it is sent.
            let _ = wire.send(&request).await;
            let answers = wire.rest(Duration::from_millis(300)).await;
            let fault = memmem::find(&answers, b"HTTP/1.1 5");
            let (request, said) = (request.escape_ascii(), answers.escape_ascii());
            assert!(fault.is_none(), "mutation {number}: {request}\n{said}");
            // The class of the first answer's status.
            answers.get(b"HTTP/1.1 ".len()).copied()
        });
    }
    let classes = asking.join_all().await;
    // Some get past what refuses most.
    for class in *b"24" {
        let count = classes.iter().filter(|it| **it == Some(class)).count();
        let is_some = count > classes.len() / 100;
        assert!(is_some, "few of class {}", char::from(class));
    }
    trial.end().await
}
