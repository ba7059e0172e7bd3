//! Whatever the description says of an answer, some answer shows: every status with every code, and
//! every header.
//!
//! That answers show nothing else is checked by the harness, on every answer of every test.

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame};
use landing_api::http::request::head::Area;
use landing_api::metrics::workers::{Worker, WorkerHealth};
use landing_api::ports::BlockList as _;

use super::contract::{CONTRACT, Described, object, written};
use crate::prelude::*;
use crate::problems::broken_limiter;
use crate::transport::WaitingModelClient;

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
    let bad = call.clone().bearer("nonsense");
    let mut calls = vec![bad, call.clone().without("host")];
    calls.push(call.clone().bearer("one").header("x-api-key", "another"));
    if operation.headers(200).contains(&"etag") {
        calls.push(call.clone().header("if-none-match", "*"));
    }
    if is_api(&operation.path) {
        let other = call.clone().without("service-api-version");
        calls.push(other.header("service-api-version", "v2"));
    }
    for call in calls {
        seen.send(&app, operation, call).await;
    }
    let with_key = call.clone().bearer(&app.mint().await);
    app.keys.fail_with(Some(on_fire()));
    seen.send(&app, operation, with_key).await;

    let app = Setup::default().limit("default", "1/60s").start();
    for _ in 0..2 {
        seen.send(&app, operation, call.clone()).await;
    }
    for panics in [false, true] {
        let app = Setup::with_limiter(broken_limiter(panics)).start();
        let reply = app.send_unchecked(call.clone()).await;
        seen.note(operation, &reply);
    }
}

fn on_fire() -> StoreError {
    StoreError::Unavailable("on fire".to_owned())
}

/// Services on which the operation fails, or is refused, for reasons that not all operations have. Time must be paused.
async fn failing_services(has: impl Fn(&str) -> bool) -> Vec<TestApp> {
    let app = TestApp::new();
    assert_eq!(app.blocks.add(network(VISITOR), NOW).await, Ok(true));
    let mut apps = vec![app];
    if has("stopping") {
        let app = TestApp::new();
        app.metrics.stopping.cancel();
        apps.push(app);
    }
    if has("worker_failing") {
        let app = TestApp::new();
        let workers = &app.metrics.workers;
        workers.note(Worker::Mail, WorkerHealth::note_end);
        advance(Duration::from_secs(601)).await;
        apps.push(app);
    }
    if has("newsletter_unavailable") {
        let app = TestApp::new();
        app.contacts.fail_with(Some(on_fire()));
        apps.push(app);
    }
    if has("model_unavailable") {
        let gone = Err(ModelError::Started("gone".to_owned()));
        let models: [Arc<dyn ModelClient>; 3] = [
            Arc::new(ScriptedModelClient::new([gone])),
            Arc::new(PanickingModelClient),
            // Past the deadline. Only the assistant is ever that slow.
            WaitingModelClient::new(),
        ];
        apps.extend(models.map(|model| Setup::with_model(model).start()));
    }
    apps
}

/// Calls that the operation answers in ways of its own.
async fn own_calls(app: &TestApp, operation: &Described) -> Vec<Call> {
    let call = || call(operation);
    match &*operation.path {
        // What agents may not register with.
        "/agent/auth" => [
            r#"{"type":"identity_assertion"}"#,
            r#"{"type":"identity_assertion","assertion_type":"verified_email"}"#,
            r#"{"type":"anonymous","requested_credential_type":"api_key"}"#,
        ]
        .map(|body| call().body(body))
        .into(),
        "/agent/auth/revoke" => vec![call().typed("application/logout+jwt")],
        // Messages by their kind, and whom nothing is answered.
        "/mcp" => {
            let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            let foreign = call().header("origin", "https://evil.example");
            let unknown = mcp::modern("nonsense", json!({}));
            vec![call().body(notification), unknown, foreign]
        }
        // A token, and what may be wrong with a request for one.
        "/oauth2/token" => {
            let agent = register(app).await;
            let nobodys = call().body("grant_type=client_credentials");
            let other = format!("grant_type=password&client_id={}", agent.client_id);
            let private = agent.exchange("&scope=private");
            vec![agent.exchange(""), private, call().body(other), nobodys]
        }
        _ => Vec::new(),
    }
}

/// What comes of bodies that are no good: no JSON and no form, nothing that is asked for in either, too much.
fn bad_bodies(operation: &Described) -> [Call; 4] {
    let bodies = [b"%".to_vec(), b"[]".to_vec(), vec![b' '; 400_000]];
    let [neither, nothing, large] = bodies.map(|body| call(operation).body(body));
    [neither, nothing, large, call(operation).typed("text/plain")]
}

/// A call of a path that is not quite the operation's.
fn to_nowhere(operation: &Described) -> Call {
    let path = match operation.path.split_once(['{', '}']) {
        Some((before, rest)) => format!("{before}nothing{}", rest.split_once('}').unwrap().1),
        None => format!("{}/", operation.path),
    };
    call(operation).to(&path)
}

/// What the chat answers in pieces, and when the quota is used up.
async fn see_quota(seen: &mut Seen, operation: &Described) {
    let app = Setup::default().limit("assistant", "1/24h").start();
    let streamed = call(operation).header("accept", "text/event-stream");
    let reply = app.send(streamed).await;
    seen.note(operation, &reply);
    let again = call(operation).header("cookie", reply.cookie());
    seen.send(&app, operation, again).await;
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

/// Sends what the harness cannot.
async fn respond(app: &TestApp, operation: &Described, body: Faulty) -> Reply {
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
    let responding = app.service.respond(&peer, Instant::now(), request);
    let (parts, body) = responding.await.unwrap().into_parts();
    Reply {
        status: parts.status,
        headers: parts.headers,
        body: body.collect().await.unwrap().to_bytes(),
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
    sleep(Duration::from_secs(1)).await;
    let reply = respond(&app, operation, Faulty::Endless(1)).await;
    seen.note(operation, &reply);
}

const CHAT: &str = "/api/v1/assistant/chat";

#[tokio::test(start_paused = true)]
async fn every_status_code_and_header_that_is_described_is_seen() {
    let mut seen = Seen::default();
    for operation in &CONTRACT.operations {
        let has = |code: &str| {
            let mut outcomes = operation.outcomes().into_iter();
            outcomes.any(|(_, known)| known.as_deref() == Some(code))
        };
        see_any(&mut seen, operation).await;
        for app in failing_services(has).await {
            seen.send(&app, operation, call(operation)).await;
        }
        let app = TestApp::new();
        let mut calls = own_calls(&app, operation).await;
        if has("not_found") {
            calls.push(to_nowhere(operation));
        }
        if operation.value.get("requestBody").is_some() {
            calls.extend(bad_bodies(operation));
            see_faulty_bodies(&mut seen, operation).await;
        }
        if has("model_unavailable") {
            see_quota(&mut seen, operation).await;
        }
        for call in calls {
            seen.send(&app, operation, call).await;
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
