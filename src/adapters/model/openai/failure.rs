//! Turns without a usable answer: who pays for one, what it reveals about the upstream, and what to do next. Errors of
//! the upstream are judged by status, code, message and `Retry-After`.

use std::time::Duration;

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::adapters::lenient_json;
use crate::ports::ModelError;

use super::breaker::Verdict;

/// A turn without a usable answer.
#[derive(Debug)]
pub(super) struct TurnFailure {
    /// The variant decides who pays for the turn, as long as nothing of the answer was read. The text is for the log: it is
    /// bounded and quotes neither the visitor nor the model.
    pub(super) error: ModelError,
    pub(super) verdict: Verdict,
    /// A variant of the request that may work.
    pub(super) remedy: Option<Remedy>,
}

/// A variant of a refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// The conversation is longer than the model's context.
    LessHistory,
    /// The model does not accept the role `system`.
    JoinedPrompt,
}

/// The upstream is alive.
impl From<ModelError> for TurnFailure {
    fn from(error: ModelError) -> Self {
        Self {
            error,
            verdict: Verdict::Alive,
            remedy: None,
        }
    }
}

impl TurnFailure {
    /// The upstream cannot be reached.
    pub(super) fn dead(cause: String) -> Self {
        Self {
            verdict: Verdict::Dead,
            ..ModelError::NotStarted(cause).into()
        }
    }
}

/// The upstream is alive, but its answer is unusable.
pub(super) fn unusable(cause: impl Into<String>) -> ModelError {
    ModelError::Unusable(cause.into())
}

/// The error once a piece of the answer has been read: the visitor pays for the turn.
pub(super) fn paid(error: ModelError) -> ModelError {
    match error {
        ModelError::NotStarted(cause) | ModelError::Unusable(cause) => ModelError::Started(cause),
        ModelError::Started(_) | ModelError::Abandoned(_) => error,
    }
}

/// Pause when the account has no credit; also the maximum for `Retry-After`.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Longest code or type that is logged, in bytes.
const IDENTIFIER_LEN_MAX: usize = 64;

/// Phrases for a conversation that is too long, whatever the status.
const OVERFLOWS: &str = "context_length_exceeded|exceed_context_size|context length|context size|\
                         context window|context limit|is too long|too many tokens|token count|prompt length";
/// Phrases for a request that is too long, if the status blames the request.
const LENGTHS: &str = "token|context|length|too long|too large|exceed";
/// Phrases for a chat template without the role `system`.
const ROLES: &str = "roles must alternate|roles are supported|role is not supported|\
                     system role|developer instruction";
/// Fields that report an error in a body without an answer.
const REPORTS: &str =
    "detail|message|msg|error_msg|error_message|error_code|errorMessage|statusCode|title";
/// Fields with an error in a body, in its choice, or in another error.
const ERRORS: &str = "error|errors|fault|exception";

/// Finds the error in the body of a successful response: `error` (OpenAI, Ollama) or `errors` in it or in its choice, or
/// a body that is itself an error (vLLM, `FastAPI`, Anthropic).
pub(super) fn error_in(body: &Value) -> Option<&Value> {
    let places = ["", "/0", "/choices/0", "/choices/0/delta"];
    let mut places = places.iter().filter_map(|place| body.pointer(place));
    places.find_map(inner).or_else(|| {
        let is = |name: &str| body.get(name).is_some_and(|value| value == "error");
        let says = |value: &Value| !is_blank(value) && !value.is_object();
        let mut reports = REPORTS.split('|').filter_map(|name| body.get(name));
        let is_report = reports.any(says) || is("object") || is("type");
        let code = body.get("code").and_then(Value::as_u64);
        let is_success = matches!(code, Some(0 | 200));
        let is_answer = body.pointer("/choices/0").is_some();
        (is_report && !is_success && !is_answer).then_some(body)
    })
}

/// The error in the body of a response with an error status, whatever its format.
pub(super) fn error_of(body: &[u8]) -> Value {
    let text = |_not_json| String::from_utf8_lossy(body).into();
    lenient_json::parse(body).unwrap_or_else(text)
}

