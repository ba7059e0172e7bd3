//! The operations of the OpenAPI description, read once for the API reference, its search and the MCP tools. Schemas
//! stay as in the description: the templates `parts/reference.*` walk them.

use serde::Serialize;
use serde_json::{Value, json};

/// An Operation Object with additional fields: `method`, `path`, the `parameters` of its path, and `same_as`,
/// an earlier operation of the same tag with the same request and responses, if any.
pub(super) type Operation = Value;

/// The operations of one tag.
#[derive(Debug, Serialize)]
pub(super) struct Group<'a> {
    #[serde(flatten)]
    tag: &'a Value,
    operations: Vec<&'a Operation>,
    /// The operations that only return a document.
    documents: Vec<&'a Operation>,
}

/// Every operation, in the order of the description.
#[allow(clippy::indexing_slicing, reason = "an object takes any field")]
pub(super) fn operations(description: &Value) -> Vec<Operation> {
    let mut operations: Vec<Operation> = Vec::new();
    for (path, item) in members(description.get("paths")) {
        let parameters = items(item.get("parameters"));
        let parameters = parameters.map(|parameter| resolve(description, parameter));
        let parameters: Value = parameters.cloned().collect();
        for (method, operation) in members(Some(item)) {
            // Beside them are the parameters.
            if !operation.is_object() {
                continue;
            }
            let mut operation = operation.clone();
            operation["method"] = json!(method.to_ascii_uppercase());
            operation["path"] = json!(path);
            operation["parameters"] = parameters.clone();
            let twin = operations.iter().find(|one| is_like(one, &operation));
            operation["same_as"] = json!(twin);
            operations.push(operation);
        }
    }
    operations
}

/// The groups of all `operations`, in the order of the tags.
pub(super) fn groups<'a>(description: &'a Value, operations: &'a [Operation]) -> Vec<Group<'a>> {
    let group = |tag: &'a Value| {
        let is_of_tag = |operation: &&Operation| operation.pointer("/tags/0") == tag.get("name");
        let of_tag = operations.iter().filter(is_of_tag);
        let (documents, operations) = of_tag.partition(|operation| is_document(operation));
        Group {
            tag,
            operations,
            documents,
        }
    };
    items(description.get("tags")).map(group).collect()
}

/// True if two operations of a tag have the same request and responses.
fn is_like(one: &Operation, other: &Operation) -> bool {
    const MEMBERS: [&str; 6] = [
        "tags",
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
    let is_get = operation.get("method") == Some(&json!("GET"));
    is_get && members(operation.get("responses")).any(|(status, _)| status == "304")
}

/// The items of an array; none if it is absent.
fn items(array: Option<&Value>) -> impl Iterator<Item = &Value> {
    array.and_then(Value::as_array).into_iter().flatten()
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
