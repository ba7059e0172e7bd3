//! What the pages answer while the model is away, and what they do not.

use super::upstream::{Script, Then, Upstream, chunk, piece};
use super::{app_with, ask, ask_for_stream, check_refund, client, model_with, settings};
use crate::prelude::*;
use crate::streaming::{events, joined};

const AWAY: &str = "Our assistant\u{2019}s language model is unavailable right now. This answer comes from \
                    a search of our site and doesn\u{2019}t count towards your limit.\n\n";
/// What is asked, and how the answer begins.
const FIRST_LINES: &str = "
How much does it cost? | Our assistant’s language model is unavailable
Was kostet das?        | Das Sprachmodell unseres Assistenten ist gerade nicht
Combien ça coûte ?     | Le modèle de langage de notre assistant est
¿Cuánto cuesta?        | El modelo de lenguaje de nuestro asistente no
";
const UNMEASURED: &str = "1000000/60s";

fn before(model: Arc<OpenAiModelClient>) -> Setup {
    let site = render(&facts());
    let pages = PassageModelClient::new(&site.passages, &site.assistant_texts).as_fallback();
    let setup = Setup {
        model_fallback: Some(Arc::new(pages)),
        ..Setup::with_model(model)
    };
    setup.limit("default", UNMEASURED).limit("ip", UNMEASURED)
}

fn before_upstream(upstream: &Upstream) -> Setup {
    before(client(settings(upstream)))
}

/// The JSON of an answer, streamed or not.
fn message(reply: &Reply) -> Value {
    if reply.header("content-type") != Some("text/event-stream") {
        return reply.json();
    }
    let events = events(reply.text());
    let (name, message) = events.last().unwrap();
    assert_eq!(name, "message");
    assert_eq!(message["message"], joined(&events));
    message.clone()
}

fn check_fallback(reply: &Reply, about: &str) {
    assert_eq!(reply.status, StatusCode::OK, "{about}");
    let message = message(reply);
    let text = message["message"].as_str().unwrap();
    assert!(text.starts_with(AWAY), "{about}: {text}");
    assert!(text.len() > AWAY.len(), "{about}");
    assert_eq!(message["used"], 0, "{about}");
    assert_eq!(message["remaining"], 10, "{about}");
    assert_eq!(reply.policy(), "assistant", "{about}");
    assert_eq!(reply.remaining(), 10, "{about}");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_away_is_fallback_cause_and_nobody_pays() {
    let empty = json!({"content": ""});
    for script in [
        Script::dropped(),
        Script::silent(),
        Script::json(200, &json!({})).then(Then::Close),
        Script::json(401, &json!({})),
        Script::json(429, &json!({})),
        Script::json(500, &json!({})),
        Script::new(502, "text/html", "<h1>502</h1>"),
        Script::new(200, "text/html", "<h1>Hello</h1>"),
        Script::message(&empty, "stop"),
        Script::stream([chunk(&json!({"role": "assistant"}), None)]).then(Then::Close),
    ] {
        let about = format!("{script:?}");
        let upstream = Upstream::start([script]).await;
        let app = before_upstream(&upstream).start();
        for call in [ask(), ask_for_stream()] {
            check_fallback(&app.send(call).await, &about);
        }
        assert_eq!(upstream.requests().len(), 2, "{about}");
        let usual = app_with(client(settings(&upstream)));
        for call in [ask(), ask_for_stream()] {
            check_refund(&usual.send(call).await, &about);
        }
        // Once it is back it answers, and counts.
        upstream.script([Script::saying("Hello.")]);
        let reply = app.send(ask()).await;
        assert_eq!(reply.json()["message"], "Hello.", "{about}");
        assert_eq!(reply.remaining(), 9, "{about}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_had_begun_or_filtered_is_not_fallback_cause() {
    let begun = Script::stream([piece("Hi")]);
    let filtered = json!({"error": {"code": "content_filter"}});
    let filtered = Script::json(400, &filtered);
    let one_byte = Script::new(200, "application/json", "{").then(Then::Hold);
    for (script, call) in [
        (begun.clone().then(Then::Close), ask_for_stream()),
        (begun.then(Then::Hold), ask_for_stream()),
        (filtered.clone(), ask_for_stream()),
        (filtered, ask()),
        (one_byte, ask()),
    ] {
        let about = format!("{script:?}");
        let upstream = Upstream::start([script]).await;
        let reply = before_upstream(&upstream).start().send(call).await;
        let body = reply.text();
        assert!(body.contains("model_unavailable"), "{about}: {body}");
        assert!(
            !body.contains("is unavailable right now"),
            "{about}: {body}"
        );
        assert_eq!(reply.remaining(), 9, "{about}");
    }
}

#[tokio::test]
async fn the_first_line_is_in_the_language_of_the_question() {
    let upstream = Upstream::start([Script::dropped()]).await;
    let app = before_upstream(&upstream).start();
    for [asked, begins] in rows(FIRST_LINES) {
        let reply = app.send(Call::question(asked)).await;
        let json = reply.json();
        let text = json["message"].as_str().unwrap();
        let (line, answer) = text.split_once("\n\n").unwrap();
        assert!(line.starts_with(begins), "{asked}: {text}");
        let is_of_pages = answer.contains("/help") || answer.contains("/docs#");
        assert!(is_of_pages, "{asked}: {text}");
    }
}

#[tokio::test]
async fn a_model_without_a_place_left_is_fallback_cause() {
    let (upstream, model) = model_with([Script::silent()], |it| it.concurrency = 1).await;
    let app = before(Arc::clone(&model))
        .limit("assistant-ip", "1/24h")
        .start();
    let permit = model.reserve().unwrap();
    for turn in 0..5 {
        check_fallback(&app.send(ask()).await, &format!("turn {turn}"));
    }
    drop(permit);
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn a_used_up_limit_is_a_429_whatever_the_model_does() {
    let upstream = Upstream::start([Script::saying("Hello."), Script::dropped()]).await;
    let app = before_upstream(&upstream)
        .limit("assistant", "1/24h")
        .limit("assistant-ip", "7/24h")
        .start();
    let cookie = app.send(ask()).await.cookie();
    let known = || ask().header("cookie", &cookie);
    assert_eq!(app.send(known()).await.code(), "assistant_quota_exhausted");
    // Five are tried, and count by address; then the model is left alone, and nothing counts.
    for _ in 0..12 {
        app.expect("200", ask()).await;
    }
    assert_eq!(upstream.requests().len(), 1 + 5);
    assert_eq!(app.send(known()).await.code(), "assistant_quota_exhausted");
    let streamed = known().header("accept", "text/event-stream");
    assert_eq!(app.send(streamed).await.code(), "assistant_quota_exhausted");
    // Each question that is tried counts for the network.
    let app = before_upstream(&upstream)
        .limit("assistant-ip", "2/24h")
        .start();
    for expected in [200, 200, 429, 429] {
        assert_eq!(app.send(ask()).await.status, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_the_model_costs_no_time() {
    let upstream = Upstream::start([Script::silent()]).await;
    let app = before_upstream(&upstream).start();
    for _ in 0..5 {
        app.send(ask()).await;
    }
    let began = Instant::now();
    check_fallback(&app.send(ask_for_stream()).await, "left alone");
    assert!(began.elapsed() < Duration::from_secs(1));
}
