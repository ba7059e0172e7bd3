//! What a schema says of the values that it allows: their members, types and rules.

use serde::Serialize;
use serde_json::Value;

use super::source::{DEPTH_MAX, Source, flag, plain, text};

/// What makes a schema of several others.
const SEVERAL: [&str; 3] = ["allOf", "oneOf", "anyOf"];

/// The type of what has none.
const ANY: &str = "any";

/// A longer pattern tells a reader nothing, in bytes.
const PATTERN_LEN_MAX: usize = 60;

/// A member of a body, or a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Member {
    /// As in `messages[].role`.
    pub(super) name: String,
    /// Its type, such as `array of strings`; of a parameter, where it goes, too.
    pub(super) kind: String,
    pub(super) is_required: bool,
    pub(super) is_deprecated: bool,
    /// What holds for its value, and what it means, in Markdown.
    pub(super) text: String,
}

impl<'a> Source<'a> {
    /// The name of the schema that `schema` is, or is made of first.
    pub(super) fn name_of(&self, schema: &'a Value) -> Option<&'a str> {
        let first = schema.get("allOf").and_then(|parts| parts.get(0));
        let reference = first.unwrap_or(schema).get("$ref")?.as_str()?;
        reference.strip_prefix("#/components/schemas/")
    }

    /// The values that the member `name` of `schema` may have; the last to say so is right.
    pub(super) fn values_of(&self, schema: &'a Value, name: &str) -> Vec<String> {
        let schema = self.resolve(schema);
        let own = self
            .entries(schema, "properties")
            .find(|(other, _)| *other == name);
        let values = own.map(|(_, member)| values(member)).unwrap_or_default();
        let parts: Vec<_> = self.list(schema, "allOf").collect();
        let of_parts = parts
            .into_iter()
            .rev()
            .map(|part| self.values_of(part, name));
        let mut all = std::iter::once(values).chain(of_parts);
        all.find(|values| !values.is_empty()).unwrap_or_default()
    }

    /// The members of `schema`, and theirs.
    pub(super) fn members(&self, schema: &'a Value) -> Vec<Member> {
        let mut members = Vec::new();
        self.collect(schema, "", 0, &mut members);
        members
    }

    /// The members of the values that stand at `path`, of this schema or any that it is made of.
    fn collect(&self, schema: &'a Value, path: &str, depth: usize, members: &mut Vec<Member>) {
        if depth == DEPTH_MAX {
            return;
        }
        let schema = self.resolve(schema);
        for several in SEVERAL {
            for part in self.list(schema, several) {
                self.collect(part, path, depth + 1, members);
            }
        }
        let required: Vec<_> = self.list(schema, "required").map(plain).collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, value) in properties.into_iter().flatten() {
            let dot = if path.is_empty() { "" } else { "." };
            let name_in_full = format!("{path}{dot}{name}");
            let member = Member {
                name: name_in_full.clone(),
                is_required: required.contains(name),
                ..self.member(value)
            };
            // Alternatives may have the same one.
            if !members.contains(&member) {
                members.push(member);
            }
            self.collect(value, &name_in_full, depth + 1, members);
        }
        if let Some(items) = schema.get("items") {
            self.collect(items, &format!("{path}[]"), depth + 1, members);
        }
        if let Some(others) = schema.get("additionalProperties") {
            let dot = if path.is_empty() { "" } else { "." };
            self.collect(others, &format!("{path}{dot}*"), depth + 1, members);
        }
    }

    /// A value of this schema, as a member without a name.
    fn member(&self, schema: &'a Value) -> Member {
        let resolved = self.resolve(schema);
        Member {
            name: String::new(),
            kind: self.kind(resolved, 0),
            is_required: false,
            is_deprecated: flag(resolved, "deprecated"),
            text: told(schema, resolved),
        }
    }

    /// A header as a member.
    pub(super) fn header(&self, name: &str, header: &'a Value) -> Member {
        let schema = self.resolve(header.get("schema").unwrap_or(&Value::Null));
        Member {
            name: name.to_owned(),
            text: told(header, schema),
            ..self.member(schema)
        }
    }

    /// A parameter as a member, with the place where it goes.
    pub(super) fn parameter(&self, parameter: &'a Value) -> Member {
        let schema = self.resolve(parameter.get("schema").unwrap_or(&Value::Null));
        Member {
            name: text(parameter, "name"),
            kind: format!("{}, {}", text(parameter, "in"), self.kind(schema, 0)),
            is_required: flag(parameter, "required"),
            is_deprecated: flag(parameter, "deprecated"),
            text: told(parameter, schema),
        }
    }

