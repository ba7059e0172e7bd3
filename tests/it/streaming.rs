//! The chat as server-sent events: who gets them, what they hold, and what a reader that stalls or
//! leaves costs.

use async_trait::async_trait;
use landing_api::domain::chat::Conversation;
use landing_api::ports::{AnswerSink, ModelClient, ModelReply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc};

use crate::http2::{DATA, END_HEADERS, END_STREAM, HEADERS, field, frame, post};
use crate::openai::server_before;
use crate::openai::upstream::{self, Script, Upstream, piece};
use crate::prelude::*;
use crate::site::render_with;
use crate::transport::hello;

const PATH: &str = "/api/v1/assistant/chat";
const HELLO: &str = r#"{"messages":[{"role":"user","content":"hello"}]}"#;

fn ask() -> Call {
    Call::post(PATH, HELLO).header("accept", "text/event-stream")
}

/// The events of a stream, as name and data. Comments are left out.
pub(crate) fn events(stream: &str) -> Vec<(String, Value)> {
    let events = stream
        .split("\n\n")
        .filter(|event| !event.is_empty() && !event.starts_with(':'));
    let parts = events.map(|event| {
        let (name, data) = event.split_once('\n').unwrap();
        let name = name.strip_prefix("event: ").unwrap().to_owned();
        let data = data.strip_prefix("data: ").unwrap();
        (name, serde_json::from_str(data).unwrap())
    });
    parts.collect()
}

fn events_of(reply: &Reply) -> Vec<(String, Value)> {
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    assert_eq!(reply.header("x-accel-buffering"), Some("no"));
    events(std::str::from_utf8(&reply.body).unwrap())
}

