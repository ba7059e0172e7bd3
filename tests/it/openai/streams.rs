//! Every form of a streamed answer, and of one that breaks.

use landing_api::ports::{ModelClient, ModelError};
use serde_json::json;

use super::upstream::{Script, Then, Upstream, chunk, end, piece};
use super::whole::{check_outcome, remaining};
use super::{app_with, ask_for_stream, client, model, model_with, settings};
use crate::streaming::{events, joined};
use crate::twins::MemoryAnswerSink;

fn done() -> String {
    "[DONE]".to_owned()
}

fn role() -> String {
    chunk(&json!({"role": "assistant", "content": ""}), None)
}

/// A stream of these pieces of text and its end.
fn said(pieces: &[&str]) -> Script {
    Script::stream(pieces.iter().copied().map(piece).chain([end()]))
}

/// A stream that ends in an error, after this text.
fn refused(text: Option<&str>, error: &str) -> Script {
    let error = format!(r#"{{"choices": [], "error": {error}}}"#);
    Script::stream(text.map(piece).into_iter().chain([error]))
}

#[tokio::test]
async fn every_stream_that_is_an_answer() {
    let usage = json!({"choices": [], "usage": {"total_tokens": 3}}).to_string();
    let usual = Script::stream([role(), piece("Hello. "), end(), usage, done()]);
    let reasoned = ["reasoning_content", "reasoning"];
    let reasoned = reasoned.map(|name| chunk(&json!({ name: "secret" }), None));
    let reasoned = Script::stream(reasoned.into_iter().chain([piece("Said")]));
    let empty_error = json!({"choices": [{"delta": {"content": "Hi"}}], "error": ""}).to_string();
    let no_error = json!({"choices": [], "error": null}).to_string();
    let refusal = chunk(&json!({"refusal": "No."}), Some("stop"));
    let unclosed = Script::stream([piece("Hi"), end(), done()]).then(Then::Hold);
    for (script, answer) in [
        (usual, "Hello."),
        (said(&["Hel", "lo. ", "Bye."]), "Hello. Bye."),
        (Script::stream([piece("Hi")]), "Hi"),
        (said(&["Hi"]).then(Then::Close), "Hi"),
        (unclosed, "Hi"),
        (Script::saying("Whole."), "Whole."),
        (reasoned, "Said"),
        (said(&["<th", "ink>sec", "ret</thi", "nk>Said"]), "Said"),
        (said(&["Write `<th", "ink>`"]), "Write `<think>`"),
        (Script::stream([empty_error, no_error, end()]), "Hi"),
        (Script::stream([refusal]), "No."),
    ] {
        check(script, answer, "answer", answer).await;
    }
}

#[tokio::test]
async fn every_stream_that_is_none() {
    let stream = |body: String| Script::new(200, "text/event-stream", body);
    let long = stream("data:".to_owned() + &"x".repeat(2 << 20));
    let endless = stream(format!(":{}\n", "x".repeat(1022)).repeat(9 << 10));
    let filtered = chunk(&json!({}), Some("content_filter"));
    let failed = r#"{"message": "secret", "type": "server_error"}"#;
    let filtered = Script::stream([filtered, done()]);
    let refused_late = refused(Some("Hi "), failed);
    let silent = Script::stream([role(), end(), done()]);
    let broken = |event| Script::stream([event]).then(Then::Close);
    for (script, read, kind, cause) in [
        (Script::stream([]), "", "unusable", "not JSON"),
        (Script::stream([done()]), "", "unusable", "empty"),
        (silent, "", "unusable", "empty"),
        (Script::stream(["{".to_owned()]), "", "unusable", "not JSON"),
        (refused(None, failed), "", "unusable", "\"server_error\""),
        (refused(None, "{\"code\": 502}"), "", "unusable", "\"502\""),
        (broken(role()), "", "unusable", "was cut off"),
        (long, "", "unusable", "the answer is too large"),
        (endless, "", "unusable", "the answer is too large"),
        (Script::json(503, &json!({})), "", "not started", "503"),
        (refused_late, "Hi", "started", "\"server_error\""),
        (broken(piece("Hi")), "Hi", "started", "was cut off"),
        (filtered, "", "started", "filtered"),
    ] {
        check(script, read, kind, cause).await;
    }
}

/// Fails unless this much of the answer is read, and the turn ends in that kind of outcome.
async fn check(script: Script, read: &str, kind: &str, text: &str) {
    let about = format!("{script:.300?}");
    let (upstream, model) = model([script]).await;
    let reply = app_with(model.clone()).send(ask_for_stream()).await;
    let (pieces, outcome) = self::read(&*model).await;
    assert_eq!(pieces.concat(), read, "{about}");
    check_outcome(&outcome, kind, text, &about);
    assert_eq!(upstream.requests()[0].json()["stream"], true);
    assert!(!reply.text().contains("secret"), "{about}");
    assert_eq!(reply.remaining(), remaining(kind), "{about}");
    if read.is_empty() {
        assert_eq!(reply.code(), "model_unavailable", "{about}");
        return;
    }
    let events = events(reply.text());
    assert_eq!(joined(&events), read, "{about}");
    let (name, data) = events.last().unwrap();
    if kind == "answer" {
        assert_eq!((&**name, &data["message"]), ("message", &json!(text)));
    } else {
        assert_eq!(name, "problem");
        assert_eq!(data["code"], "model_unavailable");
    }
}

/// The pieces of a streamed answer, and the answer.
async fn read(model: &dyn ModelClient) -> (Vec<String>, Result<String, ModelError>) {
    let sink = MemoryAnswerSink::default();
    let reply = super::text(model, Some(&sink)).await;
    (sink.pieces(), reply)
}

#[tokio::test]
async fn the_first_answer_is_streamed_as_it_comes() {
    for finish in ["stop", "length"] {
        let script = Script::stream([piece("One "), piece("two"), chunk(&json!({}), Some(finish))]);
        let (_upstream, model) = model([script]).await;
        for _ in 0..2 {
            let (pieces, reply) = read(&*model).await;
            assert_eq!(pieces, ["One", " two"], "{finish}");
            assert_eq!(reply, Ok("One two".to_owned()), "{finish}");
        }
    }
}

#[tokio::test]
async fn a_model_that_thinks_first_is_held_back_to_the_first_closing_tag() {
    let cut = chunk(&json!({}), Some("length"));
    for (script, pieces) in [
        (said(&["secret </th", "ink>One two"]), &["One two"][..]),
        (Script::saying("secret</think>Said"), &["Said"]),
        (Script::saying("<think>secret</think>Said"), &["Said"]),
        // All of it is thinking, however it ended.
        (said(&["secret"]), &[]),
        (Script::stream([piece("secret"), cut]), &[]),
        (Script::stream([piece("secret")]).then(Then::Close), &[]),
    ] {
        let about = format!("{script:?}");
        let (_upstream, model) = model_with([script], |it| it.thinks_first = true).await;
        let (read, outcome) = read(&*model).await;
        assert_eq!(read, pieces, "{about}");
        if pieces.is_empty() {
            check_outcome(&outcome, "unusable", "", &about);
        } else {
            check_outcome(&outcome, "answer", &pieces.concat(), &about);
        }
    }
}

#[tokio::test]
async fn an_answer_that_goes_on_for_ever_is_cut_off() {
    let events = vec![piece(&"x".repeat(1 << 14)); 17];
    let upstream = Upstream::start([Script::stream(events).then(Then::Hold)]).await;
    let (pieces, outcome) = read(&*client(settings(&upstream))).await;
    assert_eq!(pieces.concat().len(), 16 << 14);
    check_outcome(&outcome, "started", "the answer is too long", "endless");
}
