//! The files of `data/` as templates, and filling them.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};
use serde::de::IgnoredAny;

use super::SiteError;
use super::facts::Words;

/// The file `$name` of `data/`.
macro_rules! source {
    ($name:literal) => {
        ($name, include_str!(concat!("../../data/", $name)))
    };
}

/// The sources, by name; the ending decides how values are escaped. What another extends comes first.
const SOURCES: [(&str, &str); 20] = [
    source!("index.md"),
    source!("guide.md"),
    source!("auth.md"),
    source!("problem.md"),
    source!("page.html"),
    source!("article.html"),
    source!("openapi.json"),
    source!("llms.txt"),
    source!("robots.txt"),
    source!("sitemap.xml"),
    source!("skills/public-landing-api/SKILL.md"),
    source!("well-known/oauth-protected-resource.json"),
    source!("well-known/oauth-authorization-server.json"),
    source!("well-known/openid-configuration.json"),
    source!("well-known/jwks.json"),
    source!("well-known/api-catalog.json"),
    source!("well-known/mcp/server-card.json"),
    source!("well-known/mcp.json"),
    source!("well-known/ai-catalog.json"),
    source!("well-known/agent-skills/index.json"),
];

/// No template: to a template `{#` begins a comment, and a stylesheet may have that.
const STYLE: (&str, &str) = source!("style.css");

/// The templates, and the values that all of them may use.
#[derive(Debug)]
pub(super) struct Templates<'a> {
    environment: Environment<'a>,
    words: Value,
}

impl<'a> Templates<'a> {
    /// The templates of the service, with the values of `words` in them.
    ///
    /// # Errors
    /// [`SiteError::Template`] when one does not parse.
    pub(super) fn new(words: &Words<'_>) -> Result<Self, SiteError> {
        let mut environment = Environment::new();
        environment.set_syntax(
            SyntaxConfig::builder()
                .keep_trailing_newline(true)
                .build()?,
        );
        // A name without a value is a mistake, never an empty place.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|name| match name.rsplit_once('.') {
            Some((_, "html")) => AutoEscape::Html,
            Some((_, "json")) => AutoEscape::Json,
            _ => AutoEscape::None,
        });
        for (name, source) in SOURCES {
            environment.add_template(name, source)?;
        }
        Ok(Self {
            environment,
            words: Value::from(Serde(words)),
        })
    }

    /// The template `name`, filled in; `more` goes before the values that all may use.
    ///
    /// # Errors
    /// [`SiteError`] when it asks for a value that does not exist, or is to be JSON and is not.
    pub(super) fn fill(&self, name: &str, more: Value) -> Result<String, SiteError> {
        if name == STYLE.0 {
            return Ok(STYLE.1.to_owned());
        }
        let words = self.words.clone();
        let text = self
            .environment
            .get_template(name)?
            .render(context! { ..more, ..words })?;
        if name.ends_with(".json") {
            serde_json::from_str::<IgnoredAny>(&text).map_err(|error| SiteError::Json {
                name: name.to_owned(),
                error,
            })?;
        }
        Ok(text)
    }
}
