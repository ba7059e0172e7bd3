//! Reading JSON bodies member by member, so that every bad one can be named at once.
//!
//! A body is split into its members first, each left as raw text; then each is read by its own
//! rule. That finds duplicate members, tells `null` from absent, accepts any number where any will
//! do, and never recurses into what nobody asks for, however deeply it is nested.

mod pointer;

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::domain::text::TextError;

use super::problem::{Code, Invalid, Problem};

use pointer::{Location, Pointer, member_of};

/// Most errors one answer names.
const ERRORS_MAX: usize = 32;

/// Most members an object may have: no request has more than a few, and looking for duplicates
/// among thousands would take long.
const MEMBERS_MAX: usize = 256;

/// A JSON value, not yet read, and where it stands in the body.
#[derive(Debug)]
pub(crate) struct Value<'a> {
    raw: &'a RawValue,
    place: Location,
}

/// A JSON object, split into its members.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    members: Vec<Member<'a>>,
    pointer: Pointer,
}

#[derive(Debug)]
struct Member<'a> {
    name: String,
    raw: &'a RawValue,
    is_known: bool,
}

/// What is wrong so far.
#[derive(Debug, Default)]
pub(crate) struct Errors(Vec<Invalid>);

/// Whether members that nobody asked for are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    Rejected,
    Ignored,
}

/// Why the domain refused a text; its `Display` is the detail in words.
pub(crate) trait Invalidity: fmt::Display {
    /// The detail for machines.
    fn code(&self) -> &'static str;
}

impl Invalidity for TextError {
    fn code(&self) -> &'static str {
        match self {
            Self::Empty | Self::TooLong { .. } => "length",
        }
    }
}

/// Reads a body that has to be one JSON value.
///
/// # Errors
/// A problem when it is not.
pub(crate) fn parse(body: &[u8]) -> Result<Value<'_>, Problem> {
    if body.is_empty() {
        return Err(Problem::new(
            Code::MalformedJson,
            "The request has no body; it has to be a JSON object.",
        ));
    }
    let text = std::str::from_utf8(body).map_err(|error| {
        let detail = format!("The body is not UTF-8 at byte {}.", error.valid_up_to());
        Problem::new(Code::MalformedJson, detail)
    })?;
    let raw = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let detail = format!("The body is not JSON at line {line}, column {column}.");
        Problem::new(Code::MalformedJson, detail)
    })?;
    Ok(Value {
        raw,
        place: Location::at("#"),
    })
}

impl Errors {
    /// Notes that the value at `pointer` is wrong.
    pub(crate) fn push(&mut self, pointer: &str, code: &'static str, detail: impl Into<String>) {
        if self.0.len() < ERRORS_MAX {
            self.0.push(Invalid {
                pointer: pointer.to_owned(),
                detail: detail.into(),
                code,
            });
        }
    }

    /// What was read, if nothing is wrong.
    ///
    /// # Errors
    /// A problem that names everything wrong.
    pub(crate) fn finish<T>(self, read: Option<T>) -> Result<T, Problem> {
        match read {
            Some(read) if self.0.is_empty() => Ok(read),
            _ => Err(Problem::invalid(self.0)),
        }
    }
}

impl<'a> Value<'a> {
    /// Where the value stands.
    pub(crate) fn pointer(&self) -> Pointer {
        self.place.pointer()
    }

