//! Whatever the description says of an answer, some answer shows: every status with every code, and
//! every header.
//!
//! That answers show nothing else is checked by the harness, on every answer of every test.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame};
use hyper::{Method, Request};
use landing_api::domain::chat::Conversation;
use landing_api::http::request::area::Area;
use landing_api::metrics::workers::{Worker, WorkerHealth};
use landing_api::ports::{
    AnswerSink, BlockList as _, ModelClient, ModelError, ModelReply, StoreError,
};
use serde_json::json;
use tokio::time::Instant;

use super::contract::{CONTRACT, Described, object, written};
use crate::contracts::block_list::network;
use crate::harness::{Call, NOW, PanickingModelClient, Reply, Setup, TestApp, VISITOR};
use crate::problems::broken_limiter;
use crate::twins::ScriptedModelClient;

/// What answers have shown so far.
#[derive(Default)]
struct Seen {
    outcomes: BTreeSet<(String, u16, Option<String>)>,
    headers: BTreeMap<(String, u16), BTreeSet<String>>,
}

impl Seen {
    fn note(&mut self, operation: &Described, reply: &Reply) {
        let status = reply.status.as_u16();
        // Errors of MCP's own protocol are no problems.
        let is_problem = reply.header("content-type") == Some("application/problem+json");
        assert!(is_problem || status < 400 || operation.path == "/mcp");
        let code = is_problem.then(|| reply.code());
        if let Some(code) = &code {
            let (problem, example) = (reply.json(), operation.example(status, code));
            for member in ["title", "status", "code", "resolution", "error"] {
                assert_eq!(problem[member], example[member], "{}", operation.name());
            }
        }
        self.outcomes.insert((operation.name(), status, code));
        let names = reply.headers.keys().map(ToString::to_string);
        let headers = self.headers.entry((operation.name(), status)).or_default();
        headers.extend(names);
    }

    /// Sends a call and notes what came of it.
    async fn send(&mut self, app: &TestApp, operation: &Described, call: Call) {
        let reply = app.send(call).await;
        self.note(operation, &reply);
    }
}

/// The first example of its body, as it is sent, and its media type.
fn body(operation: &Described) -> Option<(String, &str)> {
    let (media_type, content) = object(&operation.value["requestBody"]["content"]).next()?;
    let (_, example) = object(&content["examples"]).next()?;
    Some((written(&example["value"], media_type), media_type))
}

fn is_api(path: &str) -> bool {
    Area::of(path) == Area::Api
}

/// A call that succeeds, and asks for the version wherever that means something.
fn call(operation: &Described) -> Call {
    let call = match body(operation) {
        Some((body, media_type)) => Call::post(&operation.path, body).typed(media_type),
        None => Call::new(operation.method.clone(), &operation.path),
    };
    if is_api(&operation.path) {
        call.header("service-api-version", "v1")
    } else {
        call
    }
}

/// What any operation answers, credentials and limits being what they are.
async fn see_any(seen: &mut Seen, operation: &Described) {
    let app = TestApp::new();
    let call = call(operation);
    seen.send(&app, operation, call.clone()).await;
    for media_type in operation.media_types() {
        let reply = app.send(call.clone().header("accept", media_type)).await;
        // The client of the example is nobody's, so its token request fails.
        if reply.status.is_success() {
            let sent = reply.header("content-type").unwrap().split(';').next();
            assert_eq!(sent, Some(media_type), "{}", operation.name());
        }
    }
    if operation.headers(200).contains(&"etag") {
        let call = call.clone().header("if-none-match", "*");
        seen.send(&app, operation, call).await;
    }
    seen.send(&app, operation, call.clone().bearer("nonsense"))
        .await;
    seen.send(&app, operation, call.clone().without("host"))
        .await;
    let conflicting = call.clone().bearer("one").header("x-api-key", "another");
    seen.send(&app, operation, conflicting).await;
    if is_api(&operation.path) {
        let other = call.clone().without("service-api-version");
        let other = other.header("service-api-version", "v2");
        seen.send(&app, operation, other).await;
    }
    let key = app.send(Call::post("/api/v1/keys", "")).await.json()["api_key"].clone();
    app.keys
        .fail_with(Some(StoreError::Unavailable("on fire".to_owned())));
    let with_key = call.clone().bearer(key.as_str().unwrap());
    seen.send(&app, operation, with_key).await;

    let app = Setup::default().limit("default", "1/60s").start();
    for _ in 0..2 {
        seen.send(&app, operation, call.clone()).await;
    }
}

