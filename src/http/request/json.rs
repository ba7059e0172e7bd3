//! Reading JSON bodies field by field, so that one response lists every invalid field.
//!
//! A body is split into its fields, each left as raw text; then each is read by its own rule. That finds
//! duplicates, tells `null` from absent, accepts numbers of any size, and never recurses into unknown fields,
//! however deeply they are nested.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::domain::TextError;

use crate::http::answer::problem::Invalid;
use crate::http::{Code, Problem};

/// Maximum number of errors in one response.
const ERRORS_MAX: usize = 32;

/// Maximum length of a field name repeated in a response, in bytes.
const NAMED_BYTES_MAX: usize = 64;

/// A JSON value that is not parsed yet.
#[derive(Debug)]
pub(crate) struct JsonValue<'a> {
    /// The value as written.
    pub(crate) text: &'a str,
    /// Its position in the body: a JSON Pointer as a URI fragment (RFC 6901, section 6).
    pub(crate) pointer: String,
}

/// A JSON object, split into its fields.
#[derive(Debug, Default)]
pub(crate) struct JsonObject<'a> {
    /// The fields not taken yet, in order, also repeated ones.
    members: Vec<(String, &'a RawValue)>,
    taken: Vec<&'static str>,
    pointer: String,
}

/// The errors found so far.
#[derive(Debug, Default)]
pub(crate) struct Errors(Vec<Invalid>);

/// Treatment of unknown fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    Rejected,
    Ignored,
}

/// Why the domain refused a text. Its `Display` is the detail of the error.
pub(crate) trait Invalidity: fmt::Display {
    /// The code of the error.
    fn code(&self) -> &'static str;
}

impl Invalidity for TextError {
    fn code(&self) -> &'static str {
        match self {
            Self::Empty | Self::TooLong { .. } => "length",
            Self::Unprintable => "format",
        }
    }
}

/// Parses a body that must be one JSON value. A byte order mark before it is ignored (RFC 8259, section 8.1).
///
/// # Errors
/// A problem when it isn't.
pub(crate) fn parse(body: &[u8]) -> Result<JsonValue<'_>, Problem> {
    let malformed = |detail: String| Problem::new(Code::MalformedJson, detail);
    let encoding = match body {
        [] | [0xef, 0xbb, 0xbf] => {
            let detail = "The request has no body; it must be a JSON object.";
            return Err(malformed(detail.to_owned()));
        }
        // JSON begins with ASCII.
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, ..] | [_, 0, ..] => "UTF-16",
        [0x1f, 0x8b, ..] => "compressed with gzip",
        _ => "",
    };
    if !encoding.is_empty() {
        let detail = format!("The body is {encoding}; it must be plain JSON in UTF-8.");
        return Err(malformed(detail));
    }
    let text = std::str::from_utf8(body).map_err(|error| {
        malformed(format!(
            "The body is not valid UTF-8 at byte {}.",
            error.valid_up_to()
        ))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        malformed(format!(
            "The body is not valid JSON at line {line}, column {column}."
        ))
    })?;
    Ok(JsonValue {
        text: raw.get(),
        pointer: "#".to_owned(),
    })
}

/// Reads a body that must be one object, whose fields `read` takes.
///
/// # Errors
/// A problem that lists every error.
pub(crate) fn read<'a, T>(
    body: &'a [u8],
    unknown: Unknown,
    read: impl FnOnce(&mut JsonObject<'a>, &mut Errors) -> Option<T>,
) -> Result<T, Problem> {
    let mut errors = Errors::default();
    let found = parse(body)?.object(&mut errors).and_then(|mut object| {
        let found = read(&mut object, &mut errors);
        object.finish(unknown, &mut errors);
        found
    });
    errors.finish(found)
}

/// Reads an object that must have no fields.
pub(crate) fn read_no_members(json: &[u8]) -> Result<(), Problem> {
    read(json, Unknown::Rejected, |_object, _errors| Some(()))
}

impl Errors {
    /// Adds an error about the value at `pointer`.
    pub(crate) fn push(&mut self, pointer: &str, code: &'static str, detail: impl Into<String>) {
        if self.0.len() < ERRORS_MAX {
            self.0.push(Invalid {
                pointer: pointer.to_owned(),
                detail: detail.into(),
                code,
            });
        }
    }

    /// The value read, if there are no errors.
    ///
    /// # Errors
    /// A problem that lists every error.
    pub(crate) fn finish<T>(self, read: Option<T>) -> Result<T, Problem> {
        match read {
            Some(read) if self.0.is_empty() => Ok(read),
            _ => Err(Problem::invalid(self.0)),
        }
    }
}

impl<'a> JsonValue<'a> {
    /// Adds an error about the value.
    fn fail<T>(&self, errors: &mut Errors, code: &'static str, detail: &str) -> Option<T> {
        errors.push(&self.pointer, code, detail);
        None
    }

