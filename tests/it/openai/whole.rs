//! Every form of a whole answer and of an error: what the visitor gets, who bears the turn, and what the
//! log is told.

use super::upstream::{Script, Then, Upstream, end, piece};
use super::{app, ask, client, settings};
use crate::prelude::*;

/// Messages: why the model stopped, the message, what comes of the turn, and the answer or a part of the
/// cause. What else is read of a message, or left out, the tests of its reader tell.
const MESSAGES: &str = r#"
stop   | {"content": "Hello."} | answer | Hello.
stop   | {"content": " \n Hello. \n"} | answer | Hello.
length | {"content": "Cut"} | answer | Cut
length | {"content": "<think>secret</think>Cut"} | answer | Cut
length | {"content": "Cut", "reasoning_content": "secret"} | answer | Cut
stop   | {"content": [{"type": "thinking"}, {"type": "text", "text": "Said"}]} | answer | Said
stop   | {"content": null, "refusal": "I will not."} | answer | I will not.
stop   | {"content": "Said", "reasoning_content": "secret"} | answer | Said
stop   | {"content": "<think>secret</think>\n\nSaid"} | answer | Said
stop   | {"content": "Write `<think>`, then think."} | answer | Write `<think>`, then think.
stop   | {"content": null} | unusable | empty, or only thinking; finish reason: stop
stop   | {"content": ""} | unusable | empty
stop   | {"content": "  "} | unusable | empty
stop   | {"content": null, "tool_calls": [{}]} | unusable | empty
length | {"content": "", "reasoning_content": "secret"} | unusable | thinking; finish reason: length
length | {"content": "<think>secret"} | unusable | only thinking
stop   | {"content": "", "reasoning": "secret"} | unusable | only thinking
content_filter | {"content": "Cut"} | answer | Cut
content_filter | {"content": null} | started | filtered
"#;

/// Other JSON: its status, and the same. What the message of an error says is told to nobody. Which status
/// and code mean what, the tests of errors tell.
const BODIES: &str = r#"
200 | {"choices": [{"message": {"content": "Bare"}}]} | answer | Bare
200 | {"choices": [{"index": 0, "message": {"content": "Said"}, "error": {}}]} | answer | Said
200 | {"choices": [{"message": {"content": "Said"}}], "error": ""} | answer | Said
200 | {"choices": [{"message": {"content": "Said"}}], "error": null} | answer | Said
200 | {"choices": []} | unusable | empty
200 | {} | unusable | empty
200 | "text" | unusable | empty
200 | {"error": {"message": "secret", "type": "t", "code": null}} | unusable | 200 with an error, type "t"
200 | {"choices": [], "error": {"code": 502, "message": "secret"}} | unusable | with an error, code "502"
401 | {"error": {"message": "secret", "type": "t", "code": "c"}} | not started | -key-file, code "c", type "t"
404 | {"error": {"message": "secret", "type": "t"}} | not started | see --model and --model-url, type "t"
400 | {"object": "error", "message": "secret", "type": "t", "code": 400} | not started | "400", type "t"
400 | {"error": {"type": "where is my hidden treasure", "code": "secret word"}} | not started | error
400 | {"error": {"message": "a tr\\u0065asure of a s\\u0065cret", "type": "x"}} | not started | type "x"
400 | {"error": {"message": "secret", "type": "x", "code": "content_filter"}} | started | filtered
422 | {"detail": "secret"} | not started | returned 422 with an error
422 | {"detail": [{"msg": "secret", "input": "where is my hidden treasure"}]} | not started | returned 422
429 | {"error": {"message": "secret", "type": "requests"}} | not started | too many requests
500 | {"error": "secret"} | unusable | returned 500 with an error
"#;

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[tokio::test]
async fn every_answer_that_is_not_streamed() {
    for [finish, message, kind, text] in rows(MESSAGES) {
        check(Script::message(&parse(message), finish), kind, text).await;
    }
    for [status, body, kind, text] in rows(BODIES) {
        let script = Script::json(status.parse().unwrap(), &parse(body));
        check(script, kind, text).await;
    }
}

