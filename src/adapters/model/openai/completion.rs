//! The text in a chat completion, or in a chunk of one.

use serde_json::Value;

/// The first choice of a completion, or of a chunk of one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Completion {
    /// The text, without fields and parts that are marked as reasoning.
    pub(super) text: String,
    /// Reason why the model stopped, once it has.
    pub(super) finish_reason: Option<String>,
    /// True if some of it was marked as reasoning.
    pub(super) has_reasoning: bool,
}

impl Completion {
    /// Reads a body without an error. Some servers repeat the whole text so far in `message` next to each `delta`;
    /// others send an empty `delta` next to a whole `message`, which counts unless there was text before (`has_text`).
    pub(super) fn read(body: &Value, has_text: bool) -> Self {
        let mut completion = Self::default();
        // The last chunk of a stream has no choice.
        let Some(choice) = body.pointer("/choices/0") else {
            return completion;
        };
        let is_said = |value: &&Value| value.get("content").is_some_and(|text| !is_blank(text));
        let [message, delta] =
            ["message", "delta"].map(|name| choice.get(name).filter(|value| value.is_object()));
        let message = delta
            .filter(is_said)
            .or(message.filter(|_| !has_text))
            .or(delta)
            .or(message)
            .unwrap_or(&Value::Null);
        let finish_reason = choice.get("finish_reason").and_then(Value::as_str);
        let finish_reason = finish_reason.filter(|reason| !reason.is_empty());
        completion.finish_reason = finish_reason.map(str::to_owned);
        let names = ["reasoning_content", "reasoning", "thinking"];
        let mut reasoning = names.iter().filter_map(|name| message.get(name));
        completion.has_reasoning = reasoning.any(|text| !is_blank(text));
        match message.get("content") {
            Some(Value::String(text)) => completion.text.clone_from(text),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| completion.add(part)),
            _ => {}
        }
        // A refusal is written for the visitor.
        if completion.text.is_empty()
            && let Some(refusal) = message.get("refusal").and_then(Value::as_str)
        {
            refusal.clone_into(&mut completion.text);
        }
        completion
    }

    /// True if the model failed in the middle of its answer.
    pub(super) fn has_failed(&self) -> bool {
        let reason = self.finish_reason.as_deref().unwrap_or_default();
        has_any(&reason.to_lowercase(), FAILURES)
    }

    /// Adds a part of a `content` array.
    fn add(&mut self, part: &Value) {
        let kind = part.get("type").and_then(Value::as_str);
        // Gemini marks a thought next to its text, whatever the type.
        if part
            .get("thought")
            .is_some_and(|thought| !is_blank(thought))
            || kind.is_some_and(|kind| !SHOWN.contains(&kind))
        {
            self.has_reasoning = true;
            return;
        }
        let text = part.get("text").or_else(|| part.get("refusal"));
        let text = text.and_then(Value::as_str);
        self.text.push_str(text.unwrap_or_default());
    }
}

/// Types of parts written for the visitor.
const SHOWN: [&str; 3] = ["text", "output_text", "refusal"];

/// Parts of finish reasons that mean a failure.
const FAILURES: &str = "error|abort|cancel|fail|insufficient|timeout|overload|exception|interrupt|\
                        unavailable";

/// True if `text` contains one of `parts`, which are separated by bars.
pub(super) fn has_any(text: &str, parts: &str) -> bool {
    parts.split('|').any(|part| text.contains(part))
}

/// A field without content.
pub(super) fn is_blank(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    #[allow(clippy::too_many_lines, reason = "rows of a table")]
    fn the_text_is_found_in_every_form_and_reasoning_never_is() {
        for (message, text, has_reasoning) in [
            (json!({"content": "x"}), "x", false),
            (json!({"content": null}), "", false),
            (json!({"content": ""}), "", false),
            (json!({}), "", false),
            (json!({"content": 7}), "", false),
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                "ab",
                false,
            ),
            (json!({"content": [{"text": "a"}, 7]}), "a", false),
            (
                json!({"content": [
                    {"type": "reasoning_text", "text": "secret"},
                    {"type": "summary_text", "text": "secret"},
                    {"type": "output_text", "text": "a"},
                ]}),
                "a",
                true,
            ),
            (
                json!({"content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "secret"}]},
                    {"type": "text", "text": "a"},
                ]}),
                "a",
                true,
            ),
            (
                json!({"content": [
                    {"type": "text", "text": "secret", "thought": true},
                    {"text": "secret", "thought": "x"},
                    {"thought": "secret"},
                    {"type": "text", "text": "a", "thought": false},
                ]}),
                "a",
                true,
            ),
            (
                json!({"content": [{"text": "a", "thought": null}]}),
                "a",
                false,
            ),
            (json!({"content": null, "refusal": "No."}), "No.", false),
            (
                json!({"content": [{"type": "refusal", "refusal": "No."}]}),
                "No.",
                false,
            ),
            (
                json!({"content": "", "reasoning_content": "secret"}),
                "",
                true,
            ),
            (json!({"content": "x", "reasoning": "secret"}), "x", true),
            (json!({"content": null, "thinking": "secret"}), "", true),
            (json!({"content": null, "tool_calls": [{}]}), "", false),
        ] {
            for name in ["message", "delta"] {
                let body = json!({"choices": [{name: message, "finish_reason": null}]});
                for has_text in [false, true] {
                    let completion = Completion::read(&body, has_text);
                    assert_eq!(completion.text, text, "{body}");
                    assert_eq!(completion.has_reasoning, has_reasoning, "{body}");
                    assert_eq!(completion.finish_reason, None);
                }
            }
        }
        let usage = json!({"choices": [], "usage": {"total_tokens": 3}});
        assert_eq!(Completion::read(&usage, true), Completion::default());
        let last = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
        assert_eq!(
            Completion::read(&last, true).finish_reason.as_deref(),
            Some("stop")
        );
    }

    #[test]
    fn a_message_next_to_a_delta_counts_only_if_nothing_was_said() {
        let read = |delta: &str, message: &str, has_text| {
            let choice = json!({"delta": {"content": delta}, "message": {"content": message}});
            Completion::read(&json!({"choices": [choice]}), has_text).text
        };
        assert_eq!(read("Hi", "Hi", false), "Hi");
        assert_eq!(read(" you", "Hi you", true), " you");
        assert_eq!(read("", "Hi you", true), "");
        assert_eq!(read("", "Hi you", false), "Hi you");
    }

    #[test]
    fn some_reasons_are_failures() {
        for (reason, has_failed) in [
            ("error", true),
            ("ABORT", true),
            ("cancelled", true),
            ("network_error", true),
            ("insufficient_system_resource", true),
            ("stop", false),
            ("length", false),
            ("content_filter", false),
            ("eos_token", false),
        ] {
            let body = json!({"choices": [{"delta": {}, "finish_reason": reason}]});
            assert_eq!(
                Completion::read(&body, true).has_failed(),
                has_failed,
                "{reason}"
            );
        }
    }
}
