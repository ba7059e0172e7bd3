use serde_json::json;

use super::super::breaker::Finding;
use super::*;
use crate::ports::ModelError;

#[test]
fn an_error_is_found_in_every_form() {
    let error = |code: &str, kind: &str, message: &str| {
        Some(UpstreamError {
            code: code.to_owned(),
            kind: kind.to_owned(),
            message: message.to_owned(),
        })
    };
    for (body, expected) in [
        (
            json!({"error": {"message": "m", "type": "t", "param": null, "code": "c"}}),
            error("c", "t", "m"),
        ),
        (
            json!({"error": {"message": "m", "type": "t", "code": null}}),
            error("", "t", "m"),
        ),
        (
            json!({"error": {"code": 400, "message": "m", "type": "t"}}),
            error("400", "t", "m"),
        ),
        (
            json!({"object": "error", "message": "m", "type": "t", "code": 400}),
            error("400", "t", "m"),
        ),
        (json!({"error": "m"}), error("", "", "m")),
        (json!({"detail": "m"}), error("", "", "m")),
        (
            json!({"detail": [{"msg": "m", "input": "x"}]}),
            error("", "", "m"),
        ),
        (json!({"message": "m"}), error("", "", "m")),
        (
            json!([{"error": {"code": 429, "message": "m", "status": "t"}}]),
            error("429", "t", "m"),
        ),
        (
            json!({"choices": [], "error": {"code": 502, "message": "m"}}),
            error("502", "", "m"),
        ),
        (
            json!({"choices": [{"error": {"message": "m"}}]}),
            error("", "", "m"),
        ),
        (json!({"choices": [{"error": {}}]}), None),
        (json!({"choices": [{"error": null}]}), None),
        (
            json!({"choices": [{"index": 1, "error": {"message": "m"}}]}),
            None,
        ),
        (json!({"choices": [], "error": null}), None),
        (json!({"choices": [], "error": ""}), None),
        (json!({"choices": [], "error": {}}), None),
        (json!({"choices": [], "error": []}), None),
        (json!({"choices": [], "error": false}), None),
        (json!({"choices": [], "error": true}), error("", "", "")),
        (json!({"choices": [{"message": {"content": "x"}}]}), None),
        (json!({}), None),
        (json!("x"), None),
    ] {
        assert_eq!(UpstreamError::find(&body), expected, "{body}");
    }
}

fn failure(status: u16, code: &str, kind: &str, message: &str) -> Failure {
    let error = UpstreamError {
        code: code.to_owned(),
        kind: kind.to_owned(),
        message: message.to_owned(),
    };
    error.into_failure(status, None)
}

#[test]
fn the_log_is_told_names_and_never_a_message() {
    let longest = "x".repeat(IDENTIFIER_LEN_MAX);
    let longer = "x".repeat(IDENTIFIER_LEN_MAX + 1);
    for (word, is_logged) in [
        ("server_error", true),
        ("gpt-4.1", true),
        ("400", true),
        (&*longest, true),
        (&*longer, false),
        ("", false),
        ("two words", false),
        ("R\\u0065x", false),
        ("\u{e9}", false),
        ("a\"b", false),
        ("a\nb", false),
        ("ada@example.com", false),
    ] {
        for cause in [
            failure(500, word, "", "Rex").cause,
            failure(500, "", word, "Rex").cause,
        ] {
            let quoted = format!("\"{word}\"");
            assert_eq!(cause.contains(&quoted), is_logged, "{cause}");
            assert!(is_logged || !cause.contains(','), "{cause}");
            assert!(!cause.contains("Rex"), "{cause}");
        }
    }
}

#[test]
fn what_is_known_of_an_error_is_said_in_our_own_words() {
    for (status, code, message, part) in [
        (
            400,
            "context_length_exceeded",
            "",
            "longer than the model's context",
        ),
        (
            500,
            "",
            "the context size",
            "longer than the model's context",
        ),
        (402, "", "", "no credit left"),
        (403, "", "Your credit balance is too low", "no credit left"),
        (401, "", "", "--model-key-file"),
        (403, "", "", "--model-key-file"),
        (400, "Invalid_API_Key", "", "--model-key-file"),
        (404, "", "", "--model and --model-url"),
        (400, "model_not_found", "", "--model and --model-url"),
        (429, "", "", "too many requests"),
        (200, "429", "", "too many requests"),
        (503, "", "", "not there"),
        (400, "content_filter", "", "filtered out"),
    ] {
        let cause = failure(status, code, "", message).cause;
        assert!(cause.contains(part), "{status} {code} {message}: {cause}");
    }
}

#[test]
fn words_about_money_count_only_where_money_is_asked_for() {
    let words = "you exceeded your current quota";
    for (status, is_bill) in [
        (200, false),
        (400, false),
        (402, true),
        (403, true),
        (404, false),
        (422, false),
        (429, true),
        (500, false),
        (503, false),
    ] {
        let kind = failure(status, "", "", words).kind;
        assert_eq!(kind == Kind::OutOfMoney, is_bill, "{status}");
        let named = failure(status, "insufficient_quota", "", "").kind;
        assert_eq!(named, Kind::OutOfMoney, "{status}");
    }
    assert_eq!(failure(200, "402", "", "").kind, Kind::OutOfMoney);
}

#[test]
fn a_server_that_is_not_there_counts_as_dead_and_one_that_fails_does_not() {
    let long = Some(Duration::from_secs(3600));
    let short = Some(Duration::from_secs(7));
    for (status, retry_after, finding) in [
        (500, None, Finding::Alive),
        (500, long, Finding::Alive),
        (501, None, Finding::Alive),
        (502, None, Finding::Dead),
        (503, None, Finding::Dead),
        (504, None, Finding::Dead),
        (503, short, Finding::Pause(Duration::from_secs(7))),
        (503, long, Finding::Pause(Duration::from_secs(60))),
        (429, long, Finding::Pause(Duration::from_secs(60))),
        (429, None, Finding::Alive),
        (400, None, Finding::Alive),
        (401, None, Finding::Dead),
        (403, long, Finding::Dead),
        (404, None, Finding::Dead),
        (422, None, Finding::Alive),
    ] {
        let failure = UpstreamError::default().into_failure(status, retry_after);
        assert_eq!(failure.finding(), finding, "{status} {retry_after:?}");
    }
}

#[test]
fn only_what_may_have_cost_something_stays_charged_to_all() {
    for (status, code, is_charged) in [
        (400, "", false),
        (401, "", false),
        (403, "", false),
        (404, "", false),
        (405, "", false),
        (408, "", true),
        (413, "", false),
        (422, "", false),
        (429, "", false),
        (500, "", true),
        (502, "", false),
        (503, "", false),
        (504, "", true),
        (200, "", true),
        (200, "500", true),
        (200, "502", true),
        (200, "401", false),
        (200, "429", false),
    ] {
        let error = failure(status, code, "", "").into_error(false);
        let is_unusable = matches!(error, ModelError::Unusable(_));
        let is_free = matches!(error, ModelError::NotStarted(_));
        assert_eq!((is_unusable, is_free), (is_charged, !is_charged), "{error}");
        let read = failure(status, code, "", "").into_error(true);
        assert!(matches!(read, ModelError::Started(_)), "{read}");
    }
}
