//! An upstream that is slow or full, and a reader that is: deadlines and permits.

use async_trait::async_trait;
use landing_api::ports::{AnswerSink, SinkClosed};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use super::upstream::{Script, Then, Upstream, chunk, end, piece};
use super::{
    app_with, ask, ask_for_stream, check_refund, client, model, model_with, question, settings_at,
    text,
};
use crate::prelude::*;
use crate::streaming::ask_on_the_wire;
use crate::transport::hello;

const TIMEOUT: Duration = Duration::from_secs(30);

#[tokio::test(start_paused = true)]
async fn a_deadline_before_the_first_byte_is_refunded_and_one_after_it_is_not() {
    let drip = || Script::new(200, "application/json", "{").then(Then::Drip);
    let only = |media_type, body| Script::new(200, media_type, body).then(Then::Hold);
    let comment = only("text/event-stream", ": processing\n\n");
    let role = chunk(&json!({"role": "assistant"}), None);
    let role = Script::stream([role]).then(Then::Hold);
    let word = Script::stream([piece("Hi")]).then(Then::Hold);
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
        let (_upstream, model) = model([script]).await;
        let app = app_with(model.clone());
        let began = Instant::now();
        let reply = app.send(call).await;
        assert_eq!(reply.remaining(), remaining, "{name}");
        assert!(began.elapsed() >= TIMEOUT, "{name}");
        assert!(began.elapsed() < TIMEOUT + Duration::from_secs(2), "{name}");
        assert_eq!(model.permits_free(), 4, "{name}");
    }
}

#[tokio::test]
async fn no_connection_and_no_name_are_refunded() {
    let upstream = Upstream::start([Script::saying("never")]).await;
    for base_url in [
        format!("http://{}/v1", closed_address()),
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
    let (upstream, model) = model_with([Script::silent()], |it| it.concurrency = 1).await;
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
    let text = Script::stream([piece("Hi")]).then(Then::Hold);
    // It may be the beginning of a tag.
    let held_back = Script::stream([piece("<thi")]).then(Then::Hold);
    for (script, is_read) in [(Script::silent(), false), (held_back, false), (text, true)] {
        let (upstream, model) = model([script]).await;
        let (_server, mut connection) = ask_on_a_connection(&model).await;
        upstream.wait_until_asked().await;
        if is_read {
            assert_eq!(connection.0.read_u8().await.unwrap(), b'H');
        }
        assert_eq!(model.permits_free(), 3);
        drop(connection);
        upstream.wait_until_left().await;
        assert_eq!(model.permits_free(), 4);
    }
}

#[tokio::test]
async fn a_panic_elsewhere_or_a_dropped_turn_leaves_no_permit_taken() {
    let (upstream, model) = model([Script::silent()]).await;
    let permit = model.reserve().unwrap();
    let asked = Arc::clone(&model);
    let turn = tokio::spawn(async move {
        let _permit = permit;
        text(&*asked, None).await
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
        sleep(self.pause).await;
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
        let (_upstream, model) = model([script.clone()]).await;
        let sink = SlowSink {
            pause: Duration::from_secs(pause),
            taken: MemoryAnswerSink::default(),
        };
        let began = Instant::now();
        let reply = text(&*model, Some(&sink)).await;
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
    // More than is read at once.
    let piecewise = event("One ") + &format!(":{}\n", "x".repeat(1 << 18)) + "data: [DONE]\n\n";
    for body in [at_once, piecewise] {
        let (_upstream, model) = model([Script::new(200, "text/event-stream", body)]).await;
        let sink = SlowSink {
            pause: TIMEOUT + Duration::from_secs(2),
            taken: MemoryAnswerSink::default(),
        };
        let error = model.reply(&question(), Some(&sink)).await.unwrap_err();
        let cause = error.to_string();
        assert!(cause.contains("not complete in time"), "{cause}");
        assert_eq!(sink.taken.pieces(), ["One"]);
    }
}
