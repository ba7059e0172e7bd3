//! The API reference: what the OpenAPI description says of each operation, ready for the templates.
//!
//! It is made from the description as it is served, and knows nothing of this API: what stands there
//! appears here. References outside the document are not followed.

mod operation;
mod schema;
mod source;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;

use operation::{Operation, Twin};
use schema::Member;
use source::Source;

const METHODS: [&str; 8] = [
    "get", "head", "post", "put", "patch", "delete", "options", "trace",
];

/// All operations, by their tags.
#[derive(Debug, Serialize)]
pub(super) struct Reference {
    groups: Vec<Group>,
    /// The schemas that errors have.
    error_bodies: Vec<Body>,
    /// The headers of all answers, each once unless it means several things.
    headers: Vec<Member>,
    credentials: Vec<Credential>,
}

/// The operations of one tag.
#[derive(Debug, Serialize)]
struct Group {
    name: String,
    /// In Markdown, as all descriptions.
    description: String,
    /// What every one of its operations takes.
    parameters: Vec<Member>,
    operations: Vec<Operation>,
    /// What only gives a document.
    documents: Vec<Operation>,
}

/// A schema of the description, by its name.
#[derive(Debug, Serialize)]
struct Body {
    name: String,
    description: String,
    members: Vec<Member>,
}

#[derive(Debug, Serialize)]
struct Credential {
    name: String,
    description: String,
}

impl Reference {
    /// The reference that `description` makes, of a service at `base_url`. What is not as OpenAPI
    /// has it is left out.
    pub(super) fn of(description: &Value, base_url: &str) -> Self {
        let source = Source::new(description);
        let operations: Vec<_> = operations(&source, base_url).collect();
        let error_bodies = error_bodies(&source, &operations);
        let headers = headers(&operations);
        let tags = source.list(description, "tags");
        let mut groups: Vec<_> = tags
            .map(|tag| Group {
                name: source::text(tag, "name"),
                description: source::text(tag, "description"),
                parameters: Vec::new(),
                operations: Vec::new(),
                documents: Vec::new(),
            })
            .collect();
        for (tag, operation) in operations {
            // An operation without a tag of its own stands with the first.
            let place = groups.iter().position(|group| group.name == tag);
            if let Some(group) = groups.get_mut(place.unwrap_or(0)) {
                group.add(operation);
            }
        }
        groups.retain(|group| !group.operations.is_empty() || !group.documents.is_empty());
        groups.iter_mut().for_each(Group::hoist_parameters);
        Self {
            groups,
            error_bodies,
            headers,
            credentials: credentials(&source),
        }
    }
}

impl Group {
    fn add(&mut self, operation: Operation) {
        let told = if operation.is_document() {
            &mut self.documents
        } else {
            &mut self.operations
        };
        let twin = told.iter().find(|twin| twin.is_like(&operation));
        let twin = twin.map(|twin| Twin {
            id: twin.id.clone(),
            method: twin.method.clone(),
            path: twin.path.clone(),
        });
        told.push(match twin {
            Some(twin) => operation.same_as(twin),
            None => operation,
        });
    }

    /// Tells once what every operation takes, if there are several.
    fn hoist_parameters(&mut self) {
        let told = || {
            let all = self.operations.iter().chain(&self.documents);
            all.filter(|one| one.same_as.is_none())
        };
        let Some(first) = told().next().filter(|_| told().count() > 1) else {
            return;
        };
        let is_common = |member: &&Member| told().all(|one| one.parameters.contains(member));
        let common: Vec<_> = first.parameters.iter().filter(is_common).cloned().collect();
        for operation in self.operations.iter_mut().chain(&mut self.documents) {
            operation
                .parameters
                .retain(|member| !common.contains(member));
        }
        self.parameters = common;
    }
}

/// Every operation with its first tag, in the order of the description.
fn operations<'a>(
    source: &'a Source<'a>,
    base_url: &'a str,
) -> impl Iterator<Item = (String, Operation)> + 'a {
    source
        .entries(source.root, "paths")
        .flat_map(move |(path, item)| {
            METHODS.into_iter().filter_map(move |method| {
                let tags = item.get(method)?.get("tags");
                let tag = tags.and_then(|tags| tags.get(0)).map(source::plain);
                let operation = Operation::read(source, path, method, item, base_url);
                Some((tag.unwrap_or_default(), operation))
            })
        })
}

/// The schemas that the errors of `operations` name, each once.
fn error_bodies(source: &Source<'_>, operations: &[(String, Operation)]) -> Vec<Body> {
    let components = source.root.get("components").unwrap_or(&Value::Null);
    let errors = operations.iter().flat_map(|(_, one)| &one.errors);
    let names = errors.flat_map(|error| error.forms.iter().filter_map(|form| form.schema.as_ref()));
    let mut bodies: Vec<Body> = Vec::new();
    for name in names {
        if bodies.iter().all(|body| body.name != *name) {
            let schema = components["schemas"].get(name).unwrap_or(&Value::Null);
            bodies.push(Body {
                name: name.clone(),
                description: source::text(schema, "description"),
                members: source.members(schema),
            });
        }
    }
    bodies
}

fn headers(operations: &[(String, Operation)]) -> Vec<Member> {
    let mut headers: Vec<Member> = Vec::new();
    let answers = operations
        .iter()
        .flat_map(|(_, one)| one.answers.iter().chain(&one.errors));
    for header in answers.flat_map(|answer| &answer.headers) {
        if !headers.contains(header) {
            headers.push(header.clone());
        }
    }
    headers.sort_by(|one, other| one.name.cmp(&other.name));
    headers
}

fn credentials(source: &Source<'_>) -> Vec<Credential> {
    let components = source.root.get("components").unwrap_or(&Value::Null);
    source
        .entries(components, "securitySchemes")
        .map(|(name, scheme)| Credential {
            name: match source::text(scheme, "type").as_str() {
                "apiKey" => source::text(scheme, "name"),
                "http" => format!("Authorization: {}", source::text(scheme, "scheme")),
                _ => name.to_owned(),
            },
            description: source::text(scheme, "description"),
        })
        .collect()
}
