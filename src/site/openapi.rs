//! The description of the API (OpenAPI 3.1): one source, served as YAML and, as the same document, in JSON. Its operations
//! are read once, for the API reference, its search and the MCP tools; schemas stay as they are: the templates
//! `parts/reference.*` walk them.

use granit_parser::{BorrowedInput, Event, Parser, ScalarStyle, ScanError};
use minijinja::syntax::SyntaxConfig;
use serde_json::{Map, Value, json};

use super::document::{Document, JSON};
use super::environment::environment;
use super::site_file::SiteError;

const NAME: &str = "openapi.yaml";
const SOURCE: &str = include_str!("../../data/openapi.yaml");

const YAML: &str = "application/yaml";

/// The description, as text and parsed.
#[derive(Debug)]
pub(super) struct Description {
    yaml: String,
    /// The same, parsed.
    pub(super) value: Value,
}

impl Description {
    /// Renders the description with `context`.
    ///
    /// # Errors
    /// [`SiteError`] when the result is not YAML.
    pub(super) fn render(context: &minijinja::Value) -> Result<Self, SiteError> {
        // The source is YAML even before it is rendered, because statements are comments on lines of their own. The
        // other templates have no such lines: in Markdown `#%` could be content.
        let mut syntax = SyntaxConfig::builder();
        syntax.line_statement_prefix("#%").line_comment_prefix("#!");
        let mut environment = environment(syntax)?;
        let macros = include_str!("../../data/parts/openapi.yaml");
        environment.add_template("parts/openapi.yaml", macros)?;
        let yaml = environment.render_named_str(NAME, SOURCE, context)?;
        let value = next_value(&mut Parser::new_from_str(&yaml))
            .map_err(|error| SiteError::new(NAME, error.to_string()))?;
        let value = value.unwrap_or_default();
        Ok(Self { yaml, value })
    }

    /// YAML and JSON, each under its path.
    pub(super) fn documents(self) -> [Document; 2] {
        [
            Document::single("/openapi.json", JSON, self.value.to_string()),
            Document::single("/api/openapi.yaml", YAML, self.yaml),
        ]
    }
}

/// The next value of the document or collection that `events` are in; `None` at its end.
///
/// The description has the types of JSON, which are the JSON schema of YAML 1.2 (section 10.2): a plain scalar is a
/// number, `true`, `false` or `null` where JSON says so, and a string otherwise.
#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's events may be extended; the rest ends a collection or the document"
)]
fn next_value<'yaml>(
    events: &mut Parser<'yaml, impl BorrowedInput<'yaml>>,
) -> Result<Option<Value>, ScanError> {
    let value = match events.next().transpose()? {
        Some((Event::StreamStart | Event::DocumentStart(..), _)) => return next_value(events),
        Some((Event::Scalar(text, ScalarStyle::Plain, ..), _)) => {
            serde_json::from_str(&text).unwrap_or_else(|_string| text.into())
        }
        Some((Event::Scalar(text, ..), _)) => text.into(),
        Some((Event::SequenceStart(..), _)) => {
            let items = std::iter::from_fn(|| next_value(events).transpose());
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Some((Event::MappingStart(..), _)) => {
            let mut fields = Map::new();
            while let Some(name) = next_value(events)? {
                let name = name.as_str().unwrap_or_default().to_owned();
                fields.insert(name, next_value(events)?.unwrap_or_default());
            }
            fields.into()
        }
        _ends => return Ok(None),
    };
    Ok(Some(value))
}

/// An Operation Object with additional fields: its first `tag`, `method`, `path` and the `parameters` of its path.
pub(super) type Operation = Value;

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
            operation["tag"] = operation["tags"][0].clone();
            operation["method"] = json!(method.to_ascii_uppercase());
            operation["path"] = json!(path);
            operation["parameters"] = parameters.clone();
            operations.push(operation);
        }
    }
    operations
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