#[tokio::test]
async fn every_answer_that_is_not_what_was_asked_for() {
    const JSON: &str = r#"{"choices": [{"message": {"content": "Said"}}]}"#;
    const HTML: &str = "<html><h1>502 Bad Gateway</h1>";
    let json = |body: &str| Script::new(200, "application/json", body);
    let html = |status| Script::new(status, "text/html", HTML);
    let large = "x".repeat(2 << 20);
    let marked = format!("\u{feff}data: {}\n\n", piece("Said"));
    let marked = Script::new(200, "text/event-stream", marked);
    let pieces = Script::stream([piece("Sa"), piece("id"), end()]);
    let unfinished = Script::stream([piece("Sa"), piece("id")]);
    let mislabelled = Script::new(200, "text/plain", JSON);
    let broken = json("{").then(Then::Close);
    let large_error = Script::new(503, "text/plain", &*large);
    let redirect = Script::new(307, "text/plain", "").header("location", "/elsewhere");
    for (script, kind, text) in [
        (pieces, "answer", "Said"),
        (unfinished, "answer", "Said"),
        (marked, "answer", "Said"),
        (mislabelled, "answer", "Said"),
        (json(""), "unusable", "not JSON"),
        (html(200), "unusable", "not JSON"),
        (json(&large), "unusable", "the answer is too large"),
        (broken, "unusable", "was cut off"),
        (Script::dropped(), "not started", "lost before the response"),
        (html(502), "not started", "server is unavailable"),
        (large_error, "not started", "returned 503"),
        (redirect, "not started", "redirects are not followed"),
    ] {
        check(script, kind, text).await;
    }
}

/// Fails unless a turn that is answered so ends in that kind of outcome.
async fn check(script: Script, kind: &str, text: &str) {
    let about = format!("{script:.300?}");
    let upstream = Upstream::start([script]).await;
    let reply = app(&upstream).send(ask()).await;
    let model = client(settings(&upstream));
    check_outcome(&super::text(&*model, None).await, kind, text, &about);
    if kind == "answer" {
        assert_eq!(reply.status, StatusCode::OK, "{about}");
        assert_eq!(reply.json()["message"], text, "{about}");
    } else {
        assert_eq!(reply.code(), "model_unavailable", "{about}");
    }
    assert_eq!(reply.remaining(), remaining(kind), "{about}");
    assert_eq!(reply.header("set-cookie").is_some(), reply.remaining() == 9);
    assert!(!reply.text().contains("secret"), "{about}");
    // A connection that broke before the answer may be tried afresh by nobody but the visitor.
    assert_eq!(upstream.requests().len(), 2, "{about}");
}

/// What is left of ten messages after a turn that ended so.
pub(super) fn remaining(kind: &str) -> u32 {
    let is_charged = ["answer", "started"].contains(&kind);
    if is_charged { 9 } else { 10 }
}

/// Fails unless `outcome` is of that kind, and `text` is the answer or a part of the cause.
pub(crate) fn check_outcome(
    outcome: &Result<String, ModelError>,
    kind: &str,
    text: &str,
    about: &str,
) {
    let (found, cause) = match outcome {
        Ok(answer) => {
            assert_eq!((kind, text), ("answer", &**answer), "{about}");
            return;
        }
        Err(ModelError::NotStarted(cause)) => ("not started", cause),
        Err(ModelError::Unusable(cause)) => ("unusable", cause),
        Err(ModelError::Started(cause)) => ("started", cause),
        Err(ModelError::Abandoned(_)) => panic!("nobody left"),
    };
    assert_eq!(found, kind, "{about}: {cause}");
    assert!(cause.contains(text), "{cause} should have {text}");
    for private in ["secret", "cret", "treasure", "asure", "sk-test"] {
        assert!(!cause.contains(private), "{cause}");
    }
    assert!(cause.len() < 600 && !cause.contains('\n'), "{cause}");
}
