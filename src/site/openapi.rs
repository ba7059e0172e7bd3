//! The description of the API (OpenAPI 3.1): one source, served as YAML and, as the same document, in JSON.

use granit_parser::{BorrowedInput, Event, Parser, ScalarStyle, ScanError};
use minijinja::Value;
use minijinja::syntax::SyntaxConfig;
use serde_json::Value as Json;

use super::document::{Document, JSON};
use super::error::SiteError;
use super::templates::environment;

const NAME: &str = "openapi.yaml";
const SOURCE: &str = include_str!("../../data/openapi.yaml");
const MACROS: (&str, &str) = (
    "parts/openapi.yaml",
    include_str!("../../data/parts/openapi.yaml"),
);

const YAML: &str = "application/yaml";

/// The description, as text and parsed.
#[derive(Debug)]
pub(super) struct Description {
    yaml: String,
    /// The same, parsed.
    pub(super) value: Json,
}

impl Description {
    /// Renders the description with `context`.
    ///
    /// # Errors
    /// [`SiteError`] when the result is not YAML.
    pub(super) fn render(context: &Value) -> Result<Self, SiteError> {
        // The source is YAML even before it is rendered, because statements are comments on lines of their own. The
        // other templates have no such lines: in Markdown `#%` could be content.
        let mut syntax = SyntaxConfig::builder();
        syntax.line_statement_prefix("#%").line_comment_prefix("#!");
        let mut environment = environment(syntax)?;
        environment.add_template(MACROS.0, MACROS.1)?;
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
fn next_value<'yaml>(
    events: &mut Parser<'yaml, impl BorrowedInput<'yaml>>,
) -> Result<Option<Json>, ScanError> {
    for event in events.by_ref() {
        let value = match event?.0 {
            Event::StreamStart | Event::DocumentStart(..) => continue,
            Event::Scalar(text, ScalarStyle::Plain, ..) => {
                serde_json::from_str(&text).unwrap_or_else(|_string| text.into())
            }
            Event::Scalar(text, ..) => text.into(),
            Event::SequenceStart(..) => std::iter::from_fn(|| next_value(events).transpose())
                .collect::<Result<_, _>>()
                .map(Json::Array)?,
            Event::MappingStart(..) => std::iter::from_fn(|| next_field(events).transpose())
                .collect::<Result<_, _>>()
                .map(Json::Object)?,
            _ends => break,
        };
        return Ok(Some(value));
    }
    Ok(None)
}

fn next_field<'yaml>(
    events: &mut Parser<'yaml, impl BorrowedInput<'yaml>>,
) -> Result<Option<(String, Json)>, ScanError> {
    let Some(name) = next_value(events)? else {
        return Ok(None);
    };
    let name = name
        .as_str()
        .map_or_else(|| name.to_string(), str::to_owned);
    Ok(Some((name, next_value(events)?.unwrap_or_default())))
}
