//! One operation: what it takes, and what it answers.

use serde::Serialize;
use serde_json::Value;

use super::schema::Member;
use super::source::{self, Source};

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
    /// The fields of a form for trying it, if the description says that there is to be one.
    pub(super) try_it: Option<Vec<Field>>,
    /// What it answers when nothing goes wrong.
    pub(super) answers: Vec<Answer>,
    pub(super) errors: Vec<Answer>,
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
    /// Of each example, how to send it from a terminal.
    pub(super) forms: Vec<Form>,
}

/// A field of a form: a text, or a flag.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) is_flag: bool,
    pub(super) is_required: bool,
    /// What stands in it at first.
    pub(super) value: String,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Answer {
    pub(super) status: String,
    pub(super) description: String,
    pub(super) headers: Vec<Member>,
    /// The problem codes it may have.
    pub(super) codes: Vec<String>,
    /// None if it has no body.
    pub(super) forms: Vec<Form>,
}

/// A body in one media type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Form {
    pub(super) media_type: String,
    /// The name of its schema, if that is told of elsewhere: then it has no members here.
    pub(super) schema: Option<String>,
    /// What its schema says.
    pub(super) description: String,
    pub(super) members: Vec<Member>,
    pub(super) examples: Vec<Example>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Example {
    /// What it shows; may be empty.
    pub(super) summary: String,
    pub(super) text: String,
}

impl Operation {
    /// Whether it only gives what a client may have already.
    pub(super) fn is_document(&self) -> bool {
        self.method == "GET" && self.answers.iter().any(|answer| answer.status == "304")
    }

    /// Whether it takes and answers what `other` does, apart from its path.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let request = |operation: &Self| {
            let mut request = operation.request.clone();
            let forms = request.iter_mut().flat_map(|request| &mut request.forms);
            forms.for_each(|form| form.examples.clear());
            request
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
        let body = operation
            .get("requestBody")
            .map(|body| source.resolve(body));
        Self {
            id: source::text(operation, "operationId"),
            method,
            path: path.to_owned(),
            summary: source::text(operation, "summary"),
            description: source::text(operation, "description"),
            is_deprecated: source::flag(operation, "deprecated"),
            same_as: None,
            parameters: source
                .list(item, "parameters")
                .chain(source.list(operation, "parameters"))
                .map(|parameter| source.parameter(parameter))
                .collect(),
            request: body.map(|body| Request::read(source, body, &curl)),
            try_it: body
                .filter(|_| source::flag(operation, "x-try-it"))
                .map(|body| fields(source, body)),
            answers: answers
                .into_iter()
                .map(|(status, response)| Answer::read(source, status, response, Form::read))
                .collect(),
            errors: errors
                .into_iter()
                .map(|(status, response)| Answer::read(source, status, response, Form::of_error))
                .collect(),
        }
    }
}

impl Request {
    fn read(source: &Source<'_>, body: &Value, curl: &str) -> Self {
        let form = |(media_type, form)| {
            let command = |example| command(curl, media_type, example);
            Form::with_examples(source, media_type, form, command)
        };
        Self {
            is_required: source::flag(body, "required"),
            description: source::text(body, "description"),
            forms: source.entries(body, "content").map(form).collect(),
        }
    }
}

/// How to send `example` from a terminal; `curl` is the beginning.
fn command(curl: &str, media_type: &str, example: &Value) -> String {
    let is_form = media_type == "application/x-www-form-urlencoded";
    match (is_form, example.as_object()) {
        (true, Some(fields)) => fields.iter().fold(curl.to_owned(), |curl, (name, value)| {
            let value = source::plain(value);
            format!("{curl} \\\n  -d {}", quoted(&format!("{name}={value}")))
        }),
        _ => {
            let header = quoted(&format!("Content-Type: {media_type}"));
            let body = quoted(&source::plain(example));
            format!("{curl} \\\n  -H {header} \\\n  -d {body}")
        }
    }
}

/// A field for each text and flag that `body` takes, filled in with its first example.
fn fields(source: &Source<'_>, body: &Value) -> Vec<Field> {
    let Some((_, form)) = source.entries(body, "content").next() else {
        return Vec::new();
    };
    let example = source.examples(form).next();
    let members = source.members(&form["schema"]).into_iter();
    let members = members.filter(|member| !member.name.contains(['.', '[']));
    members
        .filter(|member| member.kind == "boolean" || member.kind.starts_with("string"))
        .map(|member| Field {
            is_flag: member.kind == "boolean",
            is_required: member.is_required,
            value: example
                .as_ref()
                .and_then(|(_, example)| example.get(&member.name))
                .map(source::plain)
                .unwrap_or_default(),
            name: member.name,
        })
        .collect()
}

impl Answer {
    fn read<'a>(
        source: &Source<'a>,
        status: &str,
        response: &'a Value,
        form: impl Fn(&Source<'a>, &'a str, &'a Value) -> Form,
    ) -> Self {
        Self {
            status: status.to_owned(),
            description: source::text(response, "description"),
            headers: source
                .entries(response, "headers")
                .map(|(name, header)| source.header(name, header))
                .collect(),
            codes: source
                .entries(response, "content")
                .flat_map(|(_, form)| source.values_of(&form["schema"], "code"))
                .collect(),
            forms: source
                .entries(response, "content")
                .map(|(media_type, value)| form(source, media_type, value))
                .collect(),
        }
    }
}

impl Form {
    fn read<'a>(source: &Source<'a>, media_type: &str, form: &'a Value) -> Self {
        Self::with_examples(source, media_type, form, pretty)
    }

    /// The form of an error: many have the same schema, which is told of once.
    fn of_error<'a>(source: &Source<'a>, media_type: &str, form: &'a Value) -> Self {
        match source.name_of(&form["schema"]) {
            Some(name) => Self {
                media_type: media_type.to_owned(),
                schema: Some(name.to_owned()),
                description: String::new(),
                members: Vec::new(),
                examples: Vec::new(),
            },
            None => Self::read(source, media_type, form),
        }
    }

    fn with_examples<'a>(
        source: &Source<'a>,
        media_type: &str,
        form: &'a Value,
        shown: impl Fn(&'a Value) -> String,
    ) -> Self {
        let schema = source.resolve(&form["schema"]);
        let examples = source.examples(form);
        Self {
            media_type: media_type.to_owned(),
            schema: None,
            description: source::text(schema, "description"),
            members: source.members(schema),
            examples: examples
                .map(|(summary, value)| Example {
                    summary,
                    text: shown(value),
                })
                .collect(),
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
