//! What goes wrong with an upstream, in every form in which upstreams tell it, and who bears the
//! turn then.

use std::time::Duration;

use serde_json::Value;

use crate::domain::chat::Conversation;
use crate::ports::ModelError;

use super::breaker::Finding;

/// The upstream gave no answer that can be used.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: Kind,
    /// For the log: bounded, and without a word of the visitor's.
    pub(super) cause: String,
}

/// What follows from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No connection, or one that ended before the first byte of an answer.
    Unreachable,
    /// Not a byte of an answer in time.
    Silent,
    /// An error of the upstream's own, or an answer that is none.
    Unusable,
    /// The conversation is longer than the model's context.
    Overflow,
    /// The operator's account is used up: asking again never helps.
    OutOfMoney,
    /// Too many requests; the upstream may say for how long.
    SlowDown(Option<Duration>),
    /// The model worked, and its answer or the question was filtered out.
    Filtered,
    /// The answer had begun, and was not whole in time.
    Late,
    /// Nobody reads the answer any more.
    ReaderGone,
}

/// How long an upstream whose account is used up is left alone.
const OUT_OF_MONEY_PAUSE: Duration = Duration::from_secs(60);
/// The longest an upstream may ask to be left alone.
const SLOW_DOWN_PAUSE_MAX: Duration = Duration::from_secs(60);

impl Failure {
    pub(super) fn new(kind: Kind, cause: impl Into<String>) -> Self {
        Self {
            kind,
            cause: cause.into(),
        }
    }

    pub(super) fn unusable(cause: impl Into<String>) -> Self {
        Self::new(Kind::Unusable, cause)
    }

    /// What it says about the upstream.
    pub(super) fn finding(&self) -> Finding {
        match self.kind {
            Kind::Unreachable | Kind::Silent => Finding::Dead,
            Kind::OutOfMoney => Finding::Pause(OUT_OF_MONEY_PAUSE),
            Kind::SlowDown(Some(pause)) => Finding::Pause(pause.min(SLOW_DOWN_PAUSE_MAX)),
            Kind::SlowDown(None)
            | Kind::Unusable
            | Kind::Overflow
            | Kind::Filtered
            | Kind::Late
            | Kind::ReaderGone => Finding::Alive,
        }
    }

    /// Who bears the turn: the visitor, if the model worked on it or text of its answer was read.
    pub(super) fn into_error(self, was_read: bool) -> ModelError {
        match self.kind {
            Kind::Filtered | Kind::Late | Kind::ReaderGone => ModelError::Started(self.cause),
            _ if was_read => ModelError::Started(self.cause),
            Kind::Unreachable
            | Kind::Silent
            | Kind::Overflow
            | Kind::OutOfMoney
            | Kind::SlowDown(_) => ModelError::NotStarted(self.cause),
            Kind::Unusable => ModelError::Unusable(self.cause),
        }
    }
}

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
        match object.get("error") {
            None | Some(Value::Null | Value::Bool(false)) => {}
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

    /// What follows, for an answer with `status`.
    pub(super) fn kind(&self, status: u16, retry_after: Option<Duration>) -> Kind {
        let names = [&*self.code, &*self.kind].map(str::to_ascii_lowercase);
        let is_named = |known: &[&str]| names.iter().any(|name| known.contains(&name.as_str()));
        let message = self.message.to_ascii_lowercase();
        let says = |known: &[&str]| known.iter().any(|words| message.contains(words));
        if is_named(&FILTERED) || says(&["content management policy"]) {
            Kind::Filtered
        } else if status == 402 || is_named(&OUT_OF_MONEY) || says(&OUT_OF_MONEY_WORDS) {
            Kind::OutOfMoney
        } else if status == 429 || is_named(&["rate_limit_exceeded"]) {
            Kind::SlowDown(retry_after)
        } else if is_named(&OVERFLOW) || says(&OVERFLOW_WORDS) {
            Kind::Overflow
        } else {
            Kind::Unusable
        }
    }

    /// The error for the log.
    pub(super) fn describe(&self, status: u16, discretion: &Discretion<'_>) -> String {
        let mut text = format!("upstream answered {status} with an error");
        // Codes and types are words of the upstream's own: a short turn that happens to be one hides
        // nothing.
        for (name, value, len_min) in [
            ("code", &self.code, REPEATED_LEN),
            ("type", &self.kind, REPEATED_LEN),
            ("message", &self.message, REPEATED_LEN_MIN),
        ] {
            if !value.is_empty() {
                text.push_str(&format!(", {name} {}", discretion.quote(value, len_min)));
            }
        }
        text
    }
}

