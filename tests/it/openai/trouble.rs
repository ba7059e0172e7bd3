//! An upstream that is slow, dead or full: deadlines, the breaker, places.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use landing_api::adapters::memory::MemoryDeltas;
use landing_api::adapters::model::openai::OpenAiSettings;
use landing_api::http::server::ServerLimits;
use landing_api::ports::{ModelClient, ModelError, Unread};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::upstream::{Script, Step, Upstream, chunk};
use super::{app, app_with, ask, ask_for_stream, client, question, settings};
use crate::harness::Setup;
use crate::transport::{Server, hello};

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
        assert_eq!(model.places_free(), 4, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_only_lacks_its_end_is_an_answer() {
    let text = chunk(&json!({"content": "Hi"}), Some("stop"));
    let upstream = Upstream::start([Script::stream([text]).then(Step::Hang)]).await;
    let deltas = MemoryDeltas::default();
    let reply = client(settings(&upstream))
        .reply(&question(), &deltas)
        .await;
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
            base_url,
            ..settings(&upstream)
        };
        let model = client(settings);
        let app = app_with(model.clone());
        let reply = app.send(ask()).await;
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!((reply.remaining(), reply.header("set-cookie")), (10, None));
        let error = model.reply(&question(), &Unread).await.unwrap_err();
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
        base_url: format!("https://{address}/v1"),
        ..settings(&upstream)
    };
    let began = Instant::now();
    let error = client(settings)
        .reply(&question(), &Unread)
        .await
        .unwrap_err();
    assert!(matches!(error, ModelError::NotStarted(_)), "{error}");
    assert!(began.elapsed() >= Duration::from_secs(5));
    assert!(began.elapsed() < Duration::from_secs(6));
}

#[tokio::test]
async fn a_dead_upstream_is_left_alone() {
    let upstream = Upstream::start([Script::dropped()]).await;
    let app = app(&upstream);
    for _ in 0..8 {
        let reply = app.send(ask()).await;
        assert_eq!(
            (reply.code(), reply.remaining()),
            ("model_unavailable".to_owned(), 10)
        );
    }
    assert_eq!(upstream.asked().len(), 5, "after five the breaker is open");
}

#[tokio::test]
async fn an_account_that_is_used_up_is_not_asked_again() {
    let broke = json!({"error": {"message": "pay", "type": "insufficient_quota", "code": "insufficient_quota"}});
    for script in [
        Script::json(429, &broke),
        Script::json(200, &broke),
        Script::json(402, &json!({"error": {"message": "Insufficient Balance"}})),
        Script::json(429, &json!({"error": {"message": "slow down"}})).header("retry-after", "7"),
    ] {
        let upstream = Upstream::start([script.clone()]).await;
        let app = app(&upstream);
        for _ in 0..3 {
            let reply = app.send(ask()).await;
            assert_eq!(
                (reply.code(), reply.remaining()),
                ("model_unavailable".to_owned(), 10)
            );
            assert_eq!(reply.header("retry-after"), None, "theirs is not ours");
        }
        assert_eq!(upstream.asked().len(), 1, "{script:?}");
    }
    // Slow down, but for how long nobody says: the next turn tries.
    let upstream = Upstream::start([Script::json(429, &json!({"error": "slow down"}))]).await;
    let app = app(&upstream);
    for _ in 0..3 {
        app.send(ask()).await;
    }
    assert_eq!(upstream.asked().len(), 3);
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
    assert_eq!(model.places_free(), 0);
    // Others are served all the while.
    second
        .send("GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n")
        .await;
    assert_eq!(second.receive().await.0, 200);
}

#[tokio::test]
async fn a_reader_that_leaves_ends_the_call_and_frees_the_place() {
    let text = chunk(&json!({"content": "Hi"}), None);
    let upstream = Upstream::start([Script::stream([text]).then(Step::Hang)]).await;
    let model = client(settings(&upstream));
    let setup = Setup {
        model: model.clone(),
        ..Setup::default()
    };
    let server = Server::start(setup, ServerLimits::default()).await;
    let mut connection = server.connect().await;
    let ask = hello().replace("Host:", "Accept: text/event-stream\r\nHost:");
    connection.send(ask).await;
    assert_eq!(connection.0.read_u8().await.unwrap(), b'H');
    assert_eq!(model.places_free(), 3);
    drop(connection);
    upstream.ended.acquire().await.unwrap().forget();
    assert_eq!(model.places_free(), 4);
}

#[tokio::test]
async fn a_panic_elsewhere_or_a_dropped_turn_leaves_no_place_taken() {
    let upstream = Upstream::start([Script::silent()]).await;
    let model = client(settings(&upstream));
    let place = model.reserve().unwrap();
    let asked = Arc::clone(&model);
    let turn = tokio::spawn(async move {
        let _place = place;
        asked.reply(&question(), &Unread).await
    });
    upstream.wait_until_asked().await;
    assert_eq!(model.places_free(), 3);
    turn.abort();
    assert!(turn.await.unwrap_err().is_cancelled());
    assert_eq!(model.places_free(), 4);
}
