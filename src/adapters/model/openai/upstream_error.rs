//! Errors of the upstream: status, code and `Retry-After` decide what follows.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};
use serde_json::Value;

use crate::ports::ModelError;

use super::breaker::Verdict;
use super::failure::TurnFailure;

/// Pause when the account has no credit; also the maximum for `Retry-After`.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// The pause for a date without a `Date` to measure it from.
const UNKNOWN_PAUSE: Duration = Duration::from_secs(10);
/// The longest code or type that is logged, in bytes.
const IDENTIFIER_LEN_MAX: usize = 64;

/// An error object; what a server does not say is empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UpstreamError {
    code: String,
    kind: String,
    message: String,
}

impl UpstreamError {
    /// Finds the error in a body: `error` as an object (OpenAI) or a text (Ollama, LM Studio), or a
    /// body that is one itself (vLLM).
    pub(super) fn find(body: &Value) -> Option<Self> {
        let error = match body.get("error") {
            Some(error @ Value::Object(members)) if !members.is_empty() => error,
            Some(Value::String(message)) if !message.trim().is_empty() => {
                return Some(Self {
                    message: message.clone(),
                    ..Self::default()
                });
            }
            _ if body.get("object").is_some_and(|object| object == "error") => body,
            _ => return None,
        };
        let member = |name| match error.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        Some(Self {
            code: member("code"),
            kind: member("type"),
            message: member("message"),
        })
    }

    /// What follows from an answer with `status` and this error.
    pub(super) fn into_failure(self, status: StatusCode, pause: Option<Duration>) -> TurnFailure {
        use ModelError::{NotStarted, Started, Unusable};
        use Verdict::{Alive, Dead, Pause};
        const FILTERED: &str = ": the question or the answer was filtered out";
        const NO_CREDIT: &str = ": the account has no credit left";
        const TOO_LONG: &str = ": the conversation is longer than the model's context";
        const KEY: &str = ": the key is not accepted, see --model-key-file";
        const MODEL: &str = ": there is no such model or address, see --model and --model-url";
        const ABSENT: &str = ": the model's server is not there";

        let status = status.as_u16();
        let is_overflow = status != 429 && self.is_overflow();
        let pause_or = |verdict| pause.map_or(verdict, |pause| Pause(pause.min(PAUSE_MAX)));
        let (bearer, verdict, meaning): (fn(String) -> ModelError, Verdict, &str) = match status {
            _ if self.is_named("content_filter") => (Started, Alive, FILTERED),
            _ if status == 402 || self.is_named("insufficient_quota") => {
                (NotStarted, Pause(PAUSE_MAX), NO_CREDIT)
            }
            _ if is_overflow => (NotStarted, Alive, TOO_LONG),
            401 | 403 => (NotStarted, Dead, KEY),
            404 => (NotStarted, Dead, MODEL),
            429 => (NotStarted, pause_or(Alive), ": too many requests"),
            502 | 503 => (NotStarted, pause_or(Dead), ABSENT),
            // The model may have worked behind the gateway.
            504 => (Unusable, pause_or(Dead), ABSENT),
            400..=407 | 409..=499 => (NotStarted, Alive, ""),
            // A 500 does not count against the upstream: some servers return 500 for a question
            // they cannot process, and one visitor could open the breaker.
            _ => (Unusable, Alive, ""),
        };
        let mut cause = format!("upstream answered {status} with an error{meaning}");
        for (name, word) in [("code", &self.code), ("type", &self.kind)] {
            if is_identifier(word) {
                cause.push_str(&format!(", {name} \"{word}\""));
            }
        }
        TurnFailure {
            is_overflow,
            ..TurnFailure::new(bearer(cause), verdict)
        }
    }

    fn is_named(&self, name: &str) -> bool {
        self.code == name || self.kind == name
    }

    /// vLLM and others have no code for it, so the message is read, too.
    fn is_overflow(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        let phrases = ["context length", "context size", "context window"];
        self.is_named("context_length_exceeded")
            || self.is_named("exceed_context_size_error")
            || phrases.iter().any(|phrase| message.contains(phrase))
    }
}

/// Whether a code or type may be logged. A message never is: it may repeat the visitor's text.
fn is_identifier(word: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=IDENTIFIER_LEN_MAX).contains(&word.len()) && word.bytes().all(is_part)
}

