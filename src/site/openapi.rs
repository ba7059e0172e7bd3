//! The description of the API (OpenAPI 3.1): one source, served as YAML and, as the same document, in JSON.

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};

use super::document::{Document, JSON, MAX_AGE_S, Representation};
use super::error::SiteError;

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
        let yaml = environment()?.render_named_str(NAME, SOURCE, context)?;
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
        let document = |path, media_type, text: String| {
            Document::new(path, MAX_AGE_S, vec![Representation::new(media_type, text)])
        };
        [
            document("/openapi.json", JSON, self.value.to_string()),
            document("/api/openapi.yaml", YAML, self.yaml),
        ]
    }
}

/// The source is YAML even before it is rendered, because statements are comments on lines of their
/// own. The other templates have no such lines: in Markdown `#%` could be content.
fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .keep_trailing_newline(true)
        .line_statement_prefix("#%")
        .line_comment_prefix("#!")
        .build()?;
    environment.set_syntax(syntax);
    // An undefined name is an error, never an empty string.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.add_filter("quoted", escape_quoted);
    environment.add_template(MACROS.0, MACROS.1)?;
    Ok(environment)
}

/// `text` for use between the double quotes of a YAML scalar, which has the escapes of JSON.
fn escape_quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    let inner = json
        .strip_prefix('"')
        .and_then(|json| json.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}
