//! Every form of a streamed answer, and of one that breaks.

use landing_api::adapters::model::openai::OpenAiSettings;
use landing_api::ports::{ModelClient, ModelError};
use serde_json::{Value, json};

use super::upstream::{Script, Step, Upstream, chunk};
use super::whole::Outcome::{Answer, Charge, Refund};
use super::whole::{Outcome, check_cause, error};
use super::{app_with, ask_for_stream, client, question, settings};
use crate::streaming::{events, joined};
use crate::twins::MemoryAnswerSink;

/// Streamed answers: what is read before, and what comes of it.
#[allow(clippy::too_many_lines, reason = "it is a table")]
fn streamed() -> Vec<(Script, &'static str, Outcome)> {
    let text = |text: &str| chunk(&json!({"content": text}), None);
    let stop = || chunk(&json!({}), Some("stop"));
    let done = || "[DONE]".to_owned();
    let role = || chunk(&json!({"role": "assistant", "content": ""}), None);
    let late_error = error("secret", "server_error", Value::Null).to_string();
    let usage = json!({"choices": [], "usage": {"total_tokens": 3}}).to_string();
    vec![
        (
            Script::stream([
                role(),
                text("Hel"),
                text("lo. "),
                text("Bye."),
                stop(),
                usage,
                done(),
            ]),
            "Hello. Bye.",
            Answer("Hello. Bye."),
        ),
        (Script::stream([text("Hi"), stop()]), "Hi", Answer("Hi")),
        (Script::stream([text("Hi")]), "Hi", Answer("Hi")),
        (
            Script::stream([text("Hi"), stop()]).then(Step::Break),
            "Hi",
            Answer("Hi"),
        ),
        (
            Script::stream([text("Hi"), stop(), done()]).then(Step::Hang),
            "Hi",
            Answer("Hi"),
        ),
        (Script::saying("Whole."), "Whole.", Answer("Whole.")),
        (
            Script::stream([
                chunk(&json!({"reasoning_content": "secret"}), None),
                chunk(&json!({"reasoning": "secret"}), None),
                text("<th"),
                text("ink>sec"),
                text("ret</thi"),
                text("nk>Said"),
                stop(),
            ]),
            "Said",
            Answer("Said"),
        ),
        (
            Script::stream([
                text("Write `<th"),
                text("ink>` or <think>, "),
                text("or not."),
                stop(),
            ]),
            "Write `<think>` or <think>, or not.",
            Answer("Write `<think>` or <think>, or not."),
        ),
        (
            Script::stream([
                json!({"choices": [{"delta": {"content": "Hi"}}], "error": ""}).to_string(),
                json!({"choices": [], "error": null}).to_string(),
                stop(),
            ]),
            "Hi",
            Answer("Hi"),
        ),
        (
            Script::stream([chunk(&json!({"refusal": "No."}), Some("stop"))]),
            "No.",
            Answer("No."),
        ),
        (Script::stream([]), "", Refund("empty")),
        (Script::stream([done()]), "", Refund("empty")),
        (
            Script::stream([role(), stop(), done()]),
            "",
            Refund("empty"),
        ),
        (
            Script::stream(["{nonsense".to_owned()]),
            "",
            Refund("not JSON"),
        ),
        (
            Script::stream([late_error.clone()]),
            "",
            Refund("\"server_error\""),
        ),
        (
            Script::stream([
                json!({"choices": [], "error": {"code": 502, "message": "m"}}).to_string(),
            ]),
            "",
            Refund("\"502\""),
        ),
        (
            Script::stream([role()]).then(Step::Break),
            "",
            Refund("broke off"),
        ),
        (
            Script::new(200, "text/event-stream", "x".repeat(1 << 21)),
            "",
            Refund("too long"),
        ),
        (Script::json(503, &json!({})), "", Refund("503")),
        (
            Script::stream([text("Hi "), late_error]),
            "Hi",
            Charge("\"server_error\""),
        ),
        (
            Script::stream([text("Hi")]).then(Step::Break),
            "Hi",
            Charge("broke off"),
        ),
        (
            Script::stream([chunk(&json!({}), Some("content_filter")), done()]),
            "",
            Charge("filtered"),
        ),
    ]
}

