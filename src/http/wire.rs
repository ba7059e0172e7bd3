//! Reading JSON bodies member by member, so that every bad one can be named at once.
//!
//! A body is split into its members first, each left as raw text; then each is read by its own
//! rule. That finds duplicate members, tells `null` from absent, accepts any number where any will
//! do, and never recurses into what nobody asks for, however deeply it is nested.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::domain::text::TextError;

use super::problem::{Code, Invalid, Problem};

/// Most errors one answer names.
const ERRORS_MAX: usize = 32;

/// Longest member name that is named in an answer, in bytes.
const NAMED_BYTES_MAX: usize = 64;

/// A JSON value, not yet read, and where it stands in the body.
#[derive(Debug)]
pub(crate) struct Value<'a> {
    raw: &'a RawValue,
    place: Place,
}

/// A JSON object, split into its members.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    members: Vec<Member<'a>>,
    pointer: Pointer,
}

/// A JSON Pointer as a URI fragment (RFC 6901, section 6).
type Pointer = Cow<'static, str>;

/// Where a value stands. Its pointer is made when something is wrong with it, or has to be said of
/// what is in it.
#[derive(Debug)]
struct Place {
    container: Pointer,
    /// Nothing if it is the container itself.
    member: Option<&'static str>,
}

impl Place {
    fn at(pointer: impl Into<Pointer>) -> Self {
        Self {
            container: pointer.into(),
            member: None,
        }
    }

    fn pointer(&self) -> Pointer {
        match self.member {
            Some(name) => member_of(&self.container, name),
            None => self.container.clone(),
        }
    }
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
        place: Place::at("#"),
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
            place: Place::at(format!("{pointer}/{index}")),
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
        let place = Place {
            container: self.pointer.clone(),
            member: Some(name),
        };
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

/// The pointer to a member of the object at `container`; to the object itself if the name is too
/// long to be repeated.
fn member_of(container: &Pointer, name: &str) -> Pointer {
    if name.len() > NAMED_BYTES_MAX {
        return container.clone();
    }
    let mut pointer = format!("{container}/");
    for byte in name.bytes() {
        match byte {
            // RFC 6901, section 3.
            b'~' => pointer.push_str("~0"),
            b'/' => pointer.push_str("~1"),
            // What a URI fragment may hold as it is (RFC 3986, section 3.5).
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'$' | b'@' => {
                pointer.push(char::from(byte));
            }
            _ => pointer.push_str(&format!("%{byte:02X}")),
        }
    }
    pointer.into()
}

/// Most members an object may have: no request has more than a few, and looking for duplicates
/// among thousands would take long.
const MEMBERS_MAX: usize = 256;

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
mod tests {
    use super::*;

    /// Reads `body` as an object with a text `a`, an optional boolean `b` and a number `c`.
    fn read(body: &str) -> Result<(), Vec<(String, &'static str)>> {
        let mut errors = Errors::default();
        let value = parse(body.as_bytes()).unwrap();
        if let Some(mut object) = value.object(&mut errors) {
            if let Some(a) = object.required("a", &mut errors) {
                a.string(&mut errors);
            }
            if let Some(b) = object.optional("b") {
                b.boolean(&mut errors);
            }
            if let Some(c) = object.optional("c") {
                c.number(&mut errors);
            }
            object.finish(Unknown::Rejected, &mut errors);
        }
        errors.finish(Some(())).map_err(|problem| {
            let named = |error: Invalid| (error.pointer, error.code);
            problem.errors.into_iter().map(named).collect()
        })
    }

    fn check(body: &str, expected: &[(&str, &str)]) {
        let found = read(body).err().unwrap_or_default();
        let found: Vec<_> = found.iter().map(|(p, c)| (p.as_str(), *c)).collect();
        assert_eq!(found, expected, "{body:.80}");
    }

    #[test]
    fn every_bad_member_is_named() {
        check(r#"{"a":"x"}"#, &[]);
        check(r#"{"a":"x","b":true,"c":1e999999}"#, &[]);
        check(r#"{"a":"\u0000"}"#, &[]);
        check(r#"{}"#, &[("#/a", "required")]);
        check(r#"[]"#, &[("#", "type")]);
        check(r#"null"#, &[("#", "type")]);
        check(r#"{"a":null}"#, &[("#/a", "type")]);
        check(r#"{"a":"\ud800"}"#, &[("#/a", "format")]);
        check(r#"{"a":"x","\ud800":1}"#, &[("#", "format")]);
        check(
            r#"{"a":1,"b":"true","c":"1","d":0}"#,
            &[
                ("#/a", "type"),
                ("#/b", "type"),
                ("#/c", "type"),
                ("#/d", "unknown_member"),
            ],
        );
        check(r#"{"a":"x","a":"y"}"#, &[("#/a", "duplicate_member")]);
        // The same name in another spelling.
        check(r#"{"a":"x","\u0061":"y"}"#, &[("#/a", "duplicate_member")]);
        check(
            r#"{"a":"x","~/ é":0}"#,
            &[("#/~0~1%20%C3%A9", "unknown_member")],
        );
    }

    #[test]
    fn long_names_are_not_repeated() {
        let name = "n".repeat(65);
        check(
            &format!(r#"{{"a":"x","{name}":0}}"#),
            &[("#", "unknown_member")],
        );
    }

    #[test]
    fn the_number_of_named_errors_is_bounded() {
        let members: Vec<_> = (0..200).map(|i| format!(r#""m{i}":0"#)).collect();
        let found = read(&format!("{{{}}}", members.join(","))).unwrap_err();
        assert_eq!(found.len(), ERRORS_MAX);
        // So is the work: of too many members none is looked at.
        let members = vec![r#""m":0"#; MEMBERS_MAX + 1];
        let found = read(&format!("{{{}}}", members.join(","))).unwrap_err();
        assert_eq!(found, [("#".to_owned(), "length")]);
    }

    #[test]
    fn deep_nesting_costs_nothing() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        check(&format!(r#"{{"a":{deep}}}"#), &[("#/a", "type")]);
        check(&deep, &[("#", "type")]);
        check(
            &format!(r#"{{"a":"x","d":{deep}}}"#),
            &[("#/d", "unknown_member")],
        );
    }

    #[test]
    fn what_is_not_json_is_told_where() {
        for (body, detail) in [
            (&b""[..], "no body"),
            (b" ", "line 1, column 1"),
            (b"{", "line 1, column 1"),
            (b"{\"a\":01}", "line 1"),
            (b"{\"a\":1,}", "line 1, column 8"),
            (b"{}{}", "line 1, column 3"),
            (b"{\"a\":\"\xff\"}", "byte 6"),
            (b"\xef\xbb\xbf{}", "line 1, column 1"),
            (b"{\"a\":NaN}", "line 1"),
            (b"{'a':1}", "line 1"),
            (b"{\"a\":\"\n\"}", "line"),
        ] {
            let problem = parse(body).unwrap_err();
            assert_eq!(problem.code, Code::MalformedJson);
            assert!(problem.detail.contains(detail), "{}", problem.detail);
        }
    }
}