/// The pause that `Retry-After` (RFC 9110, section 10.2.3) asks for, if any.
///
/// A date is measured from the response's own `Date`, as both are by the upstream's clock.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = text(headers, RETRY_AFTER)?;
    let pause = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Only overflow is left to fail.
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        let until = httpdate::parse_http_date(text).ok()?;
        match self::text(headers, DATE).map(httpdate::parse_http_date) {
            Some(Ok(now)) => until.duration_since(now).unwrap_or_default(),
            Some(Err(_)) | None => UNKNOWN_PAUSE,
        }
    };
    (!pause.is_zero()).then_some(pause)
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    Some(headers.get(name)?.to_str().ok()?.trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
            (
                json!({"choices": [], "error": {"code": 502, "message": "m"}}),
                error("502", "", "m"),
            ),
            (json!({"choices": [], "error": null}), None),
            (json!({"choices": [], "error": ""}), None),
            (json!({"choices": [], "error": {}}), None),
            (json!({"choices": [], "error": []}), None),
            (json!({"choices": [], "error": false}), None),
            (json!({"choices": [{"message": {"content": "x"}}]}), None),
            (json!({}), None),
            (json!("x"), None),
        ] {
            assert_eq!(UpstreamError::find(&body), expected, "{body}");
        }
    }

    fn failure(status: u16, code: &str, kind: &str, message: &str) -> TurnFailure {
        let error = UpstreamError {
            code: code.to_owned(),
            kind: kind.to_owned(),
            message: message.to_owned(),
        };
        error.into_failure(StatusCode::from_u16(status).unwrap(), None)
    }

    fn cause(status: u16, code: &str, kind: &str, message: &str) -> String {
        failure(status, code, kind, message).error.to_string()
    }

    #[test]
    fn the_log_has_codes_and_never_a_message() {
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
            for cause in [cause(500, word, "", "Rex"), cause(500, "", word, "Rex")] {
                let quoted = format!("\"{word}\"");
                assert_eq!(cause.contains(&quoted), is_logged, "{cause}");
                assert!(is_logged || !cause.contains(','), "{cause}");
                assert!(!cause.contains("Rex"), "{cause}");
            }
        }
    }

    #[test]
    fn what_an_error_means_is_logged_in_our_own_words() {
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
            (429, "insufficient_quota", "", "no credit left"),
            (401, "", "", "--model-key-file"),
            (403, "", "", "--model-key-file"),
            (404, "", "", "--model and --model-url"),
            (429, "", "", "too many requests"),
            (503, "", "", "not there"),
            (400, "content_filter", "", "filtered out"),
        ] {
            let cause = cause(status, code, "", message);
            assert!(cause.contains(part), "{status} {code} {message}: {cause}");
        }
    }

    #[test]
    fn a_server_that_is_not_there_counts_as_dead_and_one_that_fails_does_not() {
        let long = Some(Duration::from_secs(3600));
        let short = Some(Duration::from_secs(7));
        for (status, retry_after, verdict) in [
            (500, None, Verdict::Alive),
            (500, long, Verdict::Alive),
            (501, None, Verdict::Alive),
            (502, None, Verdict::Dead),
            (502, short, Verdict::Pause(Duration::from_secs(7))),
            (503, None, Verdict::Dead),
            (504, None, Verdict::Dead),
            (503, short, Verdict::Pause(Duration::from_secs(7))),
            (503, long, Verdict::Pause(Duration::from_secs(60))),
            (429, long, Verdict::Pause(Duration::from_secs(60))),
            (429, None, Verdict::Alive),
            (400, None, Verdict::Alive),
            (408, None, Verdict::Alive),
            (401, None, Verdict::Dead),
            (403, long, Verdict::Dead),
            (404, None, Verdict::Dead),
            (422, None, Verdict::Alive),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let failure = UpstreamError::default().into_failure(status, retry_after);
            assert_eq!(failure.verdict, verdict, "{status} {retry_after:?}");
        }
    }

    #[test]
    fn only_what_may_have_cost_something_counts_under_assistant_all() {
        for (status, code, is_charged) in [
            (400, "", false),
            (401, "", false),
            (403, "", false),
            (404, "", false),
            (405, "", false),
            (408, "", true),
            (409, "", false),
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
            (200, "insufficient_quota", false),
            (200, "context_length_exceeded", false),
        ] {
            let error = failure(status, code, "", "").into_error(false);
            let is_unusable = matches!(error, ModelError::Unusable(_));
            let is_free = matches!(error, ModelError::NotStarted(_));
            assert_eq!((is_unusable, is_free), (is_charged, !is_charged), "{error}");
            let read = failure(status, code, "", "").into_error(true);
            assert!(matches!(read, ModelError::Started(_)), "{read}");
        }
    }

    #[test]
    fn seconds_and_dates_are_read_and_nonsense_is_not() {
        let date = Some("Sat, 21 Nov 2026 12:00:00 GMT");
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (value, date, expected) in [
            ("7", None, seconds(7)),
            (" 7 ", date, seconds(7)),
            ("0", None, None),
            ("99999999999999999999", None, seconds(u64::MAX)),
            ("Sat, 21 Nov 2026 12:00:30 GMT", date, seconds(30)),
            ("Saturday, 21-Nov-26 12:01:00 GMT", date, seconds(60)),
            ("Sat Nov 21 12:00:01 2026", date, seconds(1)),
            ("Sat, 21 Nov 2026 11:59:59 GMT", date, None),
            ("Sat, 21 Nov 2026 12:00:30 GMT", None, seconds(10)),
            (
                "Sat, 21 Nov 2026 12:00:30 GMT",
                Some("yesterday"),
                seconds(10),
            ),
            ("", date, None),
            ("-7", date, None),
            ("7.5", date, None),
            ("soon", date, None),
            ("\u{e9}", date, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().unwrap());
            if let Some(date) = date {
                headers.insert(DATE, date.parse().unwrap());
            }
            assert_eq!(retry_after(&headers), expected, "{value:?} {date:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
