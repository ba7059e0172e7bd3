//! The errors of upstreams, in every form in which they tell them.

use std::time::Duration;

use serde_json::Value;

use super::answer::first_choice;
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
            let error = first_choice(body)?.get("error")?;
            return (error.is_object() && !is_blank(error)).then(|| Self::read(error));
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
        // Some say 200, and the status that they mean inside. The model may have worked by then.
        let may_have_run = status < 400;
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
        } else if matches!(status, 401 | 403 | 404)
            || self.is_named(&WRONG_KEY)
            || self.is_named(&UNKNOWN_MODEL)
        {
            Kind::Misconfigured
        } else if matches!(status, 502 | 503) && !may_have_run {
            Kind::Down(retry_after)
        } else if matches!(status, 502..=504) {
            Kind::Lost(retry_after)
        } else if matches!(status, 400..500) && status != 408 {
            Kind::Refused
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
            Kind::Down(_) | Kind::Lost(_) => Some("the model's server is not there"),
            Kind::Misconfigured if self.is_named(&WRONG_KEY) || matches!(status, 401 | 403) => {
                Some("the key is not accepted, see --model-key-file")
            }
            Kind::Misconfigured => {
                Some("there is no such model or address, see --model and --model-url")
            }
            Kind::Unusable
            | Kind::Refused
            | Kind::Unreachable
            | Kind::Silent
            | Kind::Late
            | Kind::SinkClosed => None,
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
const FILTERED_WORDS: [&str; 2] = ["content management policy", "your input was flagged"];
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
mod tests;