#[tokio::test]
async fn every_answer_that_is_streamed() {
    for (script, read, outcome) in streamed() {
        let upstream = Upstream::start([script.clone()]).await;
        let model = client(settings(&upstream));
        let reply = app_with(model.clone()).send(ask_for_stream()).await;
        let sink = MemoryAnswerSink::default();
        let cause = model.reply(&question(), &sink).await;
        assert_eq!(sink.pieces().concat(), read, "{script:?}");
        assert_eq!(upstream.asked()[0].body["stream"], true);
        let body = std::str::from_utf8(&reply.body).unwrap();
        assert!(!body.contains("secret"));
        let is_refund = matches!(outcome, Refund(_));
        assert_eq!(
            reply.remaining(),
            if is_refund { 10 } else { 9 },
            "{script:?}"
        );
        if read.is_empty() {
            assert_eq!(reply.code(), "model_unavailable", "{script:?}");
        } else {
            let events = events(body);
            assert_eq!(joined(&events), read);
            let (name, data) = events.last().unwrap();
            match &outcome {
                Answer(text) => {
                    assert_eq!((name.as_str(), &data["message"]), ("message", &json!(text)));
                }
                Refund(_) | Charge(_) => {
                    assert_eq!(name, "problem");
                    assert_eq!(data["code"], "model_unavailable");
                }
            }
        }
        match (outcome, cause) {
            (Answer(text), Ok(reply)) => assert_eq!(reply, text),
            (Refund(part), Err(ModelError::NotStarted(cause) | ModelError::Unusable(cause)))
            | (Charge(part), Err(ModelError::Started(cause))) => check_cause(&cause, part),
            (outcome, cause) => panic!("{script:?}: {outcome:?}, {cause:?}"),
        }
    }
}

/// The pieces of a streamed answer, and the answer.
async fn read(model: &dyn ModelClient) -> (Vec<String>, Result<String, ModelError>) {
    let sink = MemoryAnswerSink::default();
    let reply = model.reply(&question(), &sink).await;
    (sink.pieces(), reply)
}

#[tokio::test]
async fn the_first_answer_is_streamed_as_it_comes() {
    let text = |text: &str| chunk(&json!({"content": text}), None);
    for finish in ["stop", "length"] {
        let end = chunk(&json!({}), Some(finish));
        let upstream = Upstream::start([Script::stream([text("One "), text("two"), end])]).await;
        let model = client(settings(&upstream));
        for _ in 0..2 {
            let (pieces, reply) = read(&*model).await;
            assert_eq!(pieces, ["One", " two"], "{finish}");
            assert_eq!(reply, Ok("One two".to_owned()), "{finish}");
        }
    }
}

#[tokio::test]
async fn a_model_that_thinks_first_is_held_back_to_the_first_closing_tag() {
    let text = |text: &str| chunk(&json!({"content": text}), None);
    let stop = || chunk(&json!({}), Some("stop"));
    for (script, pieces) in [
        (
            Script::stream([text("secret </th"), text("ink>One "), text("two"), stop()]),
            vec!["One", " two"],
        ),
        (Script::saying("secret</think>Said"), vec!["Said"]),
        (Script::saying("<think>secret</think>Said"), vec!["Said"]),
        // All of it is thinking, however it ended.
        (Script::stream([text("secret"), stop()]), vec![]),
        (
            Script::stream([text("secret"), chunk(&json!({}), Some("length"))]),
            vec![],
        ),
        (
            Script::stream([text("secret"), text(" secret")]).then(Step::Break),
            vec![],
        ),
    ] {
        let upstream = Upstream::start([script.clone()]).await;
        let model = client(OpenAiSettings {
            thinks_first: true,
            ..settings(&upstream)
        });
        let (read, reply) = read(&*model).await;
        assert_eq!(read, pieces, "{script:?}");
        match reply {
            Ok(reply) => assert_eq!(reply, pieces.concat()),
            Err(ModelError::Unusable(cause)) => {
                assert!(pieces.is_empty());
                check_cause(&cause, "");
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn an_answer_that_goes_on_for_ever_is_cut_off() {
    let text = |text: &str| chunk(&json!({"content": text}), None);
    let events = vec![text(&"x".repeat(1 << 14)); 17];
    let upstream = Upstream::start([Script::stream(events).then(Step::Hang)]).await;
    let (pieces, reply) = read(&*client(settings(&upstream))).await;
    assert_eq!(pieces.concat().len(), 16 << 14);
    let Err(ModelError::Started(cause)) = reply else {
        panic!("{reply:?}");
    };
    check_cause(&cause, "the answer is too long");
}
