//! The API reference: the operations of the OpenAPI description by their tags, as laid out by the templates
//! `parts/reference.*`, and the index that browsers search it and the guide with. Schemas stay as in the
//! description: the templates walk them.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::domain::Passage;

use super::document::{Document, JSON, PAGE_MAX_AGE_S, Representation};

/// The path of the index.
const SEARCH_PATH: &str = "/docs/search.json";

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
pub(super) fn groups(description: &Value, operations: &[Operation]) -> Vec<Group> {
    let tags = items(description.get("tags"));
    tags.map(|tag| Group::of(tag, operations)).collect()
}

impl Group {
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

/// Title, path with anchor, and text of each search result: the guide's `passages` and the operations of `groups`.
pub(super) fn search_index(base_url: &str, passages: &[Passage], groups: &[Group]) -> Document {
    let passages = passages.iter().map(|passage| {
        json!({
            "title": passage.title,
            "path": passage.url.replacen(base_url, "", 1),
            "text": format!("{}\n{}", passage.hints.join(" "), passage.text),
        })
    });
    let operations = groups
        .iter()
        .flat_map(|group| group.operations.iter().chain(&group.documents));
    let operations = operations.map(|operation| {
        let text = |name| operation.get(name).and_then(Value::as_str);
        let text = |name| text(name).unwrap_or_default();
        let (method, path) = (text("method"), text("path"));
        json!({
            "title": text("summary"),
            "path": format!("/docs/reference#operation/{}", text("operationId")),
            "text": format!("{method} {path}\n{}", text("description").trim_end()),
        })
    });
    let places: Value = passages.chain(operations).collect();
    let form = Representation::new(JSON, places.to_string());
    Document::new(SEARCH_PATH, PAGE_MAX_AGE_S, vec![form])
}

/// Every operation, in the order of the description.
pub(super) fn operations(description: &Value) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, item) in members(description.get("paths")) {
        let parameters: Vec<_> = items(item.get("parameters"))
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
    let [first, _second, ..] = lists.as_slice() else {
        return Vec::new();
    };
    let mut common = (*first).clone();
    common.retain(|parameter| lists.iter().all(|list| list.contains(parameter)));
    for list in &mut lists {
        list.retain(|parameter| !common.contains(parameter));
    }
    common
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
