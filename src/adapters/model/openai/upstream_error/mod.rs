//! The errors of upstreams, in every form in which they tell them.

use std::time::Duration;

use serde_json::Value;

use super::failure::{Failure, Kind};

/// What an upstream says went wrong.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UpstreamError {
    code: String,
    kind: String,
    message: String,
}

impl UpstreamError {
    /// Finds the error in a body, in any of the forms there are; nothing if it holds none.
    pub(super) fn find(body: &Value) -> Option<Self> {
        // Some wrap the error into a list.
        let body = match body.as_array() {
            Some(items) => items.first()?,
            None => body,
        };
        let object = body.as_object()?;
        let has_choices = object.contains_key("choices");
        match object.get("error").filter(|error| !is_blank(error)) {
            None => {}
            Some(error @ Value::Object(_)) => return Some(Self::read(error)),
            Some(other) => return Some(Self::said(other)),
        }
        if object.get("object").and_then(Value::as_str) == Some("error") {
            return Some(Self::read(body));
        }
        if has_choices {
            let choice = body.pointer("/choices/0/error")?;
            return choice.is_object().then(|| Self::read(choice));
        }
        match object.get("detail") {
            Some(detail @ Value::Object(_)) => Some(Self::read(detail)),
            Some(detail) => Some(Self::said(detail)),
            None => object.contains_key("message").then(|| Self::read(body)),
        }
    }

    /// An error object; `code` may be a number.
    fn read(error: &Value) -> Self {
        Self {
            code: word(error.get("code")),
            kind: word(error.get("type").or_else(|| error.get("status"))),
            message: word(error.get("message")),
        }
    }

    /// An error that is a text, or a list of what is wrong.
    fn said(error: &Value) -> Self {
        let message = match error.as_array() {
            Some(items) => word(items.first().and_then(|item| item.get("msg"))),
            None => word(Some(error)),
        };
        Self {
            message,
            ..Self::default()
        }
    }

    /// The failure that an answer with `status` is.
    pub(super) fn into_failure(self, status: u16, retry_after: Option<Duration>) -> Failure {
        let kind = self.kind(status, retry_after);
        let mut cause = format!("upstream answered {status} with an error");
        if let Some(meaning) = self.meaning(kind, status) {
            cause.push_str(": ");
            cause.push_str(meaning);
        }
        for (name, word) in [("code", &self.code), ("type", &self.kind)] {
            if is_identifier(word) {
                cause.push_str(&format!(", {name} \"{word}\""));
            }
        }
        Failure::new(kind, cause)
    }

    fn kind(&self, status: u16, retry_after: Option<Duration>) -> Kind {
        // Some say 200, and the status that they mean inside.
        let status = match self.code.parse() {
            Ok(code @ 400..600) if status < 400 => code,
            Ok(_) | Err(_) => status,
        };
        // The visitor's text may be repeated in any error, and must not open the breaker.
        let may_be_bill = matches!(status, 402 | 403 | 429);
        if self.is_named(&FILTERED) || self.says(&FILTERED_WORDS) {
            Kind::Filtered
        } else if status == 402
            || self.is_named(&OUT_OF_MONEY)
            || (may_be_bill && self.says(&OUT_OF_MONEY_WORDS))
        {
            Kind::OutOfMoney
        } else if status == 429 || self.is_named(&["rate_limit_exceeded"]) {
            Kind::SlowDown(retry_after)
        } else if self.is_named(&OVERFLOW) || self.says(&OVERFLOW_WORDS) {
            Kind::Overflow
        } else if matches!(status, 502..=504) {
            Kind::Down(retry_after)
        } else {
            Kind::Unusable
        }
    }

    /// What it means, in our own words.
    fn meaning(&self, kind: Kind, status: u16) -> Option<&'static str> {
        match kind {
            Kind::Filtered => Some("the question or the answer was filtered out"),
            Kind::OutOfMoney => Some("the account has no credit left"),
            Kind::SlowDown(_) => Some("too many requests"),
            Kind::Overflow => Some("the conversation is longer than the model's context"),
            Kind::Down(_) => Some("the model's server is not there"),
            Kind::Unusable if self.is_named(&WRONG_KEY) || matches!(status, 401 | 403) => {
                Some("the key is not accepted, see --model-key-file")
            }
            Kind::Unusable if self.is_named(&UNKNOWN_MODEL) || status == 404 => {
                Some("there is no such model or address, see --model and --model-url")
            }
            Kind::Unusable | Kind::Unreachable | Kind::Silent | Kind::Late | Kind::ReaderGone => {
                None
            }
        }
    }

    fn is_named(&self, known: &[&str]) -> bool {
        let names = [&self.code, &self.kind];
        let is_it = |name: &&String| known.iter().any(|known| known.eq_ignore_ascii_case(name));
        names.iter().any(is_it)
    }

    fn says(&self, known: &[&str]) -> bool {
        let message = self.message.to_ascii_lowercase();
        known.iter().any(|words| message.contains(words))
    }
}

const FILTERED: [&str; 4] = [
    "content_filter",
    "content_filtered",
    "content_policy_violation",
    "responsibleaipolicyviolation",
];
const FILTERED_WORDS: [&str; 1] = ["content management policy"];
const OUT_OF_MONEY: [&str; 6] = [
    "insufficient_quota",
    "credit_balance_exhausted",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
    "insufficient_credits",
];
const OUT_OF_MONEY_WORDS: [&str; 4] = [
    "insufficient_quota",
    "exceeded your current quota",
    "insufficient balance",
    "credit balance",
];
const OVERFLOW: [&str; 3] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "context_window_exceeded",
];
const OVERFLOW_WORDS: [&str; 7] = [
    "context length",
    "context size",
    "context window",
    "context overflow",
    "maximum context",
    "prompt is too long",
    "contextwindowexceeded",
];
const WRONG_KEY: [&str; 5] = [
    "invalid_api_key",
    "authentication_error",
    "auth_error",
    "invalid_authentication_error",
    "unauthorized",
];
const UNKNOWN_MODEL: [&str; 3] = ["model_not_found", "not_found_error", "model_not_exist"];

/// Whether a member that is there says that there is no error.
fn is_blank(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

fn word(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => {
            String::new()
        }
    }
}

/// The longest word of an upstream's own that is logged, in bytes.
const IDENTIFIER_LEN_MAX: usize = 64;

/// Whether `word` is a name of the upstream's own, which may be logged. What is not, a message above
/// all, may repeat what was sent, in any spelling: there is no telling, so it never is.
fn is_identifier(word: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=IDENTIFIER_LEN_MAX).contains(&word.len()) && word.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::breaker::Finding;
    use super::*;

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
        ] {
            let failure = UpstreamError::default().into_failure(status, retry_after);
            assert_eq!(failure.finding(), finding, "{status} {retry_after:?}");
        }
    }
}
