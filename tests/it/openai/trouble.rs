//! An upstream that is slow or full, and a reader that is: deadlines and permits.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use landing_api::adapters::model::OpenAiModelClient;
use landing_api::adapters::model::openai::OpenAiSettings;
use landing_api::http::server::ServerLimits;
use landing_api::ports::{AnswerSink, ModelClient, ModelError, SinkClosed};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::upstream::{Script, Step, Upstream, chunk, end, piece};
use super::whole::check_outcome;
use super::{app_with, ask, ask_for_stream, check_refund, client, question, settings, settings_at};
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
    let only = |media_type, body| Script::new(200, media_type, body).then(Step::Hang);
    let comment = only("text/event-stream", ": processing\n\n");
    let role = chunk(&json!({"role": "assistant"}), None);
    let role = Script::stream([role]).then(Step::Hang);
    let word = Script::stream([piece("Hi")]).then(Step::Hang);
    for (name, script, call, remaining) in [
        ("no head", Script::silent(), ask(), 10),
        ("head only", only("application/json", ""), ask(), 10),
        ("blanks", only("application/json", "\n\n"), ask(), 10),
        ("slow drip", drip(), ask(), 9),
        ("no stream", Script::silent(), ask_for_stream(), 10),
        ("comments", comment, ask_for_stream(), 10),
        ("first chunk", role, ask_for_stream(), 9),
        ("first word", word, ask_for_stream(), 9),
    ] {
        let upstream = Upstream::start([script]).await;
        let model = client(settings(&upstream));
        let app = app_with(model.clone());
        let began = Instant::now();
        let reply = app.send(call).await;
        assert_eq!(reply.remaining(), remaining, "{name}");
        assert!(began.elapsed() >= TIMEOUT, "{name}");
        assert!(began.elapsed() < TIMEOUT + Duration::from_secs(2), "{name}");
        assert_eq!(model.permits_free(), 4, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_only_lacks_its_end_is_an_answer() {
    let script = Script::stream([piece("Hi"), end()]).then(Step::Hang);
    let upstream = Upstream::start([script]).await;
    let sink = MemoryAnswerSink::default();
    let reply = client(settings(&upstream))
        .reply(&question(), Some(&sink))
        .await
        .map(|reply| reply.text);
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
        let model = client(settings_at(&base_url));
        check_refund(&app_with(model.clone()).send(ask()).await, &base_url);
        let error = model.reply(&question(), None).await.unwrap_err();
        assert!(error.to_string().contains("cannot connect"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_not_made_within_five_seconds_is_given_up() {
    // It accepts, and never says a word of TLS.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let model = client(settings_at(&format!("https://{address}/v1")));
    let began = Instant::now();
    let error = model.reply(&question(), None).await.unwrap_err();
    assert!(matches!(error, ModelError::NotStarted(_)), "{error}");
    assert!(began.elapsed() >= Duration::from_secs(5));
    assert!(began.elapsed() < Duration::from_secs(6));
}

#[tokio::test]
async fn past_the_concurrency_a_turn_is_refused_without_a_charge() {
    let upstream = Upstream::start([Script::silent()]).await;
    let model = client(OpenAiSettings {
        concurrency: 1,
        ..settings(&upstream)
    });
    let setup = Setup::with_model(model.clone());
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
    let setup = Setup::with_model(model.clone());
    let server = Server::start(setup, ServerLimits::default()).await;
    let mut connection = server.connect().await;
    connection.send(ask_on_the_wire()).await;
    (server, connection)
}

#[tokio::test]
async fn a_reader_that_leaves_ends_the_call_and_frees_the_permit() {
    let text = Script::stream([piece("Hi")]).then(Step::Hang);
    // It may be the beginning of a tag.
    let held_back = Script::stream([piece("<thi")]).then(Step::Hang);
    for (script, is_read) in [(Script::silent(), false), (held_back, false), (text, true)] {
        let upstream = Upstream::start([script]).await;
        let model = client(settings(&upstream));
        let (_server, mut connection) = ask_on_a_connection(&model).await;
        upstream.wait_until_asked().await;
        if is_read {
            assert_eq!(connection.0.read_u8().await.unwrap(), b'H');
        }
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
        asked.reply(&question(), None).await.map(|reply| reply.text)
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
    async fn push(&self, text: &str) -> Result<(), SinkClosed> {
        tokio::time::sleep(self.pause).await;
        self.taken.push(text).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_has_the_whole_answer_soon_after_the_deadline_or_an_error() {
    let streamed = Script::stream([piece("One "), piece("two"), end()]);
    let at_once = chunk(&json!({"content": "One two"}), Some("stop"));
    let at_once = Script::stream([at_once]);
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
        let reply = model
            .reply(&question(), Some(&sink))
            .await
            .map(|reply| reply.text);
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
    let event = |text| format!("data: {}\n\n", piece(text));
    let at_once = event("One ") + &event("two ") + &event("three");
    let upstream = Upstream::start([Script::new(200, "text/event-stream", at_once)]).await;
    let model = client(settings(&upstream));
    let sink = SlowSink {
        pause: TIMEOUT + Duration::from_secs(2),
        taken: MemoryAnswerSink::default(),
    };
    let error = model.reply(&question(), Some(&sink)).await.unwrap_err();
    assert!(
        error.to_string().contains("not complete in time"),
        "{error}"
    );
    assert_eq!(sink.taken.pieces(), ["One"]);
}

/// Answers one request with these bytes, and hangs up.
async fn hang_up_after(bytes: String) -> String {
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
    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream";
    const HI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    let length = format!("\r\nContent-Length: {}", HI.len());
    for (length, more, is_whole) in [
        ("", "", false),
        ("", "data: [DONE]\n\n", true),
        (&length, "", true),
    ] {
        let bytes = format!("{HEAD}{length}\r\n\r\n{HI}{more}");
        let model = client(settings_at(&hang_up_after(bytes).await));
        let reply = model.reply(&question(), None).await.map(|reply| reply.text);
        if is_whole {
            assert_eq!(reply, Ok("Hi".to_owned()), "{length:?} {more:?}");
        } else {
            let cause = "may be incomplete";
            check_outcome(&reply, "unusable", cause, "no end");
        }
    }
}