const FILTERED: [&str; 4] = [
    "content_filter",
    "content_filtered",
    "content_policy_violation",
    "responsibleaipolicyviolation",
];
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

fn word(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => {
            String::new()
        }
    }
}

/// What of an upstream's words may be logged. Upstreams like to repeat what they were sent.
#[derive(Debug)]
pub(super) struct Discretion<'a> {
    conversation: &'a Conversation,
    key: Option<&'a str>,
}

/// More of one text is not quoted, in characters.
const QUOTED_CHARS_MAX: usize = 160;
/// So many letters and digits in a row are a quotation.
const REPEATED_LEN: usize = 10;
/// Shorter turns cannot be told from anybody's words.
const REPEATED_LEN_MIN: usize = 4;

impl<'a> Discretion<'a> {
    pub(super) fn new(conversation: &'a Conversation, key: Option<&'a str>) -> Self {
        Self { conversation, key }
    }

    /// `text` in quotes, bounded and on one line; a remark in its place if it repeats the
    /// conversation or the key. Turns of less than `len_min` letters are not looked for.
    fn quote(&self, text: &str, len_min: usize) -> String {
        let head: String = text.chars().take(QUOTED_CHARS_MAX).collect();
        if self.repeats_secret(&head, len_min) {
            return "(withheld: it repeats what was sent)".to_owned();
        }
        let line: String = head
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let more = if head.len() < text.len() { "..." } else { "" };
        format!("\"{line}{more}\"")
    }

    fn repeats_secret(&self, text: &str, len_min: usize) -> bool {
        let text = letters(text);
        let turns = self.conversation.messages().iter();
        turns
            .map(|turn| turn.content.as_str())
            .chain(self.key)
            .map(letters)
            .any(|secret| secret.len() >= len_min && repeats(&text, &secret))
    }
}

fn letters(text: &str) -> Vec<char> {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Whether a part of `secret`, or all of a short one, stands in `text`.
fn repeats(text: &[char], secret: &[char]) -> bool {
    let len = secret.len().min(REPEATED_LEN);
    let parts: std::collections::HashSet<&[char]> = text.windows(len).collect();
    secret.windows(len).any(|part| parts.contains(part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::chat::{Content, Message, Role};

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
            (json!({"choices": [{"message": {"content": "x"}}]}), None),
            (json!({}), None),
            (json!("x"), None),
        ] {
            assert_eq!(UpstreamError::find(&body), expected, "{body}");
        }
    }

    #[test]
    fn the_log_is_not_told_what_the_visitor_wrote() {
        let turn = |text: &str| Message {
            role: Role::User,
            content: Content::parse(text.to_owned()).unwrap(),
        };
        let conversation = Conversation::parse(vec![
            turn("my dog's name is Rex"),
            turn("Rufus"),
            turn("hi"),
        ])
        .unwrap();
        let discretion = Discretion::new(&conversation, Some("sk-0123456789abcdef"));
        for (text, is_quoted) in [
            ("model not found", true),
            ("no hit", true),
            ("bad input: 'MY DOG\\'S NAME is'", false),
            ("what is rufus?", false),
            ("Incorrect API key provided: sk-0123456789abcdef", false),
        ] {
            assert_eq!(
                discretion.quote(text, REPEATED_LEN_MIN).starts_with('"'),
                is_quoted,
                "{text}"
            );
        }
        assert_eq!(discretion.quote("rufus", REPEATED_LEN), "\"rufus\"");
        let long = discretion.quote(&"é\n".repeat(500), REPEATED_LEN_MIN);
        assert!(long.chars().count() <= QUOTED_CHARS_MAX + 5, "{long}");
        assert!(!long.contains('\n'));
    }
}
