//! Finding things in an OpenAPI document: references, lists, members and the plain values in them.

use serde_json::Value;

/// How deep members of members are told of, and how many references may follow each other: a schema
/// may hold itself.
pub(super) const DEPTH_MAX: usize = 8;

/// The document, and what is found in it.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) root: &'a Value,
}

impl<'a> Source<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root }
    }

    /// What `value` stands for.
    pub(super) fn resolve(&self, value: &'a Value) -> &'a Value {
        let mut value = value;
        for _ in 0..DEPTH_MAX {
            match self.target(value) {
                Some(target) => value = target,
                None => break,
            }
        }
        value
    }

    fn target(&self, value: &Value) -> Option<&'a Value> {
        self.root
            .pointer(value.get("$ref")?.as_str()?.strip_prefix('#')?)
    }

    /// The items of the list `name`, each resolved.
    pub(super) fn list(&self, value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
        let list = value.get(name).and_then(Value::as_array);
        list.into_iter().flatten().map(|item| self.resolve(item))
    }

    /// The members of the object `name`, each resolved.
    pub(super) fn entries(
        &self,
        value: &'a Value,
        name: &str,
    ) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let object = value.get(name).and_then(Value::as_object);
        object
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str(), self.resolve(value)))
    }

    /// The examples of a media type, each with what it shows.
    pub(super) fn examples(&self, form: &'a Value) -> impl Iterator<Item = (String, &'a Value)> {
        let examples = self.entries(form, "examples");
        examples.filter_map(|(_, example)| Some((text(example, "summary"), example.get("value")?)))
    }
}

/// A member of `value` that is a text; empty if there is none.
pub(super) fn text(value: &Value, name: &str) -> String {
    let text = value.get(name).and_then(Value::as_str);
    text.unwrap_or_default().trim().to_owned()
}

/// A member of `value` that is true.
pub(super) fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// A text as it is, anything else as JSON; nothing for null.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