    fn kind(&self, schema: &'a Value, depth: usize) -> String {
        let name = match schema.get("type") {
            Some(Value::Array(types)) => {
                let types: Vec<_> = types.iter().map(plain).collect();
                types.join(" or ")
            }
            Some(Value::String(name)) => name.clone(),
            _ => self.kind_of_several(schema, depth),
        };
        match (schema.get("items"), schema.get("format")) {
            _ if depth == DEPTH_MAX => name,
            (Some(items), _) => {
                format!("{name} of {}s", self.kind(self.resolve(items), depth + 1))
            }
            (None, Some(format)) => format!("{name} ({})", plain(format)),
            (None, None) => name,
        }
    }

    /// What a value is whose schema is made of others: what any of them says it is.
    fn kind_of_several(&self, schema: &'a Value, depth: usize) -> String {
        let mut kinds: Vec<String> = Vec::new();
        let parts = SEVERAL.iter().flat_map(|name| self.list(schema, name));
        for part in parts.take_while(|_| depth < DEPTH_MAX) {
            let kind = self.kind(part, depth + 1);
            if kind != ANY && !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        if kinds.is_empty() {
            return ANY.to_owned();
        }
        kinds.join(" or ")
    }
}

/// The values that `schema` allows, if it lists them.
fn values(schema: &Value) -> Vec<String> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(only), _) => vec![plain(only)],
        (None, Some(Value::Array(values))) => values.iter().map(plain).collect(),
        (None, _) => Vec::new(),
    }
}

/// What holds for a value of `schema`, then what `member` is for.
fn told(member: &Value, schema: &Value) -> String {
    let mut told = rules(schema);
    let meanings = [member, schema].map(|value| text(value, "description"));
    told.extend(meanings.into_iter().find(|meaning| !meaning.is_empty()));
    told.join(" ")
}