async fn see_blocked(seen: &mut Seen, operation: &Described) {
    let app = TestApp::new();
    let visitor = network(VISITOR);
    assert_eq!(app.blocks.add(visitor, NOW).await, Ok(true));
    seen.send(&app, operation, call(operation)).await;
}

/// What comes of a worker that has failed for ten minutes.
async fn see_failing_worker(seen: &mut Seen, operation: &Described) {
    let app = TestApp::new();
    app.metrics
        .workers
        .note(Worker::Mail, WorkerHealth::note_end);
    tokio::time::advance(Duration::from_secs(601)).await;
    seen.send(&app, operation, call(operation)).await;
}

/// What comes of bodies that are no good.
async fn see_bodies(seen: &mut Seen, operation: &Described) {
    let app = TestApp::new();
    // No JSON and no form; nothing that is asked for in either; too much.
    for body in [b"%".to_vec(), b"[]".to_vec(), vec![b' '; 400_000]] {
        seen.send(&app, operation, call(operation).body(body)).await;
    }
    let text = call(operation).typed("text/plain");
    seen.send(&app, operation, text).await;
}

/// What comes of a path that is not quite the operation's.
async fn see_not_found(seen: &mut Seen, operation: &Described) {
    let path = match operation.path.split_once(['{', '}']) {
        Some((before, rest)) => format!("{before}nothing{}", rest.split_once('}').unwrap().1),
        None => format!("{}/", operation.path),
    };
    let mut call = Call::new(operation.method.clone(), &path);
    if is_api(&path) {
        call = call.header("service-api-version", "v1");
    }
    seen.send(&TestApp::new(), operation, call).await;
}

/// What the chat answers for reasons of its own.
async fn see_chat(seen: &mut Seen, operation: &Described) {
    let call = call(operation);
    let app = Setup::default().limit("assistant", "1/24h").start();
    let streamed = call.clone().header("accept", "text/event-stream");
    let reply = app.send(streamed).await;
    seen.note(operation, &reply);
    let again = call.clone().header("cookie", reply.cookie());
    seen.send(&app, operation, again).await;
    let failing = Arc::new(ScriptedModelClient::new([Err(ModelError::Started(
        "gone".to_owned(),
    ))]));
    for model in [
        failing as Arc<dyn ModelClient>,
        Arc::new(PanickingModelClient),
    ] {
        let app = Setup {
            model,
            ..Setup::default()
        };
        seen.send(&app.start(), operation, call.clone()).await;
    }
}

async fn see_newsletter(seen: &mut Seen, operation: &Described) {
    let app = TestApp::new();
    let failure = StoreError::Unavailable("on fire".to_owned());
    app.contacts.fail_with(Some(failure));
    seen.send(&app, operation, call(operation)).await;
}

/// What agents may not register with.
async fn see_registration(seen: &mut Seen, operation: &Described) {
    let app = TestApp::new();
    for body in [
        r#"{"type":"identity_assertion"}"#,
        r#"{"type":"identity_assertion","assertion_type":"verified_email"}"#,
        r#"{"type":"anonymous","requested_credential_type":"api_key"}"#,
    ] {
        seen.send(&app, operation, call(operation).body(body)).await;
    }
}

async fn see_logout_token(seen: &mut Seen, operation: &Described) {
    let call = call(operation).typed("application/logout+jwt");
    seen.send(&TestApp::new(), operation, call).await;
}

