//! Assembles the answer from a completion, or from chunks of one.

use serde_json::Value;

use crate::ports::ModelError;

use super::failure::{has_any, is_blank, is_identifier, paid, unusable};
use super::think_tags::ThinkTags;

/// Longest answer, in bytes.
const REPLY_BYTES_MAX: usize = 256 * 1024;

/// Types of parts written for the visitor.
const SHOWN: [&str; 3] = ["text", "output_text", "refusal"];
/// Parts of finish reasons that mean a failure.
const FAILURES: &str = "error|abort|cancel|fail|insufficient|timeout|overload|exception|interrupt|\
                        unavailable";

/// An unfinished answer.
#[derive(Debug)]
pub(super) struct Collector {
    pub(super) text: String,
    tags: ThinkTags,
    /// The model has said something, and be it a thought.
    has_said: bool,
    /// The finish reason; empty before there is one.
    reason: String,
}

impl Collector {
    pub(super) const fn new(thinks_first: bool) -> Self {
        Self {
            text: String::new(),
            tags: ThinkTags::new(thinks_first),
            has_said: false,
            reason: String::new(),
        }
    }

    /// Adds the text of a body without an error. Returns true once the model has stopped.
    ///
    /// # Errors
    /// [`ModelError`] when the model failed, or the answer gets too long.
    pub(super) fn add(&mut self, body: &Value) -> Result<bool, ModelError> {
        // The last chunk of a stream has no choice.
        let choice = body.pointer("/choices/0").unwrap_or(&Value::Null);
        if let Some(Value::String(reason)) = choice.get("finish_reason")
            && !reason.is_empty()
        {
            self.reason.clone_from(reason);
        }
        if has_any(&self.reason.to_lowercase(), FAILURES) {
            return Err(unusable("the model stopped with an error"));
        }
        let text = text_of(message_of(choice, self.has_said));
        self.has_said |= !text.is_empty();
        let text = self.tags.push(&text);
        self.append(&text)?;
        Ok(!self.reason.is_empty())
    }

    /// Ends the answer.
    ///
    /// # Errors
    /// [`ModelError`] when nothing is left of it.
    pub(super) fn finish(&mut self) -> Result<(), ModelError> {
        let rest = self.tags.finish();
        self.append(&rest)?;
        self.text.truncate(self.text.trim_end().len());
        let reason = match self.reason.as_str() {
            _ if !self.text.is_empty() => return Ok(()),
            "content_filter" => return Err(paid(unusable("the answer was filtered out"))),
            "" => "none",
            reason if is_identifier(reason) => reason,
            _ => "other",
        };
        let cause = format!("the answer is empty, or only thinking; finish reason: {reason}");
        Err(unusable(cause))
    }