/// What holds for a value of `schema`, a sentence each.
fn rules(schema: &Value) -> Vec<String> {
    let mut rules = Vec::new();
    let values: Vec<_> = values(schema)
        .iter()
        .map(|value| format!("`{value}`"))
        .collect();
    match values.as_slice() {
        [] => {}
        [only] => rules.push(format!("Always {only}.")),
        several => rules.push(format!("One of {}.", several.join(", "))),
    }
    for (least, most, unit) in [
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
        ("minimum", "maximum", ""),
    ] {
        match (schema.get(least), schema.get(most)) {
            (None, None) => {}
            (Some(least), None) => rules.push(format!("{least} or more{unit}.")),
            (None, Some(most)) => rules.push(format!("Up to {most}{unit}.")),
            (Some(one), Some(most)) if one == most && *one == 1 => {
                rules.push(format!("1{}.", unit.trim_end_matches('s')));
            }
            (Some(least), Some(most)) => rules.push(format!("{least} to {most}{unit}.")),
        }
    }
    if let Some(default) = schema.get("default") {
        rules.push(format!("By default `{}`.", plain(default)));
    }
    match text(schema, "pattern") {
        pattern if pattern.is_empty() => {}
        pattern if pattern.len() <= PATTERN_LEN_MAX => rules.push(format!("Matches `{pattern}`.")),
        _ => rules.push("Matches the pattern in the OpenAPI description.".to_owned()),
    }
    rules
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Value {
        json!({
            "components": { "schemas": {
                "Role": { "type": "string", "enum": ["user", "assistant"], "description": "Who." },
                "Ring": { "type": "object", "properties": {
                    "next": { "$ref": "#/components/schemas/Ring" },
                } },
                "Itself": { "$ref": "#/components/schemas/Itself" },
                "Problem": { "type": "object", "required": ["code"], "properties": {
                    "code": { "type": "string", "enum": ["a", "b", "c"] },
                } },
            } },
        })
    }

    /// Name, type and text of each member; a star marks those that are required.
    fn members(schema: &Value) -> Vec<String> {
        let document = document();
        let members = Source::new(&document).members(schema);
        let told = |member: Member| {
            let star = if member.is_required { "*" } else { "" };
            format!("{}{star}: {}: {}", member.name, member.kind, member.text)
        };
        members.into_iter().map(told).collect()
    }

    #[test]
    fn members_are_told_with_their_types_and_rules() {
        let schema = json!({ "required": ["messages", "a"], "properties": {
            "messages": { "type": "array", "minItems": 1, "maxItems": 12, "items": {
                "type": "object", "required": ["role"], "properties": {
                    "role": { "$ref": "#/components/schemas/Role" },
                    "content": { "type": "string", "minLength": 1, "maxLength": 2000 },
                },
            } },
            "a": { "type": "integer", "minimum": 0, "description": "Many." },
            "b": { "type": ["string", "null"], "maxLength": 5, "default": "x" },
            "c": { "type": "string", "format": "uri", "const": "v1", "description": "Odd." },
            "d": { "pattern": "^a$" },
            "e": { "type": "string", "pattern": "a".repeat(61) },
            "f": { "$ref": "#/components/schemas/Role", "description": "Another." },
            "g": { "type": "array", "minItems": 1, "maxItems": 1, "items": { "type": "number" } },
        } });
        assert_eq!(
            members(&schema),
            [
                "messages*: array of objects: 1 to 12 items.",
                "messages[].role*: string: One of `user`, `assistant`. Who.",
                "messages[].content: string: 1 to 2000 characters.",
                "a*: integer: 0 or more. Many.",
                "b: string or null: Up to 5 characters. By default `x`.",
                "c: string (uri): Always `v1`. Odd.",
                "d: any: Matches `^a$`.",
                "e: string: Matches the pattern in the OpenAPI description.",
                "f: string: One of `user`, `assistant`. Another.",
                "g: array of numbers: 1 item.",
            ]
        );
    }

    #[test]
    fn a_schema_of_several_has_the_members_of_all() {
        let schema = json!({ "allOf": [
            { "$ref": "#/components/schemas/Problem" },
            { "properties": { "more": { "type": "boolean" } } },
        ] });
        assert_eq!(
            members(&schema),
            ["code*: string: One of `a`, `b`, `c`.", "more: boolean: "]
        );
    }

    #[test]
    fn alternatives_maps_and_lists_are_told_to_their_ends() {
        let id =
            json!({ "oneOf": [{ "type": "string" }, { "type": "integer", "format": "int64" }] });
        let error = json!({ "properties": { "code": { "type": "integer" } } });
        let schema = json!({ "anyOf": [
            { "required": ["id"], "properties": { "id": id } },
            { "properties": { "error": { "oneOf": [error, error] } } },
            { "properties": { "error": { "oneOf": [error, error] } } },
        ], "additionalProperties": { "type": "array", "items": {
            "properties": { "href": { "type": "string" } },
        } } });
        assert_eq!(
            members(&schema),
            [
                "id*: string or integer (int64): ",
                "error: any: ",
                "error.code: integer: ",
                "*[].href: string: ",
            ]
        );
        let list = json!({ "type": "array", "items": { "type": "array", "items": {
            "properties": { "a": { "allOf": [{}, { "type": "string" }] } },
        } } });
        assert_eq!(members(&list), ["[][].a: string: "]);
        let open = json!({ "properties": { "a": { "additionalProperties": true } } });
        assert_eq!(members(&open), ["a: any: "]);
    }

    #[test]
    fn a_schema_that_holds_itself_ends() {
        let ring = json!({ "$ref": "#/components/schemas/Ring" });
        let names: Vec<_> = members(&ring);
        assert_eq!(names.len(), DEPTH_MAX);
        let itself = json!({ "oneOf": [{ "$ref": "#/components/schemas/Ring" }] });
        assert_eq!(members(&itself).len(), DEPTH_MAX - 1);
        assert_eq!(
            members(&json!({ "$ref": "#/components/schemas/Itself" })).len(),
            0
        );
    }

    #[test]
    fn the_last_to_narrow_a_member_is_right() {
        let document = document();
        let source = Source::new(&document);
        let base = json!({ "$ref": "#/components/schemas/Problem" });
        let narrow = json!({ "allOf": [base, { "properties": { "code": { "enum": ["b"] } } }] });
        assert_eq!(source.values_of(&narrow, "code"), ["b"]);
        assert_eq!(source.name_of(&narrow), Some("Problem"));
        let base = &narrow["allOf"][0];
        assert_eq!(source.values_of(base, "code"), ["a", "b", "c"]);
        assert_eq!(source.values_of(base, "title"), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_schema_has_no_members() {
        for schema in [
            json!(null),
            json!(7),
            json!("text"),
            json!([]),
            json!({ "$ref": 7 }),
            json!({ "$ref": "#/nowhere" }),
            json!({ "$ref": "other.json#/a" }),
            json!({ "properties": [], "required": 7, "allOf": {} }),
        ] {
            assert_eq!(members(&schema), Vec::<String>::new(), "{schema}");
        }
        let odd = json!({ "properties": { "a": 7, "b": { "type": 7, "enum": 7, "items": [] } } });
        assert_eq!(members(&odd), ["a: any: ", "b: any of anys: "]);
    }
}