    /// The value as an object.
    pub(crate) fn object(self, errors: &mut Errors) -> Option<Object<'a>> {
        if !self.raw.get().starts_with('{') {
            errors.push(&self.pointer(), "type", "must be an object");
            return None;
        }
        // The syntax has been checked: what may be wrong is a name.
        let Ok(members) = serde_json::from_str::<Members<'a>>(self.raw.get()) else {
            let detail = "has a member whose name is half a surrogate pair";
            errors.push(&self.pointer(), "format", detail);
            return None;
        };
        if members.0.len() > MEMBERS_MAX {
            errors.push(&self.pointer(), "length", "has too many members");
            return None;
        }
        let mut object = Object {
            members: Vec::with_capacity(members.0.len()),
            pointer: self.pointer(),
        };
        for (name, raw) in members.0 {
            if object.members.iter().any(|member| member.name == name) {
                let pointer = member_of(&object.pointer, &name);
                errors.push(&pointer, "duplicate_member", "is there more than once");
                continue;
            }
            object.members.push(Member {
                name,
                raw,
                is_known: false,
            });
        }
        Some(object)
    }

    /// The value as an array of `1..=items_max` items.
    pub(crate) fn array(self, items_max: usize, errors: &mut Errors) -> Option<Vec<Self>> {
        let Ok(items) = serde_json::from_str::<Vec<&'a RawValue>>(self.raw.get()) else {
            errors.push(&self.pointer(), "type", "must be an array");
            return None;
        };
        if items.is_empty() || items.len() > items_max {
            let detail = format!("must have 1 to {items_max} items");
            errors.push(&self.pointer(), "length", detail);
            return None;
        }
        let pointer = self.pointer();
        let item = |(index, raw)| Self {
            raw,
            place: Location::at(format!("{pointer}/{index}")),
        };
        Some(items.into_iter().enumerate().map(item).collect())
    }

    /// The value as a string.
    pub(crate) fn string(&self, errors: &mut Errors) -> Option<String> {
        if !self.raw.get().starts_with('"') {
            errors.push(&self.pointer(), "type", "must be a string");
            return None;
        }
        match serde_json::from_str(self.raw.get()) {
            Ok(text) => Some(text),
            // The syntax has been checked: what is left is half of a surrogate pair.
            Err(_) => {
                let detail = "must be Unicode text, without half surrogate pairs";
                errors.push(&self.pointer(), "format", detail);
                None
            }
        }
    }

    /// The value as a string that `parse` accepts.
    pub(crate) fn parsed<T, E: Invalidity>(
        &self,
        errors: &mut Errors,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Option<T> {
        parse(self.string(errors)?)
            .map_err(|error| errors.push(&self.pointer(), error.code(), error.to_string()))
            .ok()
    }

    /// The value as a boolean.
    pub(crate) fn boolean(&self, errors: &mut Errors) -> Option<bool> {
        let read = serde_json::from_str(self.raw.get()).ok();
        if read.is_none() {
            errors.push(&self.pointer(), "type", "must be true or false");
        }
        read
    }

    /// Checks that the value is a number: any, however large.
    pub(crate) fn number(&self, errors: &mut Errors) {
        let is_number = self
            .raw
            .get()
            .starts_with(|first: char| first == '-' || first.is_ascii_digit());
        if !is_number {
            errors.push(&self.pointer(), "type", "must be a number");
        }
    }
}

impl<'a> Object<'a> {
    /// The member `name`, which has to be there.
    pub(crate) fn required(
        &mut self,
        name: &'static str,
        errors: &mut Errors,
    ) -> Option<Value<'a>> {
        let value = self.optional(name);
        if value.is_none() {
            let pointer = member_of(&self.pointer, name);
            errors.push(&pointer, "required", "must be there");
        }
        value
    }

    /// The member `name`, if it is there. `null` is there.
    pub(crate) fn optional(&mut self, name: &'static str) -> Option<Value<'a>> {
        let member = self.members.iter_mut().find(|member| member.name == name)?;
        member.is_known = true;
        let place = Location::of_member(&self.pointer, name);
        Some(Value {
            raw: member.raw,
            place,
        })
    }

    /// Settles what the members that nobody asked for are.
    pub(crate) fn finish(self, unknown: Unknown, errors: &mut Errors) {
        if unknown == Unknown::Ignored {
            return;
        }
        for member in self.members.iter().filter(|member| !member.is_known) {
            errors.push(
                &member_of(&self.pointer, &member.name),
                "unknown_member",
                "is not a member of this request",
            );
        }
    }
}

/// All members of an object in order, duplicates included.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

#[cfg(test)]
mod tests;
