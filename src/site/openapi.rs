//! The description of the API (OpenAPI 3.1): one source, served as YAML and, as the same document,
//! in JSON.

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};

use super::document::{Document, JSON, MAX_AGE_S, Representation};
use super::error::SiteError;
use super::facts::DeprecatedOperation;

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
    /// Renders the description with `context`, and marks the operations that are `deprecated`.
    ///
    /// # Errors
    /// [`SiteError`] when the result is not YAML, or has no such operation.
    pub(super) fn render(
        context: &Value,
        deprecated: &[DeprecatedOperation],
    ) -> Result<Self, SiteError> {
        let mut yaml = environment()?.render_named_str(NAME, SOURCE, context)?;
        for operation in deprecated {
            yaml = mark(&yaml, operation).ok_or_else(|| {
                let DeprecatedOperation { method, path, .. } = operation;
                SiteError::new(NAME, format!("has no operation {method} {path} to mark"))
            })?;
        }
        let value = parse(&yaml).map_err(|error| SiteError::new(NAME, error.to_string()))?;
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

/// `yaml` with a notice about `operation`; `None` if it has no such operation. Comments and the order
/// of members stay.
fn mark(yaml: &str, operation: &DeprecatedOperation) -> Option<String> {
    let replacement = operation.notice.replacement;
    let sunset = operation.notice.sunset().to_rfc3339();
    let (day, _) = sunset.split_once('T')?;
    let notice = format!(
        "        **Deprecated.** Use `{replacement}` instead. Until {day} this operation stays as it \
         is.\n\n"
    );
    let mut marked = String::with_capacity(yaml.len() + 200);
    let (mut path, mut method, mut is_found) = ("", "", false);
    for line in yaml.lines() {
        if let Some(key) = line.strip_suffix(':') {
            let name = key.trim_start();
            match key.len() - name.len() {
                2 => path = name,
                4 => method = name,
                _ => {}
            }
        }
        let is_here = line == "      description: |"
            && path == operation.path
            && operation.method.eq_ignore_ascii_case(method);
        if is_here {
            marked.push_str("      deprecated: true\n");
        }
        marked.extend([line, "\n"]);
        if is_here {
            marked.push_str(&notice);
            is_found = true;
        }
    }
    is_found.then_some(marked)
}

/// Parses YAML 1.2 into JSON values.
fn parse(yaml: &str) -> Result<serde_json::Value, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        // A bare `no` is a string in YAML 1.2.
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(yaml, options)
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

/// `text` as it stands between the double quotes of a YAML scalar: the characters that JSON escapes,
/// and those that YAML does not take as they are (YAML 1.2, section 5.1).
fn escape_quoted(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            // Line separators would be folded, byte order marks dropped.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{FEFF}') => {
                escaped.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            c => escaped.push(c),
        }
    }
    escaped
}
