//! Every form of a whole answer and of an error: what the visitor gets, who bears the turn, and what the
//! log is told.

use hyper::StatusCode;
use landing_api::ports::{ModelClient, ModelError, NullSink};
use serde_json::{Value, json};

use super::upstream::{Script, Step, Upstream, chunk};
use super::{app, ask, client, question, settings};

/// What comes of a turn.
#[derive(Debug)]
pub(super) enum Outcome {
    Answer(&'static str),
    /// Not charged; the cause has this in it.
    Refund(&'static str),
    /// Charged; the cause has this in it.
    Charge(&'static str),
}
use Outcome::{Answer, Charge, Refund};

pub(super) fn error(message: &str, kind: &str, code: Value) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn message(message: Value) -> Script {
    Script::message(&message, "stop")
}

/// Answers that are not streamed.
#[allow(clippy::too_many_lines, reason = "it is a table")]
fn whole() -> Vec<(Script, Outcome)> {
    let text = |text: &str| json!({"content": text});
    let flat = json!({"object": "error", "message": "secret", "type": "BadRequest", "code": 400});
    let html = "<html><h1>502 Bad Gateway</h1>";
    vec![
        (Script::saying("Hello."), Answer("Hello.")),
        (Script::saying(" \n Hello. \n"), Answer("Hello.")),
        (Script::message(&text("Cut"), "length"), Answer("Cut")),
        (
            Script::message(&text("Cut"), "content_filter"),
            Answer("Cut"),
        ),
        (
            Script::message(&text("<think>secret</think>Cut"), "length"),
            Answer("Cut"),
        ),
        (
            Script::message(
                &json!({"content": "Cut", "reasoning_content": "secret"}),
                "length",
            ),
            Answer("Cut"),
        ),
        (
            message(json!({"content": [{"type": "text", "text": "Parts"}]})),
            Answer("Parts"),
        ),
        (
            message(
                json!({"content": [{"type": "thinking", "thinking": "secret"}, {"type": "text", "text": "Said"}]}),
            ),
            Answer("Said"),
        ),
        (
            message(json!({"content": null, "refusal": "I will not."})),
            Answer("I will not."),
        ),
        (
            message(json!({"content": "Said", "reasoning_content": "secret"})),
            Answer("Said"),
        ),
        (
            message(text("<think>secret</think>\n\nSaid")),
            Answer("Said"),
        ),
        (
            message(
                json!({"content": [{"type": "text", "text": "secret", "thought": true}, {"type": "text", "text": "Said"}]}),
            ),
            Answer("Said"),
        ),
        (
            Script::json(
                200,
                &json!({"choices": [
                    {"index": 1, "message": {"content": "secret"}},
                    {"index": 0, "message": {"content": "Said"}, "error": {}},
                ]}),
            ),
            Answer("Said"),
        ),
        (
            Script::new(
                200,
                "text/event-stream",
                "\u{feff}data: {\"choices\":[{\"delta\":{\"content\":\"Sa\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"id\"}}]}\n\n",
            ),
            Answer("Said"),
        ),
        (message(text("[THINK]secret[/THINK]Said")), Answer("Said")),
        (message(text("◁think▷secret◁/think▷Said")), Answer("Said")),
        (
            message(text(
                "<|channel|>analysis<|message|>secret<|end|><|start|>assistant<|channel|>final\
                 <|message|>Said",
            )),
            Answer("Said"),
        ),
        (
            message(text("Write `<think>`, then think.")),
            Answer("Write `<think>`, then think."),
        ),
        (
            Script::json(200, &json!({"choices": [{"message": {"content": "Bare"}}]})),
            Answer("Bare"),
        ),
        (
            Script::new(
                200,
                "text/plain",
                r#"{"choices":[{"message":{"content":"Mislabelled"}}]}"#,
            ),
            Answer("Mislabelled"),
        ),
        (
            Script::stream([
                chunk(&text("Streamed unasked"), Some("stop")),
                "[DONE]".to_owned(),
            ]),
            Answer("Streamed unasked"),
        ),
        (
            Script::json(
                200,
                &json!({"choices": [{"message": {"content": "Said"}}], "error": ""}),
            ),
            Answer("Said"),
        ),
        (
            Script::json(
                200,
                &json!({"choices": [{"message": {"content": "Said"}}], "error": null}),
            ),
            Answer("Said"),
        ),
        // Nothing that can be used.
        (
            message(json!({"content": null})),
            Refund("empty; finish reason: stop"),
        ),
        (message(text("")), Refund("empty")),
        (message(text("  ")), Refund("empty")),
        (
            message(json!({"content": null, "tool_calls": [{}]})),
            Refund("empty"),
        ),
        (
            Script::message(
                &json!({"content": "", "reasoning_content": "secret"}),
                "length",
            ),
            Refund("only thinking; finish reason: length"),
        ),
        (
            Script::message(&text("<think>secret"), "length"),
            Refund("only thinking"),
        ),
        (
            message(json!({"content": "", "reasoning": "secret"})),
            Refund("only thinking"),
        ),
        (Script::json(200, &json!({"choices": []})), Refund("empty")),
        (Script::json(200, &json!({})), Refund("empty")),
        (Script::json(200, &json!("text")), Refund("empty")),
        (Script::new(200, "application/json", ""), Refund("not JSON")),
        (Script::new(200, "text/html", html), Refund("not JSON")),
        (
            Script::new(200, "application/json", "x".repeat(1 << 21)),
            Refund("too large"),
        ),
        (
            Script::saying("Half").then(Step::Break),
            Refund("broke off"),
        ),
        (Script::dropped(), Refund("broke before the answer")),
        (
            Script::message(&json!({"content": null}), "content_filter"),
            Charge("filtered"),
        ),
        // Errors. What their messages say is told to nobody.
        (
            Script::json(200, &error("secret", "server_error", Value::Null)),
            Refund("answered 200 with an error, type \"server_error\""),
        ),
        (
            Script::json(
                200,
                &json!({"choices": [], "error": {"code": 502, "message": "secret"}}),
            ),
            Refund("answered 200 with an error, code \"502\""),
        ),
        (
            Script::json(
                401,
                &error("secret", "invalid_request_error", json!("invalid_api_key")),
            ),
            Refund(
                "answered 401 with an error: the key is not accepted, see --model-key-file, code \"invalid_api_key\", type \"invalid_request_error\"",
            ),
        ),
        (
            Script::json(404, &error("secret", "not_found_error", Value::Null)),
            Refund(
                "404 with an error: there is no such model or address, see --model and --model-url, type \"not_found_error\"",
            ),
        ),
        (
            Script::json(400, &flat),
            Refund("code \"400\", type \"BadRequest\""),
        ),
        (
            Script::json(400, &error("secret", "x", json!(400))),
            Refund("code \"400\""),
        ),
        (
            Script::json(500, &json!({"error": "secret"})),
            Refund("answered 500 with an error"),
        ),
        (
            Script::json(422, &json!({"detail": "secret"})),
            Refund("answered 422 with an error"),
        ),
        (
            Script::json(
                422,
                &json!({"detail": [{"msg": "secret", "input": super::QUESTION}]}),
            ),
            Refund("answered 422 with an error"),
        ),
        (
            Script::json(
                400,
                &error(super::QUESTION, super::QUESTION, json!("secret word")),
            ),
            Refund("answered 400 with an error"),
        ),
        (
            Script::json(
                400,
                &error("a tr\\u0065asure of a s\\u0065cret", "x", Value::Null),
            ),
            Refund("answered 400 with an error, type \"x\""),
        ),
        (
            Script::new(502, "text/html", html),
            Refund("answered 502 with an error: the model's server is not there"),
        ),
        (
            Script::new(503, "text/plain", "x".repeat(1 << 21)),
            Refund("answered 503"),
        ),
        (Script::json(408, &json!({})), Refund("408")),
        (Script::json(409, &json!({})), Refund("409")),
        (Script::json(425, &json!({})), Refund("425")),
        (
            Script::json(
                429,
                &error("secret", "requests", json!("rate_limit_exceeded")),
            ),
            Refund("429 with an error: too many requests, code \"rate_limit_exceeded\""),
        ),
        (
            Script::json(
                429,
                &error("secret", "insufficient_quota", json!("insufficient_quota")),
            ),
            Refund("the account has no credit left, code \"insufficient_quota\""),
        ),
        (
            Script::json(400, &error("secret", "x", json!("content_filter"))),
            Charge("filtered out, code \"content_filter\""),
        ),
        (
            Script::new(307, "text/plain", "").header("location", "/elsewhere"),
            Refund("redirects are not followed"),
        ),
    ]
}

#[tokio::test]
async fn every_answer_that_is_not_streamed() {
    for (script, outcome) in whole() {
        let upstream = Upstream::start([script.clone()]).await;
        let app = app(&upstream);
        let reply = app.send(ask()).await;
        let cause = client(settings(&upstream))
            .reply(&question(), &NullSink)
            .await;
        match outcome {
            Answer(text) => {
                assert_eq!(reply.status, StatusCode::OK, "{script:?}");
                assert_eq!(reply.json()["message"], text, "{script:?}");
                assert_eq!(reply.remaining(), 9);
                assert_eq!(cause, Ok(text.to_owned()));
            }
            Refund(part) => {
                assert_eq!(reply.code(), "model_unavailable", "{script:?}");
                assert_eq!(reply.remaining(), 10, "{script:?}");
                assert_eq!(reply.header("set-cookie"), None);
                let Err(ModelError::NotStarted(cause) | ModelError::Unusable(cause)) = cause else {
                    panic!("{script:?}: {cause:?}");
                };
                check_cause(&cause, part);
            }
            Charge(part) => {
                assert_eq!(reply.code(), "model_unavailable", "{script:?}");
                assert_eq!(reply.remaining(), 9, "{script:?}");
                assert!(reply.header("set-cookie").is_some());
                let Err(ModelError::Started(cause)) = cause else {
                    panic!("{script:?}: {cause:?}");
                };
                check_cause(&cause, part);
            }
        }
        assert!(!reply.body.windows(6).any(|bytes| bytes == b"secret"));
        // A connection that broke before the answer may be tried afresh by nobody but the visitor.
        assert_eq!(upstream.asked().len(), 2, "{script:?}");
    }
}

pub(super) fn check_cause(cause: &str, part: &str) {
    assert!(cause.contains(part), "{cause} should have {part}");
    for private in ["secret", "cret", "treasure", "asure", "sk-test"] {
        assert!(!cause.contains(private), "{cause}");
    }
    assert!(cause.len() < 600 && !cause.contains('\n'), "{cause}");
}
