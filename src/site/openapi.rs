//! The description of the API (OpenAPI 3.1): one source, served as YAML and, as the same document,
//! in JSON.

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};

use super::document::{Document, Representation};
use super::table::{JSON, MAX_AGE_S};
use super::{Deprecated, SiteError};

const NAME: &str = "openapi.yaml";
const SOURCE: &str = include_str!("../../data/openapi.yaml");

const YAML: &str = "application/yaml";

/// The description in both its forms.
#[derive(Debug)]
pub(super) struct Description {
    yaml: String,
    value: serde_json::Value,
}

impl Description {
    /// Fills `words` into the description, and marks the operations that are `deprecated`.
    ///
    /// # Errors
    /// [`SiteError`] when it is no YAML once it is filled in, or has no such operation.
    pub(super) fn render(words: &Value, deprecated: &[Deprecated]) -> Result<Self, SiteError> {
        let mut yaml = environment()?.render_named_str(NAME, SOURCE, words)?;
        for operation in deprecated {
            yaml = mark(&yaml, operation).ok_or_else(|| {
                let Deprecated { method, path, .. } = operation;
                SiteError::new(NAME, format!("has no operation {method} {path} to mark"))
            })?;
        }
        let value = parse(&yaml).map_err(|error| SiteError::new(NAME, error.to_string()))?;
        Ok(Self { yaml, value })
    }

    /// What it says.
    pub(super) fn value(&self) -> &serde_json::Value {
        &self.value
    }

    /// Each form under its path.
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

/// `yaml` with a notice about `operation`; nothing if it has no such operation. All else stays as it
/// was written, comments and order included.
fn mark(yaml: &str, operation: &Deprecated) -> Option<String> {
    let replacement = operation.deprecation.replacement();
    let sunset = operation.deprecation.sunset().to_rfc3339();
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
            && (path, method) == (operation.path, operation.method.as_str());
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

/// Reads YAML 1.2 as far as JSON has a word for it.
fn parse(yaml: &str) -> Result<serde_json::Value, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        // A bare `no` is a text, as YAML 1.2 has it.
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(yaml, options)
}

/// The source is YAML before it is filled in, too: a statement is a comment on a line of its own.
/// The other templates have no such lines: in Markdown they could be anything, such as the first of
/// a script.
fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .keep_trailing_newline(true)
        .line_statement_prefix("#%")
        .line_comment_prefix("#!")
        .build()?;
    environment.set_syntax(syntax);
    // A name without a value is a mistake, never an empty place.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    Ok(environment)
}