/// The failure that a response with `status` and this error means.
pub(super) fn failure_of(
    error: &Value,
    status: StatusCode,
    pause: Option<Duration>,
) -> TurnFailure {
    use ModelError::{NotStarted, Started, Unusable};
    use Verdict::{Alive, Dead, Pause};
    const FILTERED: &str = ": the question or the answer was filtered out";
    const TOO_LONG: &str = ": the conversation may be longer than the model's context";
    const NO_SYSTEM: &str = ": the model does not accept the role \"system\"";
    const KEY: &str = ": the key is not accepted, see --model-key-file";
    const MODEL: &str = ": there is no such model or address, see --model and --model-url";
    const ABSENT: &str = ": the model's server is unavailable";

    let status = status.as_u16();
    let names = ["code", "type"].map(|name| (name, member(error, name)));
    let is_named = |word: &str| names.iter().any(|(_, named)| named == word);
    let remedy = remedy(status, &error.to_string().to_lowercase());
    let pause_or = |verdict| pause.map_or(verdict, |pause| Pause(pause.min(PAUSE_MAX)));
    let (bearer, verdict, meaning): (fn(String) -> ModelError, Verdict, &str) = match status {
        _ if is_named("content_filter") => (Started, Alive, FILTERED),
        _ if status == 402 || is_named("insufficient_quota") => {
            let no_credit = ": the account has no credit left";
            (NotStarted, Pause(PAUSE_MAX), no_credit)
        }
        _ if remedy == Some(Remedy::LessHistory) => (NotStarted, Alive, TOO_LONG),
        _ if remedy == Some(Remedy::JoinedPrompt) => (NotStarted, Alive, NO_SYSTEM),
        401 | 403 => (NotStarted, Dead, KEY),
        404 => (NotStarted, Dead, MODEL),
        429 => (NotStarted, pause_or(Alive), ": too many requests"),
        502 | 503 => (NotStarted, pause_or(Dead), ABSENT),
        // The model may have worked behind the gateway.
        504 => (Unusable, pause_or(Dead), ABSENT),
        400..=407 | 409..=499 => (NotStarted, Alive, ""),
        // A 500 does not count against the upstream: some servers return 500 for a question that they cannot
        // process, and one visitor could open the breaker.
        _ => (Unusable, Alive, ""),
    };
    let mut cause = format!("upstream returned {status} with an error{meaning}");
    for (name, word) in names {
        if is_identifier(&word) {
            cause.push_str(&format!(", {name} \"{word}\""));
        }
    }
    TurnFailure {
        error: bearer(cause),
        verdict,
        remedy,
    }
}

/// Most servers have no code for it, so the `words` of the whole error are searched.
fn remedy(status: u16, words: &str) -> Option<Remedy> {
    let says = |phrases| has_any(words, phrases);
    match status {
        401..=404 | 429 | 502..=504 => None,
        _ if says(OVERFLOWS) => Some(Remedy::LessHistory),
        200 | 400 | 422 | 500 if says(ROLES) || says("system") && says("support") => {
            Some(Remedy::JoinedPrompt)
        }
        413 => Some(Remedy::LessHistory),
        400 | 422 if says(LENGTHS) => Some(Remedy::LessHistory),
        _ => None,
    }
}

/// True if `text` contains one of `parts`, which are separated by bars.
pub(super) fn has_any(text: &str, parts: &str) -> bool {
    parts.split('|').any(|part| text.contains(part))
}

/// A field without content.
pub(super) fn is_blank(value: &Value) -> bool {
    let blanks = [Value::Null, json!(false), json!(0), json!([]), json!({})];
    let text = value.as_str();
    text.map_or_else(|| blanks.contains(value), |text| text.trim().is_empty())
}

/// The error in a part of a body.
fn inner(part: &Value) -> Option<&Value> {
    let mut errors = ERRORS.split('|').filter_map(|name| part.get(name));
    errors.find(|error| !is_blank(error))
}

/// A field of an error; of the innermost one if they are nested.
fn member(error: &Value, name: &str) -> String {
    let nested = inner(error).or_else(|| error.get(0));
    let nested = nested.map(|nested| member(nested, name));
    match (nested, error.get(name)) {
        (Some(nested), _) if !nested.is_empty() => nested,
        (_, Some(Value::String(text))) => text.clone(),
        (_, Some(Value::Number(number))) => number.to_string(),
        _ => String::new(),
    }
}

