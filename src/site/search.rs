//! The index that browsers search the guide and the reference with.

use serde_json::{Value, json};

use crate::domain::Passage;

use super::document::{Document, JSON, PAGE_MAX_AGE_S, Representation};
use super::reference::Group;

/// The path of the index.
const PATH: &str = "/docs/search.json";

/// The index: title, path with anchor, and text of each search result. These are the guide's `passages` and
/// the operations of `groups`.
pub(super) fn document(base_url: &str, passages: &[Passage], groups: &[Group]) -> Document {
    let passages = passages.iter().map(|passage| {
        json!({
            "title": passage.title,
            "path": passage.url.replacen(base_url, "", 1),
            "text": format!("{}\n{}", passage.hints.join(" "), passage.text),
        })
    });
    let operations = groups.iter().flat_map(Group::all).map(|operation| {
        let text = |name: &str| operation.get(name).and_then(Value::as_str);
        let text = |name: &str| text(name).unwrap_or_default();
        let (method, path) = (text("method"), text("path"));
        json!({
            "title": text("summary"),
            "path": format!("/docs/reference#operation/{}", text("operationId")),
            "text": format!("{method} {path}\n{}", text("description").trim_end()),
        })
    });
    let places: Value = passages.chain(operations).collect();
    let form = Representation::new(JSON, places.to_string());
    Document::new(PATH, PAGE_MAX_AGE_S, vec![form])
}
