//! One operation: what it takes, and what it answers.

use serde::Serialize;
use serde_json::Value;

use super::schema::{self, Member, Source};

#[derive(Debug, Serialize)]
pub(super) struct Operation {
    pub(super) id: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) summary: String,
    pub(super) description: String,
    pub(super) is_deprecated: bool,
    /// An operation told of before that takes and answers the same: then all below is empty.
    pub(super) same_as: Option<Twin>,
    pub(super) parameters: Vec<Member>,
    pub(super) request: Option<Request>,
    /// What it answers when nothing goes wrong.
    pub(super) answers: Vec<Answer>,
    pub(super) errors: Vec<Failure>,
}

/// An operation as it is referred to.
#[derive(Debug, Serialize)]
pub(super) struct Twin {
    pub(super) id: String,
    pub(super) method: String,
    pub(super) path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Request {
    pub(super) is_required: bool,
    pub(super) description: String,
    pub(super) media_type: String,
    pub(super) members: Vec<Member>,
    /// How to send its first example from a terminal.
    pub(super) curl: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Answer {
    pub(super) status: String,
    pub(super) description: String,
    pub(super) headers: Vec<String>,
    pub(super) forms: Vec<Form>,
}

/// An answer in one media type.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Form {
    pub(super) media_type: String,
    /// What its schema says, if that has no members.
    pub(super) description: String,
    pub(super) members: Vec<Member>,
    pub(super) example: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Failure {
    pub(super) status: String,
    pub(super) description: String,
    /// The problem codes it may have.
    pub(super) codes: Vec<String>,
}

impl Operation {
    /// Whether it only gives what a client may have already.
    pub(super) fn is_document(&self) -> bool {
        self.method == "GET" && self.answers.iter().any(|answer| answer.status == "304")
    }

    /// Whether it takes and answers what `other` does, apart from its path.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let request = |operation: &Self| {
            let request = operation.request.as_ref();
            request.map(|request| Request {
                curl: None,
                ..request.clone()
            })
        };
        self.method == other.method
            && self.parameters == other.parameters
            && request(self) == request(other)
            && self.answers == other.answers
            && self.errors == other.errors
    }

    pub(super) fn same_as(self, twin: Twin) -> Self {
        Self {
            same_as: Some(twin),
            parameters: Vec::new(),
            request: None,
            answers: Vec::new(),
            errors: Vec::new(),
            ..self
        }
    }

    pub(super) fn read(
        source: &Source<'_>,
        path: &str,
        method: &str,
        item: &Value,
        base_url: &str,
    ) -> Self {
        let operation = item.get(method).unwrap_or(&Value::Null);
        let method = method.to_ascii_uppercase();
        let responses = source.entries(operation, "responses");
        let (errors, answers): (Vec<_>, Vec<_>) =
            responses.partition(|(status, _)| !status.starts_with(['1', '2', '3']));
        let curl = format!("curl -X {method} {base_url}{path}");
        // A body makes it a POST already.
        let curl = curl.replace("curl -X POST ", "curl ");
        Self {
            id: schema::text(operation, "operationId"),
            method,
            path: path.to_owned(),
            summary: schema::text(operation, "summary"),
            description: schema::text(operation, "description"),
            is_deprecated: schema::flag(operation, "deprecated"),
            same_as: None,
            parameters: source
                .list(item, "parameters")
                .chain(source.list(operation, "parameters"))
                .map(|parameter| source.parameter(parameter))
                .collect(),
            request: operation
                .get("requestBody")
                .and_then(|body| Request::read(source, source.resolve(body), &curl)),
            answers: answers
                .into_iter()
                .map(|(status, response)| Answer::read(source, status, response))
                .collect(),
            errors: errors
                .into_iter()
                .map(|(status, response)| Failure {
                    status: status.to_owned(),
                    description: schema::text(response, "description"),
                    codes: source
                        .entries(response, "content")
                        .flat_map(|(_, form)| source.values_of(&form["schema"], "code"))
                        .collect(),
                })
                .collect(),
        }
    }
}

impl Request {
    fn read(source: &Source<'_>, body: &Value, curl: &str) -> Option<Self> {
        let (media_type, form) = source.entries(body, "content").next()?;
        let example = source.example(form);
        let is_form = media_type == "application/x-www-form-urlencoded";
        let curl = example.map(|example| match (is_form, example.as_object()) {
            (true, Some(fields)) => fields.iter().fold(curl.to_owned(), |curl, (name, value)| {
                let value = schema::plain(value);
                format!("{curl} \\\n  -d {}", quoted(&format!("{name}={value}")))
            }),
            _ => {
                let header = quoted(&format!("Content-Type: {media_type}"));
                let body = quoted(&schema::plain(example));
                format!("{curl} \\\n  -H {header} \\\n  -d {body}")
            }
        });
        Some(Self {
            is_required: schema::flag(body, "required"),
            description: schema::text(body, "description"),
            media_type: media_type.to_owned(),
            members: source.members(&form["schema"]),
            curl,
        })
    }
}

impl Answer {
    fn read(source: &Source<'_>, status: &str, response: &Value) -> Self {
        let form = |(media_type, form): (&str, &Value)| {
            let schema = source.resolve(&form["schema"]);
            Form {
                media_type: media_type.to_owned(),
                description: schema::text(schema, "description"),
                members: source.members(schema),
                example: source.example(form).map(pretty),
            }
        };
        Self {
            status: status.to_owned(),
            description: schema::text(response, "description"),
            headers: source
                .entries(response, "headers")
                .map(|(name, _)| name.to_owned())
                .collect(),
            forms: source.entries(response, "content").map(form).collect(),
        }
    }
}

/// An example as one reads it.
fn pretty(example: &Value) -> String {
    match example {
        Value::String(text) => text.trim_end().to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(example).unwrap_or_default()
        }
    }
}

/// `text` as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