/// A code or type that may be logged. A message never is: it may quote the visitor.
pub(super) fn is_identifier(word: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=IDENTIFIER_LEN_MAX).contains(&word.len()) && word.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rows::rows;

    /// Bodies, and the code and the type of their errors; nothing for those without one.
    const FORMS: &str = r#"
{"error": {"message": "m", "type": "t", "param": null, "code": "c"}} | c/t
{"error": {"message": "m", "type": "t", "code": null}} | /t
{"error": {"code": 400, "message": "m", "type": "t"}} | 400/t
{"object": "error", "message": "m", "type": "t", "code": 400} | 400/t
{"error": "m"} | /
{"error": true} | /
{"choices": [], "error": {"code": 502, "message": "m"}} | 502/
{"error": [{"message": "m"}]} | /
{"error": [{"error": {"code": "c"}, "type": "t"}]} | c/t
[{"error": {"code": 429, "message": "m"}}] | 429/
{"success": false, "errors": [{"code": 7}]} | 7/
{"type": "error", "error": {"type": "t", "message": "m"}} | /t
{"type": "error", "message": "m"} | /error
{"detail": "m"} | /
{"detail": [{"msg": "m"}]} | /
{"message": "m", "code": 7} | 7/
{"error_msg": "m", "error_code": 7} | /
{"type": "about:blank", "title": "m", "status": 500} | /about:blank
{"fault": {"code": 7}} | 7/
{"errorMessage": "m"} | /
{"statusCode": 500} | /
{"choices": [{"delta": {"content": ""}, "error": {"code": 502}}]} | 502/
{"choices": [], "error": null} |
{"choices": [], "error": ""} |
{"choices": [], "error": {}} |
{"choices": [], "error": []} |
{"choices": [], "error": false} |
{"choices": [{"message": {"content": "x"}}]} |
{"choices": [{"message": {"content": "x"}}], "message": "", "detail": "x"} |
{"code": 0, "message": "Success", "choices": []} |
{"type": "ping"} |
{"usage": {"total_tokens": 7}} |
{"message": {"content": "x"}, "done": false} |
{} |
"x" |
"#;

    #[test]
    fn an_error_is_found_in_every_form() {
        for [body, expected] in rows(FORMS) {
            let body: Value = serde_json::from_str(body).unwrap();
            let found = error_in(&body);
            let found = found.map(|error| [member(error, "code"), member(error, "type")].join("/"));
            assert_eq!(found.unwrap_or_default(), expected, "{body}");
        }
    }

    /// A status, the message of an error, and the remedy: less history, a joined prompt, or none.
    const REMEDIES: &str = "
400 | prompt is too long: 9000 tokens > 8192 maximum | less
400 | This model's maximum context length is 8192 | less
400 | the request exceeds the available context size | less
500 | the request exceeds the available context size | less
422 | `inputs` tokens + `max_new_tokens` must be <= 4096 | less
400 | The input token count (9) exceeds the maximum | less
400 | Range of input length should be [1, 6000] | less
400 | Trying to keep the first 5000 tokens when context overflows | less
400 | input length exceeds the limit | less
400 | Prompt contains 9000 tokens | less
413 | | less
413 | <html>413 Request Entity Too Large</html> | less
400 | Please shorten it |
429 | too many tokens per minute |
401 | invalid token |
500 | context deadline exceeded |
500 | took too long |
503 | context length |
400 | System role not supported | joined
500 | {{ bos_token }} Jinja Exception: System role not supported | joined
400 | Only user, assistant and tool roles are supported, but got system. | joined
400 | Conversation roles must alternate user/assistant | joined
400 | Developer instruction is not enabled for gemma-3 | joined
404 | System role not supported |
500 | the system is overloaded |
";

    #[test]
    fn the_words_of_an_error_tell_how_the_model_may_be_asked_again() {
        for [status, words, remedy] in rows(REMEDIES) {
            let expected = match remedy {
                "less" => Some(Remedy::LessHistory),
                "joined" => Some(Remedy::JoinedPrompt),
                _ => None,
            };
            for body in [
                words.to_owned(),
                json!({"error": {"message": words}}).to_string(),
                json!({"error": words, "error_type": "validation"}).to_string(),
                json!([{"error": {"code": 400, "message": words}}]).to_string(),
                json!({"detail": [{"error": {"message": [words]}}]}).to_string(),
            ] {
                let error = error_of(body.as_bytes());
                let failure = failure_of(&error, status.parse().unwrap(), None);
                assert_eq!(failure.remedy, expected, "{status} {body}");
            }
        }
    }

    /// The cause in the log of a 500 with these texts.
    fn cause(code: &str, kind: &str) -> String {
        let error = json!({"code": code, "type": kind, "message": "Rex"});
        let failure = failure_of(&error, StatusCode::INTERNAL_SERVER_ERROR, None);
        failure.error.to_string()
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
            for cause in [cause(word, ""), cause("", word)] {
                let quoted = format!("\"{word}\"");
                assert_eq!(cause.contains(&quoted), is_logged, "{cause}");
                assert!(is_logged || !cause.contains(','), "{cause}");
                assert!(!cause.contains("Rex"), "{cause}");
            }
        }
    }

    /// A status and a code, `Retry-After` in seconds, what it says of the server, who pays for a turn of which nothing
    /// was read (nobody; everybody under `assistant-all`; the visitor), and words of the cause.
    const MEANINGS: &str = "
