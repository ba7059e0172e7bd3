//! The files of `data/` as templates, and filling them.

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};
use serde::de::IgnoredAny;

use super::SiteError;
use super::facts::Words;

/// The sources, by name; the ending decides how values are escaped.
const SOURCES: [(&str, &str); 6] = [
    ("guide.md", include_str!("../../data/guide.md")),
    ("index.md", include_str!("../../data/index.md")),
    ("problem.md", include_str!("../../data/problem.md")),
    ("page.html", include_str!("../../data/page.html")),
    ("article.html", include_str!("../../data/article.html")),
    ("openapi.json", include_str!("../../data/openapi.json")),
];

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
