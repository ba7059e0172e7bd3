//! What a completion, or a chunk of one, says: servers differ in almost every member.

use serde_json::Value;

/// One choice, or a chunk of one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Completion {
    /// What is said, thinking in members of its own left out.
    pub(super) text: String,
    /// Why the model stopped, if it has.
    pub(super) finish: Option<String>,
    /// Whether there was thinking.
    pub(super) has_thoughts: bool,
}

impl Completion {
    /// Reads the first choice of a body without an error. The last chunk of a stream has none.
    pub(super) fn read(body: &Value) -> Self {
        let Some(choice) = first_choice(body) else {
            return Self::default();
        };
        let said = ["message", "delta"]
            .into_iter()
            .find_map(|name| choice.get(name).filter(|said| said.is_object()))
            .unwrap_or(&Value::Null);
        let mut completion = Self {
            finish: choice
                .get("finish_reason")
                .and_then(Value::as_str)
                .filter(|reason| !reason.is_empty())
                .map(str::to_owned),
            ..Self::default()
        };
        for name in ["reasoning_content", "reasoning", "thinking"] {
            completion.has_thoughts |= said.get(name).is_some_and(|thoughts| !is_blank(thoughts));
        }
        match said.get("content") {
            Some(Value::String(text)) => completion.text.clone_from(text),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| completion.add(part)),
            _ => {}
        }
        // A refusal is written for whoever asked.
        if completion.text.is_empty()
            && let Some(refusal) = said.get("refusal").and_then(Value::as_str)
        {
            refusal.clone_into(&mut completion.text);
        }
        completion
    }

    /// Adds a part of a content that is a list.
    fn add(&mut self, part: &Value) {
        // Some mark a thought beside its text, whatever its type.
        let is_thought = part
            .get("thought")
            .is_some_and(|thought| !is_blank(thought));
        let kind = part.get("type").and_then(Value::as_str);
        let text = match kind {
            _ if is_thought => {
                self.has_thoughts = true;
                None
            }
            None if part.is_string() => part.as_str(),
            None | Some("text" | "output_text") => part.get("text").and_then(Value::as_str),
            Some("refusal") => part.get("refusal").and_then(Value::as_str),
            Some(other) => {
                self.has_thoughts |= matches!(other, "thinking" | "reasoning");
                None
            }
        };
        self.text.push_str(text.unwrap_or_default());
    }
}

/// The choice that is the answer: further ones were not asked for.
pub(super) fn first_choice(body: &Value) -> Option<&Value> {
    let choices = body.get("choices")?.as_array()?;
    choices.iter().find(|choice| match choice.get("index") {
        None | Some(Value::Null) => true,
        Some(index) => index.as_u64() == Some(0),
    })
}

fn is_blank(value: &Value) -> bool {
    value.is_null() || value == false || value.as_str().is_some_and(str::is_empty)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_is_found_in_every_form_and_thinking_never_is() {
        for (message, text, has_thoughts) in [
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
            (json!({"content": ["a", {"text": "b"}]}), "ab", false),
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
                let completion = Completion::read(&body);
                assert_eq!(completion.text, text, "{body}");
                assert_eq!(completion.has_thoughts, has_thoughts, "{body}");
                assert_eq!(completion.finish, None);
            }
        }
        let usage = json!({"choices": [], "usage": {"total_tokens": 3}});
        assert_eq!(Completion::read(&usage), Completion::default());
        let last = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
        assert_eq!(Completion::read(&last).finish.as_deref(), Some("stop"));
    }

    #[test]
    fn only_the_choice_that_was_asked_for_is_read() {
        let choice = |index: Value, text: &str| json!({"index": index, "delta": {"content": text}});
        for (choices, text) in [
            (json!([choice(json!(0), "a")]), "a"),
            (json!([choice(Value::Null, "a")]), "a"),
            (json!([choice(json!(1), "b"), choice(json!(0), "a")]), "a"),
            (json!([choice(json!(1), "b")]), ""),
            (json!([choice(json!(-1), "b")]), ""),
            (json!([choice(json!("0"), "b")]), ""),
            (json!({"0": choice(json!(0), "b")}), ""),
        ] {
            let body = json!({"choices": choices});
            assert_eq!(Completion::read(&body).text, text, "{body}");
        }
    }
}
