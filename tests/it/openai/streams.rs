//! Every form of a streamed answer, and of one that breaks.

use landing_api::adapters::memory::MemoryAnswerSink;
use landing_api::ports::{ModelClient, ModelError, NullSink};
use serde_json::{Value, json};

use super::upstream::{Script, Step, Upstream, chunk};
use super::whole::Outcome::{Answer, Charge, Refund};
use super::whole::{Outcome, check_cause, error};
use super::{app_with, ask_for_stream, client, question, settings, warm};
use crate::streaming::{events, joined};

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
            "Write `<think>` or",
            Answer("Write `<think>` or"),
        ),
        // A character in two halves.
        (
            Script::stream([
                r#"{"choices":[{"delta":{"content":"Hi \ud83d"}}]}"#.to_owned(),
                r#"{"choices":[{"delta":{"content":"\ude00!"}}]}"#.to_owned(),
                stop(),
            ]),
            "Hi \u{1F600}!",
            Answer("Hi \u{1F600}!"),
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
        let upstream = Upstream::start([]).await;
        let model = client(settings(&upstream));
        warm(&*model, &upstream).await;
        upstream.script([script.clone()]);
        let reply = app_with(model.clone()).send(ask_for_stream()).await;
        let sink = MemoryAnswerSink::default();
        let cause = model.reply(&question(), &sink).await;
        assert_eq!(sink.pieces().concat(), read, "{script:?}");
        assert_eq!(upstream.asked()[1].body["stream"], true);
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

#[tokio::test]
async fn a_model_that_thinks_without_an_opening_tag_is_held_back_from_then_on() {
    let text = |text: &str| chunk(&json!({"content": text}), None);
    let script = Script::stream([text("thought"), text("</think>Said"), text(" more")]);
    let upstream = Upstream::start([]).await;
    let client = client(settings(&upstream));
    warm(&*client, &upstream).await;
    upstream.script([script]);
    let first = MemoryAnswerSink::default();
    let error = client.reply(&question(), &first).await.unwrap_err();
    assert!(matches!(error, ModelError::Started(_)), "it had been read");
    let second = MemoryAnswerSink::default();
    let reply = client.reply(&question(), &second).await.unwrap();
    assert_eq!(
        (reply.as_str(), second.pieces().concat()),
        ("Said more", reply.clone())
    );
}

/// The pieces of a streamed answer, and the answer.
async fn read(model: &dyn ModelClient) -> (Vec<String>, Result<String, ModelError>) {
    let sink = MemoryAnswerSink::default();
    let reply = model.reply(&question(), &sink).await;
    (sink.pieces(), reply)
}

#[tokio::test]
async fn before_an_answer_has_settled_how_the_model_thinks_nothing_is_handed_out() {
    let text = |text: &str| chunk(&json!({"content": text}), None);
    let stop = || chunk(&json!({}), Some("stop"));
    let thought = Script::stream([text("secret "), text("secret</think>Said"), stop()]);
    let spoken = Script::stream([text("One "), text("two"), stop()]);
    // Nothing says why it ended, and that it is whole.
    let unfinished = Script::stream([text("One "), text("two"), "[DONE]".to_owned()]);
    let pieces = |pieces: &[&str]| {
        let pieces: Vec<_> = pieces.iter().map(|&piece| piece.to_owned()).collect();
        (pieces.clone(), Ok(pieces.concat()))
    };
    // From the first answer on, and however often: a thought is never seen.
    let upstream = Upstream::start([thought.clone()]).await;
    let model = client(settings(&upstream));
    for _ in 0..3 {
        assert_eq!(read(&*model).await, pieces(&["Said"]));
    }
    // A model that does not think first is read along from the second answer on.
    let upstream = Upstream::start([unfinished, spoken.clone()]).await;
    let model = client(settings(&upstream));
    assert_eq!(read(&*model).await, pieces(&["One two"]), "not settled");
    assert_eq!(read(&*model).await, pieces(&["One", " two"]));
    // A mark that a visitor made it write costs the others some waiting, and not for ever.
    for marks in [1, 2] {
        upstream.script([Script::saying("a</think>b")]);
        for _ in 0..marks {
            model.reply(&question(), &NullSink).await.unwrap();
        }
        upstream.script([spoken.clone()]);
        for _ in 0..marks {
            assert_eq!(read(&*model).await, pieces(&["One two"]), "held back");
        }
        assert_eq!(read(&*model).await, pieces(&["One", " two"]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_answer_that_is_cut_off_has_not_been_seen() {
    let text = |text: &str| chunk(&json!({"content": text}), None);
    for script in [
        Script::stream([text("secret"), text(" secret")]).then(Step::Hang),
        Script::stream([text("secret"), text(" secret")]).then(Step::Break),
        Script::stream([text("secret"), chunk(&json!({}), Some("length"))]),
    ] {
        let upstream = Upstream::start([script.clone()]).await;
        let model = client(settings(&upstream));
        let (pieces, reply) = read(&*model).await;
        assert!(pieces.is_empty() && reply.is_err(), "{script:?}: {reply:?}");
    }
}

#[tokio::test]
async fn text_that_is_held_back_is_no_longer_than_an_answer_may_be() {
    let text = |text: &str| chunk(&json!({"content": text}), None);
    // Code that does not end, with a mark in it: nobody can tell before its end.
    let piece = text(&"x".repeat(1 << 14));
    let events = std::iter::once(text("```\n<think>")).chain(vec![piece; 17]);
    let upstream = Upstream::start([]).await;
    let model = client(settings(&upstream));
    warm(&*model, &upstream).await;
    // It would go on for ever.
    upstream.script([Script::stream(events).then(Step::Hang)]);
    let (pieces, reply) = read(&*model).await;
    assert_eq!(pieces.concat(), "```");
    let Err(ModelError::Started(cause)) = reply else {
        panic!("{reply:?}");
    };
    check_cause(&cause, "the answer is too long");
}