/// What MCP answers by the kind of a message, and to whom it answers nothing.
async fn see_messages(seen: &mut Seen, operation: &Described) {
    const NEWEST: &str = "2026-07-28";
    let app = TestApp::new();
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let unknown = json!({ "jsonrpc": "2.0", "id": 1, "method": "nonsense", "params": { "_meta": {
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    let unknown = call(operation)
        .body(unknown.to_string())
        .header("mcp-protocol-version", NEWEST)
        .header("mcp-method", "nonsense");
    for call in [
        call(operation).body(notification),
        unknown,
        call(operation).header("origin", "https://evil.example"),
    ] {
        seen.send(&app, operation, call).await;
    }
}

/// A token, and what may be wrong with a request for one.
async fn see_token(seen: &mut Seen, operation: &Described) {
    let app = TestApp::new();
    let registration = app
        .send(Call::post("/agent/auth", r#"{"type":"anonymous"}"#))
        .await
        .json();
    let (id, secret) = (&registration["client_id"], &registration["client_secret"]);
    let client = format!(
        "client_id={}&client_secret={}",
        id.as_str().unwrap(),
        secret.as_str().unwrap()
    );
    for body in [
        format!("grant_type=client_credentials&{client}"),
        format!("grant_type=client_credentials&{client}&scope=private"),
        format!("grant_type=password&{client}"),
        "grant_type=client_credentials".to_owned(),
    ] {
        seen.send(&app, operation, call(operation).body(body)).await;
    }
}

/// Sends what the harness cannot, or what it may not check: without a limiter there are no numbers.
async fn respond<B>(app: &TestApp, operation: &Described, body: B) -> Reply
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut request = Request::builder()
        .method(operation.method.clone())
        .uri(operation.path.clone())
        .header("host", "a");
    if is_api(&operation.path) {
        request = request.header("service-api-version", "v1");
    }
    let request = request.body(body).unwrap();
    let peer = VISITOR.parse().unwrap();
    let peer = app.service.peer(peer);
    let response = app
        .service
        .respond(&peer, Instant::now(), request)
        .await
        .unwrap();
    let (parts, body) = response.into_parts();
    Reply {
        status: parts.status,
        headers: parts.headers,
        body: body.collect().await.unwrap().to_bytes(),
    }
}

async fn see_broken_limiter(seen: &mut Seen, operation: &Described) {
    for panics in [false, true] {
        let app = Setup {
            limiter: broken_limiter(panics),
            ..Setup::default()
        }
        .start();
        let body = body(operation).map(|(body, _)| body);
        let body = Full::new(Bytes::from(body.unwrap_or_default()));
        let reply = respond(&app, operation, body).await;
        seen.note(operation, &reply);
    }
}

async fn see_stop(seen: &mut Seen, operation: &Described) {
    let app = TestApp::new();
    app.metrics.stopping.cancel();
    seen.send(&app, operation, call(operation)).await;
}

/// A body that is no body.
enum Faulty {
    /// It breaks off.
    Broken,
    /// It begins with so many bytes, and never ends.
    Endless(usize),
}

impl Body for Faulty {
    type Data = Bytes;
    type Error = String;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        match &mut *self {
            Self::Broken => Poll::Ready(Some(Err("broken off".to_owned()))),
            Self::Endless(0) => Poll::Pending,
            Self::Endless(bytes) => {
                let bytes = Bytes::from(vec![b' '; std::mem::take(bytes)]);
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
        }
    }
}

/// What comes of bodies that break off, never end, or come when there is no room. Time must be
/// paused.
async fn see_faulty_bodies(seen: &mut Seen, operation: &'static Described) {
    // More than the room of a network takes with their heads.
    const LARGE: [usize; 50] = [300 * 1024; 50];
    let app = Arc::new(TestApp::new());
    for faulty in [Faulty::Broken, Faulty::Endless(1)] {
        seen.note(operation, &respond(&app, operation, faulty).await);
    }
    let chat = CONTRACT.find(&Method::POST, CHAT).unwrap();
    // The last bytes of the room go to heads of the same size.
    let large = LARGE.map(|bytes| (chat, bytes));
    for (operation, bytes) in large.into_iter().chain([(operation, 1); 100]) {
        let app = Arc::clone(&app);
        tokio::spawn(async move { respond(&app, operation, Faulty::Endless(bytes)).await });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let reply = respond(&app, operation, Faulty::Endless(1)).await;
    seen.note(operation, &reply);
}

const CHAT: &str = "/api/v1/assistant/chat";

/// A model that never answers.
struct SilentModelClient;

#[async_trait::async_trait]
impl ModelClient for SilentModelClient {
    fn is_metered(&self) -> bool {
        false
    }

    async fn reply(
        &self,
        _conversation: &Conversation,
        _sink: Option<&dyn AnswerSink>,
    ) -> Result<ModelReply, ModelError> {
        std::future::pending().await
    }
}

/// The deadline of an operation. Only the assistant is ever that slow.
async fn see_timeout(seen: &mut Seen, operation: &Described) {
    let app = Setup {
        model: Arc::new(SilentModelClient),
        ..Setup::default()
    };
    seen.send(&app.start(), operation, call(operation)).await;
}

#[tokio::test(start_paused = true)]
async fn every_status_code_and_header_that_is_described_is_seen() {
    let mut seen = Seen::default();
    for operation in &CONTRACT.operations {
        let has = |code: &str| {
            let mut outcomes = operation.outcomes().into_iter();
            outcomes.any(|(_, known)| known.as_deref() == Some(code))
        };
        see_any(&mut seen, operation).await;
        see_broken_limiter(&mut seen, operation).await;
        see_blocked(&mut seen, operation).await;
        if operation.value.get("requestBody").is_some() {
            see_bodies(&mut seen, operation).await;
            see_faulty_bodies(&mut seen, operation).await;
        }
        if has("stopping") {
            see_stop(&mut seen, operation).await;
        }
        if has("worker_failing") {
            see_failing_worker(&mut seen, operation).await;
        }
        if has("not_found") {
            see_not_found(&mut seen, operation).await;
        }
        if operation.path == "/agent/auth" {
            see_registration(&mut seen, operation).await;
        }
        if operation.path == "/mcp" {
            see_messages(&mut seen, operation).await;
        }
        if has("issuer_not_enabled") {
            see_logout_token(&mut seen, operation).await;
        }
        if has("invalid_client") {
            see_token(&mut seen, operation).await;
        }
        if has("newsletter_unavailable") {
            see_newsletter(&mut seen, operation).await;
        }
        if has("model_unavailable") {
            see_chat(&mut seen, operation).await;
            see_timeout(&mut seen, operation).await;
        }
    }
    let mut described = BTreeSet::new();
    for operation in &CONTRACT.operations {
        let waits_long = operation.path.ends_with("/chat") && operation.method == Method::POST;
        for (status, code) in operation.outcomes() {
            let name = match status {
                // Past the door only the chat can be made to fail so.
                500 => format!("POST {CHAT}"),
                _ => operation.name(),
            };
            for header in operation.headers(status) {
                let is_seen = [operation.name(), name.clone()]
                    .into_iter()
                    .any(|name| seen.headers[&(name, status)].contains(header));
                assert!(is_seen, "{name} {status} {header}");
            }
            // Nothing but the assistant ever waits so long.
            if waits_long || code.as_deref() != Some("handler_timeout") {
                described.insert((operation.name(), status, code));
            }
        }
    }
    let unseen: Vec<_> = described.difference(&seen.outcomes).collect();
    assert!(
        unseen.is_empty(),
        "described, but not seen: make them come in tests/it/openapi_contract/answers.rs, or take them \
         out of data/openapi.yaml: {unseen:#?}"
    );
}
