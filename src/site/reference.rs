//! The API reference: the operations of the OpenAPI description by their tags, as laid out by the templates
//! `parts/reference.*`. Schemas stay as in the description: the templates walk them.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// An Operation Object with additional fields: `method`, `path`, the `parameters` of its path, and `same_as`,
/// an earlier operation of the same tag with the same request and responses, if any.
pub(super) type Operation = Map<String, Value>;

/// The operations of one tag.
#[derive(Debug, Serialize)]
pub(super) struct Group {
    #[serde(flatten)]
    tag: Value,
    /// The parameters common to all operations, if there are several operations.
    parameters: Vec<Value>,
    operations: Vec<Operation>,
    /// The operations that only return a document.
    documents: Vec<Operation>,
}

/// The groups of all operations, in the order of the tags.
pub(super) fn groups(description: &Value) -> Vec<Group> {
    let operations = operations(description);
    let tags = description.get("tags").and_then(Value::as_array);
    let tags = tags.into_iter().flatten();
    tags.map(|tag| Group::of(tag, &operations)).collect()
}

impl Group {
    /// Its operations, those that only return a document last.
    pub(super) fn all(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().chain(&self.documents)
    }

    fn of(tag: &Value, all: &[Operation]) -> Self {
        let is_of_tag = |operation: &&Operation| {
            let first = operation.get("tags").and_then(|tags| tags.get(0));
            first == tag.get("name")
        };
        let mut operations: Vec<Operation> = Vec::new();
        for operation in all.iter().filter(is_of_tag) {
            let twin = operations.iter().find(|one| is_like(one, operation));
            let twin = json!(twin);
            let mut operation = operation.clone();
            operation.insert("same_as".to_owned(), twin);
            operations.push(operation);
        }
        let parameters = hoist_parameters(&mut operations);
        let (documents, operations) = operations.into_iter().partition(is_document);
        Self {
            tag: tag.clone(),
            parameters,
            operations,
            documents,
        }
    }
}

/// Every operation, in the order of the description.
fn operations(description: &Value) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, item) in members(description.get("paths")) {
        let parameters = item.get("parameters").and_then(Value::as_array);
        let parameters: Vec<_> = parameters
            .into_iter()
            .flatten()
            .map(|parameter| resolve(description, parameter))
            .collect();
        for (method, operation) in members(Some(item)) {
            let Some(operation) = operation.as_object() else {
                continue;
            };
            let mut operation = operation.clone();
            operation.insert("method".to_owned(), json!(method.to_ascii_uppercase()));
            operation.insert("path".to_owned(), json!(path));
            operation.insert("parameters".to_owned(), json!(parameters));
            operations.push(operation);
        }
    }
    operations
}

/// True if two operations have the same request and responses.
fn is_like(one: &Operation, other: &Operation) -> bool {
    const MEMBERS: [&str; 5] = [
        "method",
        "parameters",
        "requestBody",
        "responses",
        "x-problem-codes",
    ];
    MEMBERS
        .iter()
        .all(|name| one.get(*name) == other.get(*name))
}

/// True if an operation only returns a cacheable document.
fn is_document(operation: &Operation) -> bool {
    let is_get = operation
        .get("method")
        .is_some_and(|method| method == "GET");
    is_get && members(operation.get("responses")).any(|(status, _)| status == "304")
}

/// Removes from `operations` the parameters common to all of them, if there are several, and returns those.
fn hoist_parameters(operations: &mut [Operation]) -> Vec<Value> {
    let lists = operations.iter_mut();
    let mut lists: Vec<_> = lists
        .filter_map(|operation| operation.get_mut("parameters")?.as_array_mut())
        .collect();
    let [first, others @ ..] = lists.as_slice() else {
        return Vec::new();
    };
    if others.is_empty() {
        return Vec::new();
    }
    let mut common = (*first).clone();
    common.retain(|parameter| others.iter().all(|list| list.contains(parameter)));
    for list in &mut lists {
        list.retain(|parameter| !common.contains(parameter));
    }
    common
}

/// The fields of an object; none if it is absent.
pub(super) fn members(object: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    object.and_then(Value::as_object).into_iter().flatten()
}

/// The target in `description` of the reference `value`, or `value` itself.
pub(super) fn resolve<'a>(description: &'a Value, value: &'a Value) -> &'a Value {
    let reference = value.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|reference| description.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(value)
}
