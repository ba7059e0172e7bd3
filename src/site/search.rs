//! What the search over the guide and the reference looks through, in the browser.

use serde::Serialize;
use serde_json::Value;

use crate::domain::passage::Passage;

use super::document::{Document, JSON, PAGE_MAX_AGE_S, Representation};
use super::reference::Group;

/// The path of the index.
const PATH: &str = "/docs/search.json";

/// A place to go to.
#[derive(Debug, Serialize)]
struct SearchEntry {
    title: String,
    /// The path and anchor.
    path: String,
    text: String,
}

/// The index of the guide's `passages` and the operations of `groups`.
pub(super) fn document(base_url: &str, passages: &[Passage], groups: &[Group]) -> Document {
    let passages = passages.iter().map(|passage| SearchEntry {
        title: passage.title.clone(),
        path: passage.url.replacen(base_url, "", 1),
        text: format!("{}\n{}", passage.examples.join(" "), passage.text),
    });
    let operations = groups.iter().flat_map(Group::all).map(|operation| {
        let text = |name: &str| operation.get(name).and_then(Value::as_str);
        let text = |name: &str| text(name).unwrap_or_default();
        SearchEntry {
            title: text("summary").to_owned(),
            path: format!("/docs/reference#operation/{}", text("operationId")),
            text: format!(
                "{} {}\n{}",
                text("method"),
                text("path"),
                text("description").trim_end()
            ),
        }
    });
    let entries: Vec<_> = passages.chain(operations).collect();
    let json = serde_json::to_vec(&entries).unwrap_or_default();
    Document::new(PATH, PAGE_MAX_AGE_S, vec![Representation::new(JSON, json)])
}