200                         |      | Alive      | all     |
200 500                     |      | Alive      | all     |
200 502                     |      | Alive      | all     |
200 insufficient_quota      |      | Pause(60s) | nobody  | no credit left
200 context_length_exceeded |      | Alive      | nobody  | longer than the model
400                         |      | Alive      | nobody  |
400 content_filter          |      | Alive      | visitor | filtered out
400 context_length_exceeded |      | Alive      | nobody  | longer than the model
401                         |      | Dead       | nobody  | --model-key-file
402                         |      | Pause(60s) | nobody  | no credit left
403                         |      | Dead       | nobody  | --model-key-file
403                         | 3600 | Dead       | nobody  | --model-key-file
404                         |      | Dead       | nobody  | --model and --model-url
405                         |      | Alive      | nobody  |
408                         |      | Alive      | all     |
409                         |      | Alive      | nobody  |
413                         |      | Alive      | nobody  |
422                         |      | Alive      | nobody  |
429                         |      | Alive      | nobody  | too many requests
429                         | 3600 | Pause(60s) | nobody  | too many requests
429 insufficient_quota      |      | Pause(60s) | nobody  | no credit left
500                         |      | Alive      | all     |
500                         | 3600 | Alive      | all     |
500 the context size        |      | Alive      | nobody  | longer than the model
501                         |      | Alive      | all     |
502                         |      | Dead       | nobody  | unavailable
502                         | 7    | Pause(7s)  | nobody  | unavailable
503                         |      | Dead       | nobody  | unavailable
503                         | 7    | Pause(7s)  | nobody  | unavailable
503                         | 3600 | Pause(60s) | nobody  | unavailable
504                         |      | Dead       | all     | unavailable
";

    #[test]
    fn an_error_says_whether_the_server_is_there_who_pays_and_what_it_means() {
        for [error, retry_after, verdict, payer, part] in rows(MEANINGS) {
            let (status, code) = error.split_once(' ').unwrap_or((error, ""));
            let pause = retry_after.parse().ok().map(Duration::from_secs);
            let failure = failure_of(&json!({ "code": code }), status.parse().unwrap(), pause);
            assert_eq!(format!("{:?}", failure.verdict), verdict, "{error}");
            let found = match &failure.error {
                ModelError::NotStarted(_) => "nobody",
                ModelError::Unusable(_) => "all",
                ModelError::Started(_) | ModelError::Abandoned(_) => "visitor",
            };
            assert_eq!(found, payer, "{error}");
            let cause = failure.error.to_string();
            assert!(cause.contains(part), "{error}: {cause}");
            let read = paid(failure.error);
            assert!(matches!(read, ModelError::Started(_)), "{error}: {read}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_that_is_told_in_few_words(
            bytes: Vec<u8>,
            text in r#"([\[{}\],]|"(error|errors|code|type|detail)":|"x"|7|null){0,20}"#,
            status in 200_u16..600,
        ) {
            let status = StatusCode::from_u16(status).unwrap();
            for body in [bytes.as_slice(), text.as_bytes()] {
                let failure = failure_of(&error_of(body), status, None);
                prop_assert!(failure.error.to_string().len() < 500);
                if let Ok(body) = lenient_json::parse(body) {
                    error_in(&body);
                }
            }
        }
    }
}