    /// The value as an object.
    pub(crate) fn object(self, errors: &mut Errors) -> Option<JsonObject<'a>> {
        if !self.text.starts_with('{') {
            return self.fail(errors, "type", "must be an object");
        }
        let object = JsonObject {
            pointer: self.pointer.clone(),
            ..JsonObject::default()
        };
        let mut reader = serde_json::Deserializer::from_str(self.text);
        // The syntax has been checked. Only a name may not be text.
        let detail = "has a field whose name is half a surrogate pair";
        let object = reader.deserialize_map(object).ok();
        object.or_else(|| self.fail(errors, "format", detail))
    }

    /// The value as an array of `1..=items_max` items.
    pub(crate) fn array(self, items_max: usize, errors: &mut Errors) -> Option<Vec<Self>> {
        let Ok(items) = serde_json::from_str::<Vec<&'a RawValue>>(self.text) else {
            return self.fail(errors, "type", "must be an array");
        };
        if items.is_empty() || items.len() > items_max {
            let detail = format!("must have 1 to {items_max} items");
            return self.fail(errors, "length", &detail);
        }
        let item = |(index, raw): (usize, &'a RawValue)| Self {
            text: raw.get(),
            pointer: format!("{}/{index}", self.pointer),
        };
        Some(items.into_iter().enumerate().map(item).collect())
    }

    /// The value as a string.
    pub(crate) fn string(&self, errors: &mut Errors) -> Option<String> {
        if !self.text.starts_with('"') {
            return self.fail(errors, "type", "must be a string");
        }
        // The syntax has been checked. Only half of a surrogate pair isn't text.
        let detail = "must be Unicode text, without half surrogate pairs";
        let text = serde_json::from_str(self.text).ok();
        text.or_else(|| self.fail(errors, "format", detail))
    }

    /// The value as a string that `parse` accepts.
    pub(crate) fn parsed<T, E: Invalidity>(
        &self,
        errors: &mut Errors,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Option<T> {
        parse(self.string(errors)?)
            .map_err(|error| errors.push(&self.pointer, error.code(), error.to_string()))
            .ok()
    }

    /// The value as a boolean.
    pub(crate) fn boolean(&self, errors: &mut Errors) -> Option<bool> {
        let read = serde_json::from_str(self.text).ok();
        read.or_else(|| self.fail(errors, "type", "must be true or false"))
    }

    /// Checks that the value is a number of any size.
    pub(crate) fn number(&self, errors: &mut Errors) {
        if !self
            .text
            .starts_with(|c: char| c == '-' || c.is_ascii_digit())
        {
            errors.push(&self.pointer, "type", "must be a number");
        }
    }
}

impl<'a> JsonObject<'a> {
    /// Takes the field `name`, which must be present.
    pub(crate) fn required(
        &mut self,
        name: &'static str,
        errors: &mut Errors,
    ) -> Option<JsonValue<'a>> {
        let value = self.optional(name);
        if value.is_none() {
            let pointer = member_pointer(&self.pointer, name);
            errors.push(&pointer, "required", "is required");
        }
        value
    }

    /// Takes the field `name`, if it is present. `null` is present.
    pub(crate) fn optional(&mut self, name: &'static str) -> Option<JsonValue<'a>> {
        self.taken.push(name);
        let at = self.members.iter().position(|(known, _)| known == name)?;
        let (_, raw) = self.members.remove(at);
        Some(JsonValue {
            text: raw.get(),
            // Our field names contain no `~` or `/`, so nothing needs escaping.
            pointer: [&self.pointer, "/", name].concat(),
        })
    }

    /// Checks the remaining fields. Unknown ones that are ignored may be repeated.
    pub(crate) fn finish(self, unknown: Unknown, errors: &mut Errors) {
        let faults = self.members.iter().filter_map(|(name, _)| {
            if self.taken.contains(&name.as_str()) {
                return Some((name, "duplicate_member", "occurs more than once"));
            }
            let fault = (name, "unknown_member", "is not a field of this request");
            (unknown == Unknown::Rejected).then_some(fault)
        });
        for (name, code, detail) in faults.take(ERRORS_MAX) {
            errors.push(&member_pointer(&self.pointer, name), code, detail);
        }
    }
}

/// The characters that a URI fragment may not contain unescaped (RFC 3986, section 3.5), and a few more.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'$')
    .remove(b'@');

/// Pointer to a field of the object at `container`, or to the object itself if the name is too long to be
/// repeated.
fn member_pointer(container: &str, name: &str) -> String {
    if name.len() > NAMED_BYTES_MAX {
        return container.to_owned();
    }
    // RFC 6901, section 3.
    let name = name.replace('~', "~0").replace('/', "~1");
    let name = Cow::from(utf8_percent_encode(&name, ESCAPED));
    [container, "/", &name].concat()
}

/// Collects all fields in order, duplicates included.
impl<'de> Visitor<'de> for JsonObject<'de> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some(member) = map.next_entry()? {
            self.members.push(member);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests;