pub(crate) fn joined(events: &[(String, Value)]) -> String {
    let deltas = events.iter().filter(|(name, _)| name == "delta");
    deltas
        .map(|(_, data)| data["text"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn pieces_come_first_and_then_exactly_the_json_answer() {
    let json = TestApp::new().send(Call::post(PATH, HELLO)).await;
    let app = TestApp::new();
    let streamed = app.send(ask()).await;
    let events = events_of(&streamed);
    assert!(events.len() > 3, "{events:?}");
    let (last, deltas) = events.split_last().unwrap();
    assert_eq!(last, &("message".to_owned(), json.json()));
    assert!(deltas.iter().all(|(name, _)| name == "delta"));
    assert_eq!(joined(&events), json.json()["message"]);
    for header in ["ratelimit", "ratelimit-policy", "set-cookie"] {
        assert_eq!(streamed.header(header), json.header(header), "{header}");
    }
    let again = app.send(ask().header("cookie", streamed.cookie())).await;
    assert_eq!(events_of(&again).last().unwrap().1["used"], 2);
}

#[tokio::test]
async fn the_embedded_model_streams_paragraphs() {
    let page = ("keys.md", "# Keys\n\nKeys are free.\n\nAsk for one.\n");
    let site = render_with(&facts(), &[page]);
    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    let app = Setup::with_model(Arc::new(model)).start();
    let call = Call::question("keys").header("accept", "text/event-stream");
    let events = events_of(&app.send(call).await);
    assert_eq!(events.len(), 5, "{events:?}");
    let answer =
        "**Keys**\n\nKeys are free.\n\nAsk for one.\n\nMore: [Keys](http://127.0.0.1:8080/keys)";
    assert_eq!(joined(&events), answer);
}

#[tokio::test]
async fn what_is_refused_before_the_model_begins_is_an_ordinary_problem() {
    let app = Setup::default().limit("assistant-ip", "1/24h").start();
    let bad = Call::post(PATH, "{}").header("accept", "text/event-stream");
    for (outcome, call) in [
        ("400 validation_failed", bad),
        ("401", ask().bearer("x")),
        ("415", ask().typed("text/plain")),
        ("200", ask()),
        ("429 rate_limited", ask()),
    ] {
        app.expect(outcome, call).await;
    }
}

#[tokio::test]
async fn a_model_that_fails_before_its_first_piece_is_an_ordinary_problem() {
    for (error, remaining) in [
        (ModelError::NotStarted("refused".to_owned()), 10),
        (ModelError::Started("broke off".to_owned()), 9),
    ] {
        let model = ScriptedModelClient::new([Err(error)]);
        let app = Setup::with_model(Arc::new(model)).start();
        let reply = app.expect("503 model_unavailable", ask()).await;
        assert_eq!(reply.remaining(), remaining);
        assert_eq!(reply.header("set-cookie").is_some(), remaining == 9);
    }
}

/// A model that does as it is told, step by step.
struct PuppetModelClient {
    steps: tokio::sync::Mutex<mpsc::Receiver<Step>>,
    /// One for each conversation that began.
    begun: Arc<Semaphore>,
    /// One for each conversation that ended, however it ended.
    ended: Arc<Semaphore>,
}

enum Step {
    Say(String),
    Fail,
    Panic,
    Finish,
}

fn puppet() -> (Arc<PuppetModelClient>, mpsc::Sender<Step>) {
    let (sender, steps) = mpsc::channel(64);
    let model = PuppetModelClient {
        steps: tokio::sync::Mutex::new(steps),
        begun: Arc::new(Semaphore::new(0)),
        ended: Arc::new(Semaphore::new(0)),
    };
    (Arc::new(model), sender)
}

struct Ending(Arc<Semaphore>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

#[async_trait]
impl ModelClient for PuppetModelClient {
    fn is_metered(&self) -> bool {
        false
    }

    async fn reply(
        &self,
        _conversation: &Conversation,
        sink: Option<&dyn AnswerSink>,
    ) -> Result<ModelReply, ModelError> {
        let _ending = Ending(self.ended.clone());
        self.begun.add_permits(1);
        let mut said = String::new();
        loop {
            match self.steps.lock().await.recv().await {
                Some(Step::Say(text)) => {
                    if let Some(sink) = sink {
                        sink.push(&text).await?;
                    }
                    said.push_str(&text);
                }
                Some(Step::Fail) => return Err(ModelError::Started("broke off".to_owned())),
                Some(Step::Panic) => panic!("a bug"),
                Some(Step::Finish) | None => return Ok(said.into()),
            }
        }
    }
}

/// A chat turn in pieces, whose model does as it is told.
struct Turn {
    server: Server,
    connection: Connection,
    model: Arc<PuppetModelClient>,
    steps: mpsc::Sender<Step>,
}

impl Turn {
    async fn begin() -> Self {
        let (model, steps) = puppet();
        let setup = Setup::with_model(model.clone()).limit("assistant-ip", "1/24h");
        let server = Server::start(setup, ServerLimits::default()).await;
        let mut connection = server.connect().await;
        connection.send(ask_on_the_wire()).await;
        Self {
            server,
            connection,
            model,
            steps,
        }
    }

    async fn step(&self, step: Step) {
        assert!(self.steps.send(step).await.is_ok(), "the model is gone");
    }

    /// Has the model say `word`, and waits until it has come.
    async fn say(&mut self, word: &str) {
        self.step(say(word)).await;
        let piece = format!(r#"{{"text":"{word}"}}"#);
        self.connection.until(&piece).await;
    }

    /// Has the model finish, and checks what else comes until the connection closes.
    async fn finish(&mut self) {
        self.step(Step::Finish).await;
        let rest = String::from_utf8(self.connection.rest().await).unwrap();
        assert!(rest.contains("event: message"), "{rest}");
        assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
    }
}

/// A chat turn whose answer is wanted in pieces.
pub(crate) fn ask_on_the_wire() -> String {
    hello().replace("Host:", "Accept: text/event-stream\r\nHost:")
}

fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

#[tokio::test]
async fn what_fails_after_the_first_piece_is_a_problem_event_and_stays_charged() {
    for (step, status, code) in [
        (Step::Fail, 503, "model_unavailable"),
        (Step::Panic, 500, "internal_error"),
    ] {
        let (model, steps) = puppet();
        let app = Setup::with_model(model).start();
        for step in [say("Well, "), step] {
            assert!(steps.send(step).await.is_ok());
        }
        let reply = app.send(ask()).await;
        assert_eq!(reply.remaining(), 9);
        let events = events_of(&reply);
        let [(first, _), (last, problem)] = events.as_slice() else {
            panic!("{events:?}");
        };
        assert_eq!((&**first, &**last), ("delta", "problem"));
        assert_eq!(problem["status"], status);
        assert_eq!(problem["code"], code);
        let id = reply.header("x-request-id").unwrap();
        assert_eq!(problem["instance"], format!("urn:uuid:{id}"));
        let quota = Call::get(PATH).header("cookie", reply.cookie());
        assert_eq!(app.send(quota).await.json()["used"], 1);
    }
}

impl Connection {
    /// Reads until `text` has come, and gives everything up to there.
    async fn until(&mut self, text: &str) -> String {
        let mut seen = Vec::new();
        while !seen.ends_with(text.as_bytes()) {
            seen.push(self.0.read_u8().await.unwrap());
        }
        String::from_utf8(seen).unwrap()
    }
}

#[tokio::test]
async fn a_piece_is_there_before_the_next_is_made() {
    let mut turn = Turn::begin().await;
    for word in ["one", "two", "three"] {
        turn.say(word).await;
    }
    turn.step(Step::Finish).await;
    let rest = turn.connection.until("\r\n0\r\n\r\n").await;
    assert!(rest.contains("event: message"), "{rest}");
    // The connection lives on.
    turn.connection.check_health().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_leaves_ends_the_models_work_and_stays_charged() {
    let mut turn = Turn::begin().await;
    turn.step(say("one")).await;
    let head = turn.connection.until("\r\n\r\n").await;
    let cookie = head.split("set-cookie: ").nth(1).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    turn.connection.until("one").await;
    drop(turn.connection);
    // The model waits for its next step, and is not asked to wait any more.
    turn.model.ended.acquire().await.unwrap().forget();
    let mut connection = turn.server.connect().await;
    let quota = format!("GET {PATH} HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\n\r\n");
    connection.send(quota).await;
    let (_, _, body) = connection.receive().await;
    let quota: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(quota, json!({"used": 1, "max": 10, "remaining": 9}));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_leaves_before_the_first_piece_ends_the_models_work_and_stays_charged() {
    let turn = Turn::begin().await;
    turn.model.begun.acquire().await.unwrap().forget();
    drop(turn.connection);
    // Nobody tells it another word.
    turn.model.ended.acquire().await.unwrap().forget();
    let mut connection = turn.server.connect().await;
    connection.send(hello()).await;
    assert_eq!(connection.receive().await.0, 429, "the turn stays charged");
    drop(turn.steps);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_sends_no_more_counts_as_one_that_has_left() {
    let mut turn = Turn::begin().await;
    turn.say("one").await;
    turn.connection.0.get_mut().shutdown().await.unwrap();
    turn.model.ended.acquire().await.unwrap().forget();
    let rest = turn.connection.rest().await;
    assert!(!rest.ends_with(b"0\r\n\r\n"), "it must not look whole");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stalls_is_given_up_and_its_connection_closed() {
    let mut turn = Turn::begin().await;
    let steps = turn.steps.clone();
    // Far more than all the buffers between hold.
    let feeder = tokio::spawn(async move {
        let text = "x".repeat(1 << 20);
        while steps.send(say(&text)).await.is_ok() {}
    });
    turn.model.ended.acquire().await.unwrap().forget();
    let began = Instant::now();
    let rest = turn.connection.rest().await;
    assert!(!rest.ends_with(b"0\r\n\r\n"), "it must not look whole");
    assert!(began.elapsed() <= 2 * ServerLimits::default().idle_deadline);
    feeder.abort();
}

#[tokio::test(start_paused = true)]
async fn a_reader_whose_window_stays_full_is_disconnected_however_silent_the_model_is() {
    let (model, steps) = puppet();
    let server = Server::start(Setup::with_model(model.clone()), ServerLimits::default()).await;
    // Less than the first event.
    let mut connection = Connection::begin(&server, 16).await;
    let block = [post(PATH), field("accept", "text/event-stream")].concat();
    let head = frame(HEADERS, END_HEADERS, 1, &block);
    let body = frame(DATA, END_STREAM, 1, HELLO.as_bytes());
    connection.send([head, body].concat()).await;
    assert!(steps.send(say("one")).await.is_ok());
    let (began, stall) = (Instant::now(), ServerLimits::default().idle_deadline);
    connection.pong().await;
    let elapsed = began.elapsed();
    assert!((stall..=2 * stall).contains(&elapsed), "{elapsed:?}");
    model.ended.acquire().await.unwrap().forget();
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_kept_alive_beyond_the_idle_deadline() {
    let mut turn = Turn::begin().await;
    turn.say("one").await;
    let began = Instant::now();
    while began.elapsed() < 2 * ServerLimits::default().idle_deadline {
        turn.connection.until(":\n\n").await;
    }
    turn.step(Step::Finish).await;
    turn.connection.until("event: message").await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_a_stream_finish_however_silent_it_is() {
    let mut turn = Turn::begin().await;
    turn.say("one").await;
    turn.server.stop();
    sleep(Duration::from_secs(8)).await;
    turn.step(say("two")).await;
    turn.finish().await;
    turn.server.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_stream_for_ever() {
    let one = Script::stream([piece("one")]).then(upstream::Then::Hold);
    let upstream = Upstream::start([one]).await;
    let mut server = server_before(&upstream, ServerLimits::default()).await;
    let mut connection = server.connect().await;
    connection.send(ask_on_the_wire()).await;
    connection.until("one").await;
    let began = Instant::now();
    server.stop();
    // It was read in part, so it stays charged; its end says that it is none.
    let rest = String::from_utf8(connection.rest().await).unwrap();
    assert_present(&rest, &["event: problem", "model_unavailable"]);
    assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
    server.task.await.unwrap();
    assert!(began.elapsed() <= Duration::from_secs(11));
}
