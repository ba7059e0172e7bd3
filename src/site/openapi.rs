//! The description of the API (OpenAPI 3.1): one source, served as YAML and, as the same document, in JSON.

use minijinja::Value;
use minijinja::syntax::SyntaxConfig;

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
    pub(super) value: serde_json::Value,
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
        let options = serde_saphyr::options! {
            // A bare `no` is a string in YAML 1.2.
            strict_booleans: true,
        };
        let value = serde_saphyr::from_str_with_options(&yaml, options)
            .map_err(|error| SiteError::new(NAME, error.to_string()))?;
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