    fn append(&mut self, text: &str) -> Result<(), ModelError> {
        // White space around the answer is dropped.
        let is_first = self.text.is_empty();
        let text = if is_first { text.trim_start() } else { text };
        if self.text.len() + text.len() > REPLY_BYTES_MAX {
            return Err(unusable("the answer is too long"));
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// The message in a choice. Some servers repeat the whole text so far in `message` next to each `delta`; others send an
/// empty `delta` next to a whole `message`, which counts unless there was text before (`has_said`).
fn message_of(choice: &Value, has_said: bool) -> &Value {
    let [message, delta] =
        ["message", "delta"].map(|name| choice.get(name).filter(|value| value.is_object()));
    let is_said = |value: &Value| value.get("content").is_some_and(|text| !is_blank(text));
    match (delta, message) {
        (Some(delta), _) if has_said || message.is_none() || is_said(delta) => delta,
        (_, Some(message)) => message,
        (_, None) => &Value::Null,
    }
}

/// The text of a message, without fields and parts that are marked as reasoning.
fn text_of(message: &Value) -> String {
    let mut text = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().map(shown_text).collect(),
        _ => String::new(),
    };
    // A refusal is written for the visitor.
    if let ("", Some(Value::String(refusal))) = (&*text, message.get("refusal")) {
        text.clone_from(refusal);
    }
    text
}

/// The text of a part of a `content` array; empty if it is reasoning.
fn shown_text(part: &Value) -> &str {
    let kind = part.get("type").and_then(Value::as_str);
    // Gemini marks a thought next to its text, whatever the type.
    let is_thought = part.get("thought").is_some_and(|mark| !is_blank(mark));
    if is_thought || kind.is_some_and(|kind| !SHOWN.contains(&kind)) {
        return "";
    }
    let text = part.get("text").or_else(|| part.get("refusal"));
    text.and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::rows::rows;

    /// Messages and their texts.
    const MESSAGES: &str = r#"
{"content": "x"} | x
{"content": null} |
{"content": ""} |
{} |
{"content": 7} |
{"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]} | ab
{"content": [{"text": "a"}, 7]} | a
{"content": [{"text": "a", "thought": null}]} | a
{"content": null, "refusal": "No."} | No.
{"content": [{"type": "refusal", "refusal": "No."}]} | No.
{"content": null, "tool_calls": [{}]} |
{"content": [{"type": "reasoning_text", "text": "s"}, {"type": "output_text", "text": "a"}]} | a
{"content": [{"type": "summary_text", "text": "s"}, {"type": "output_text", "text": "a"}]} | a
{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "s"}]}, {"type": "text", "text": "a"}]} | a
{"content": [{"type": "text", "text": "s", "thought": true}, {"type": "text", "text": "a", "thought": false}]} | a
{"content": [{"text": "s", "thought": "x"}, {"thought": "s"}, {"type": "text", "text": "a"}]} | a
{"content": "", "reasoning_content": "s"} |
{"content": "x", "reasoning": "s"} | x
{"content": null, "thinking": "s"} |
"#;

    #[test]
    fn the_text_is_found_in_every_form_and_reasoning_never_is() {
        for [message, text] in rows(MESSAGES) {
            let message: Value = serde_json::from_str(message).unwrap();
            for name in ["message", "delta"] {
                let choice = json!({name: message, "finish_reason": null});
                for has_said in [false, true] {
                    let found = text_of(message_of(&choice, has_said));
                    assert_eq!(found, text, "{choice}");
                }
            }
        }
    }

    #[test]
    fn a_message_that_repeats_thoughts_is_not_read_after_them() {
        let mut collector = Collector::new(true);
        let mut said = String::new();
        for delta in ["my secret", "</think>", "\n\n", "Hello", " you"] {
            said += delta;
            let choice = json!({"delta": {"content": delta}, "message": {"content": said}});
            collector.add(&json!({"choices": [choice]})).unwrap();
        }
        collector.finish().unwrap();
        assert_eq!(collector.text, "Hello you");
    }

    #[test]
    fn a_message_next_to_a_delta_counts_only_if_nothing_was_said() {
        let read = |delta: &str, message: &str, has_said| {
            let choice = json!({"delta": {"content": delta}, "message": {"content": message}});
            text_of(message_of(&choice, has_said))
        };
        assert_eq!(read("Hi", "Hi", false), "Hi");
        assert_eq!(read(" you", "Hi you", true), " you");
        assert_eq!(read("", "Hi you", true), "");
        assert_eq!(read("", "Hi you", false), "Hi you");
    }

    #[test]
    fn some_reasons_are_failures_and_others_end_the_answer() {
        for (reason, outcome) in [
            ("error", None),
            ("ABORT", None),
            ("cancelled", None),
            ("network_error", None),
            ("overloaded", None),
            ("insufficient_system_resource", None),
            ("", Some(false)),
            ("stop", Some(true)),
            ("length", Some(true)),
            ("content_filter", Some(true)),
            ("eos_token", Some(true)),
        ] {
            let body = json!({"choices": [{"delta": {}, "finish_reason": reason}]});
            let mut collector = Collector::new(false);
            assert_eq!(collector.add(&body).ok(), outcome, "{reason}");
        }
        let usage = json!({"choices": [], "usage": {"total_tokens": 3}});
        let mut collector = Collector::new(false);
        assert_eq!(collector.add(&usage).ok(), Some(false));
    }

    proptest! {
        #[test]
        fn any_chunks_make_an_answer_or_a_failure(
            chunks in prop::collection::vec(
                r#"(\[|\{"(choices|delta|message|content|finish_reason|type|text)":){0,6}("x"|" "|7|null)"#,
                0..8,
            ),
            is_choice: bool,
        ) {
            let mut collector = Collector::new(false);
            for chunk in chunks {
                let closing = chunk.chars().rev().filter_map(|char| match char {
                    '[' => Some(']'),
                    '{' => Some('}'),
                    _ => None,
                });
                let closing: String = closing.collect();
                let mut body: Value = serde_json::from_str(&(chunk + &closing)).unwrap();
                if is_choice {
                    body = json!({"choices": [body]});
                }
                let _failure = collector.add(&body);
            }
            prop_assert_eq!(collector.finish().is_ok(), !collector.text.is_empty());
        }
    }
}
