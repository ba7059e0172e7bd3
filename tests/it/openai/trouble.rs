//! An upstream that is slow or full, and a reader that is: deadlines and permits.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hyper::StatusCode;
use landing_api::adapters::model::OpenAiModelClient;
use landing_api::adapters::model::openai::OpenAiSettings;
use landing_api::http::server::ServerLimits;
use landing_api::ports::{AnswerSink, ModelClient, ModelError, NullSink, SinkClosed};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::upstream::{Script, Step, Upstream, chunk};
use super::{address, app_with, ask, ask_for_stream, client, question, settings};
use crate::harness::Setup;
use crate::streaming::ask_on_the_wire;
use crate::transport::{Connection, Server, hello};
use crate::twins::MemoryAnswerSink;

const TIMEOUT: Duration = Duration::from_secs(30);

#[tokio::test(start_paused = true)]
async fn a_deadline_before_the_first_byte_is_refunded_and_one_after_it_is_not() {
    let drip = || {
        let mut script = Script::new(200, "application/json", "{");
        for _ in 0..100 {
            script = script.then(Step::Wait(Duration::from_secs(1)));
            script = script.then(Step::Send(" ".to_owned()));
        }
        script
    };
    let role = chunk(&json!({"role": "assistant"}), None);
    let text = chunk(&json!({"content": "Hi"}), None);
    let comment = Script::new(200, "text/event-stream", ": processing\n\n").then(Step::Hang);
    let blank = Script::new(200, "application/json", "\n\n").then(Step::Hang);
    let head_only = Script::new(200, "application/json", "").then(Step::Hang);
    for (name, script, is_streamed, is_refunded) in [
        ("no head", Script::silent(), false, true),
        ("head only", head_only, false, true),
        ("blanks", blank, false, true),
        ("slow drip", drip(), false, false),
        ("no head for a stream", Script::silent(), true, true),
        ("comments", comment, true, true),
        (
            "first chunk",
            Script::stream([role]).then(Step::Hang),
            true,
            false,
        ),
        (
            "first word",
            Script::stream([text]).then(Step::Hang),
            true,
            false,
        ),
    ] {
        let upstream = Upstream::start([script]).await;
        let model = client(settings(&upstream));
        let app = app_with(model.clone());
        let began = Instant::now();
        let call = if is_streamed { ask_for_stream() } else { ask() };
        let reply = app.send(call).await;
        assert_eq!(
            reply.remaining(),
            if is_refunded { 10 } else { 9 },
            "{name}"
        );
        assert!(began.elapsed() >= TIMEOUT, "{name}");
        assert!(began.elapsed() < TIMEOUT + Duration::from_secs(2), "{name}");
        assert_eq!(model.permits_free(), 4, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_only_lacks_its_end_is_an_answer() {
    let text = chunk(&json!({"content": "Hi"}), Some("stop"));
    let upstream = Upstream::start([Script::stream([text]).then(Step::Hang)]).await;
    let sink = MemoryAnswerSink::default();
    let reply = client(settings(&upstream)).reply(&question(), &sink).await;
    assert_eq!(reply, Ok("Hi".to_owned()));
}

/// A port where nobody listens.
async fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    format!("http://{address}/v1")
}

#[tokio::test]
async fn no_connection_and_no_name_are_refunded() {
    let upstream = Upstream::start([Script::saying("never")]).await;
    for base_url in [
        nowhere().await,
        "http://name.invalid/v1".to_owned(),
        // Plain HTTP where TLS is spoken of.
        upstream.base_url().replace("http:", "https:"),
    ] {
        let settings = OpenAiSettings {
            address: address(&base_url),
            ..settings(&upstream)
        };
        let model = client(settings);
        let app = app_with(model.clone());
        let reply = app.send(ask()).await;
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!((reply.remaining(), reply.header("set-cookie")), (10, None));
        let error = model.reply(&question(), &NullSink).await.unwrap_err();
        assert!(error.to_string().contains("cannot connect"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_not_made_within_five_seconds_is_given_up() {
    // It accepts, and never says a word of TLS.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let upstream = Upstream::start([Script::saying("never")]).await;
    let settings = OpenAiSettings {
        address: super::address(&format!("https://{address}/v1")),
        ..settings(&upstream)
    };
    let began = Instant::now();
    let error = client(settings)
        .reply(&question(), &NullSink)
        .await
        .unwrap_err();
    assert!(matches!(error, ModelError::NotStarted(_)), "{error}");
    assert!(began.elapsed() >= Duration::from_secs(5));
    assert!(began.elapsed() < Duration::from_secs(6));
}

#[tokio::test]
async fn past_the_concurrency_a_turn_is_refused_without_a_charge() {
    let upstream = Upstream::start([Script::silent()]).await;
    let settings = OpenAiSettings {
        concurrency: 1,
        ..settings(&upstream)
    };
    let model = client(settings);
    let setup = Setup {
        model: model.clone(),
        ..Setup::default()
    };
    let server = Server::start(setup, ServerLimits::default()).await;
    let mut first = server.connect().await;
    first.send(hello()).await;
    upstream.wait_until_asked().await;
    let mut second = server.connect().await;
    second.send(hello()).await;
    let (status, head, body) = second.receive().await;
    assert_eq!(status, 503);
    assert!(body.contains("model_unavailable"));
    assert!(head.contains("ratelimit: \"assistant\";r=10"), "{head}");
    assert!(!head.contains("set-cookie"));
    assert_eq!(model.permits_free(), 0);
    // Others are served all the while.
    second
        .send("GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n")
        .await;
    assert_eq!(second.receive().await.0, 200);
}

/// A server before `model`, and a connection that waits for its answer in pieces.
async fn ask_on_a_connection(model: &Arc<OpenAiModelClient>) -> (Server, Connection) {
    let setup = Setup {
        model: model.clone(),
        ..Setup::default()
    };
    let server = Server::start(setup, ServerLimits::default()).await;
    let mut connection = server.connect().await;
    connection.send(ask_on_the_wire()).await;
    (server, connection)
}

#[tokio::test]
async fn a_reader_that_leaves_ends_the_call_and_frees_the_permit() {
    let text = chunk(&json!({"content": "Hi"}), None);
    let upstream = Upstream::start([Script::stream([text]).then(Step::Hang)]).await;
    let model = client(settings(&upstream));
    let (_server, mut connection) = ask_on_a_connection(&model).await;
    assert_eq!(connection.0.read_u8().await.unwrap(), b'H');
    assert_eq!(model.permits_free(), 3);
    drop(connection);
    upstream.ended.acquire().await.unwrap().forget();
    assert_eq!(model.permits_free(), 4);
}

#[tokio::test]
async fn a_reader_that_leaves_before_the_first_piece_ends_the_call_and_frees_the_permit() {
    let text = chunk(&json!({"content": "<thi"}), None);
    for script in [
        Script::silent(),
        // Held back: it may be the beginning of a tag.
        Script::stream([text]).then(Step::Hang),
    ] {
        let upstream = Upstream::start([script]).await;
        let model = client(settings(&upstream));
        let (_server, connection) = ask_on_a_connection(&model).await;
        upstream.wait_until_asked().await;
        assert_eq!(model.permits_free(), 3);
        drop(connection);
        upstream.ended.acquire().await.unwrap().forget();
        assert_eq!(model.permits_free(), 4);
    }
}

#[tokio::test]
async fn a_panic_elsewhere_or_a_dropped_turn_leaves_no_permit_taken() {
    let upstream = Upstream::start([Script::silent()]).await;
    let model = client(settings(&upstream));
    let permit = model.reserve().unwrap();
    let asked = Arc::clone(&model);
    let turn = tokio::spawn(async move {
        let _permit = permit;
        asked.reply(&question(), &NullSink).await
    });
    upstream.wait_until_asked().await;
    assert_eq!(model.permits_free(), 3);
    turn.abort();
    assert!(turn.await.unwrap_err().is_cancelled());
    assert_eq!(model.permits_free(), 4);
}

/// A reader that takes its time over every piece.
struct SlowSink {
    pause: Duration,
    taken: MemoryAnswerSink,
}

#[async_trait]
impl AnswerSink for SlowSink {
    fn is_streamed(&self) -> bool {
        true
    }

    async fn push(&self, text: &str) -> Result<(), SinkClosed> {
        tokio::time::sleep(self.pause).await;
        self.taken.push(text).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_has_the_whole_answer_soon_after_the_deadline_or_an_error() {
    let text = |text: &str| chunk(&json!({"content": text}), None);
    let stop = || chunk(&json!({}), Some("stop"));
    let streamed = Script::stream([text("One "), text("two"), stop()]);
    let at_once = Script::stream([chunk(&json!({"content": "One two"}), Some("stop"))]);
    let held_back = Script::saying("One two");
    for (script, pause, is_whole) in [
        (&streamed, 14, true),
        (&at_once, 33, true),
        (&held_back, 33, true),
        (&streamed, 40, false),
        (&at_once, 40, false),
        (&held_back, 3600, false),
    ] {
        let upstream = Upstream::start([script.clone()]).await;
        let model = client(settings(&upstream));
        let sink = SlowSink {
            pause: Duration::from_secs(pause),
            taken: MemoryAnswerSink::default(),
        };
        let began = Instant::now();
        let reply = model.reply(&question(), &sink).await;
        if is_whole {
            assert_eq!(reply, Ok("One two".to_owned()), "{script:?}");
            assert_eq!(sink.taken.pieces().concat(), "One two");
        } else {
            let error = reply.unwrap_err();
            assert!(matches!(error, ModelError::Started(_)), "{error}");
        }
        assert!(began.elapsed() < TIMEOUT + Duration::from_secs(6));
    }
}

#[tokio::test(start_paused = true)]
async fn past_the_deadline_what_has_come_is_read_no_further() {
    let event = |text| format!("data: {}\n\n", chunk(&json!({"content": text}), None));
    let at_once = event("One ") + &event("two ") + &event("three");
    let upstream = Upstream::start([Script::new(200, "text/event-stream", at_once)]).await;
    let model = client(settings(&upstream));
    let sink = SlowSink {
        pause: TIMEOUT + Duration::from_secs(2),
        taken: MemoryAnswerSink::default(),
    };
    let error = model.reply(&question(), &sink).await.unwrap_err();
    assert!(error.to_string().contains("not whole in time"), "{error}");
    assert_eq!(sink.taken.pieces(), ["One"]);
}

/// Answers one request with these bytes, and hangs up.
async fn hang_up_after(bytes: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            stream.read_buf(&mut request).await.unwrap();
        }
        stream.write_all(bytes.as_bytes()).await.unwrap();
    });
    format!("http://{address}/v1")
}

#[tokio::test]
async fn a_stream_that_only_its_connection_ends_has_to_say_that_it_is_whole() {
    const CLOSED: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n\
                          data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    const DONE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n\
                        data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n\
                        data: [DONE]\n\n";
    const MEASURED: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                            Content-Length: 47\r\n\r\n\
                            data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    let upstream = Upstream::start([]).await;
    for (bytes, is_whole) in [(CLOSED, false), (DONE, true), (MEASURED, true)] {
        let settings = OpenAiSettings {
            address: address(&hang_up_after(bytes).await),
            ..settings(&upstream)
        };
        let reply = client(settings).reply(&question(), &NullSink).await;
        if is_whole {
            assert_eq!(reply, Ok("Hi".to_owned()), "{bytes}");
        } else {
            let Err(ModelError::Unusable(cause)) = reply else {
                panic!("{reply:?}");
            };
            assert!(cause.contains("nothing says that it was whole"), "{cause}");
        }
    }
}
