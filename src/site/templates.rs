//! The files of `data/` as templates, and filling them.

use std::borrow::Cow;
use std::io;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, context};
use serde::de::IgnoredAny;

use super::document::fingerprint;
use super::facts::Words;
use super::{SiteError, SiteFile, markdown, script};

/// The file `$name` of `data/`.
macro_rules! source {
    ($name:literal) => {
        ($name, include_str!(concat!("../../data/", $name)))
    };
}

/// The sources, by name; the ending decides how values are escaped. What an operator may not replace
/// has a name that no file of theirs may have.
const SOURCES: [(&str, &str); 24] = [
    source!("index.md"),
    source!("guide.md"),
    source!("auth.md"),
    source!("problem.md"),
    source!("page.html"),
    source!("parts/article.html"),
    source!("home.html"),
    source!("parts/reference.html"),
    source!("parts/operation.html"),
    source!("parts/members.html"),
    source!("parts/reference.md"),
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

/// No templates: to a template `{#` begins a comment, and a stylesheet may have that. The script
/// joins them.
const VERBATIM: [(&str, &str); 2] = [source!("style.css"), source!("icon.svg")];

/// What filling in one template may take, in steps: far more than any sensible one does.
const STEPS_MAX: u64 = 1_000_000;

/// What one template may be filled in to, in bytes: few steps are enough to write much.
const FILLED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The templates, and the values that all of them may use.
#[derive(Debug)]
pub(super) struct Templates<'a> {
    environment: Environment<'a>,
    words: Value,
    verbatim: Vec<(&'static str, Cow<'a, str>)>,
}

impl<'a> Templates<'a> {
    /// The templates of the service and of the operator's `files`, with the values of `words` in
    /// them.
    ///
    /// # Errors
    /// [`SiteError`] when one does not parse.
    pub(super) fn new(words: &Words<'_>, files: &'a [SiteFile]) -> Result<Self, SiteError> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
        environment.set_syntax(syntax?);
        environment.set_fuel(Some(STEPS_MAX));
        // A name without a value is a mistake, never an empty place.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|name| match name.rsplit_once('.') {
            Some((_, "html")) => AutoEscape::Html,
            Some((_, "json")) => AutoEscape::Json,
            _ => AutoEscape::None,
        });
        // With the first number in HTML the engine makes a table of small ones, and keeps it: made
        // amid the rendering, it would keep the memory below it from going back.
        environment.render_named_str("number.html", "{{ number }}", context! { number => 0 })?;
        environment.add_filter("markdown", |text: &str| {
            Value::from_safe_string(markdown::to_html(text))
        });
        environment.add_filter("cell", |text: &str| {
            let words: Vec<_> = text.split_whitespace().collect();
            words.join(" ").replace('|', "\\|")
        });
        let own = files.iter().map(|file| (&*file.name, &*file.text));
        let mut verbatim = vec![(script::NAME, Cow::from(script::joined()))];
        verbatim.extend(VERBATIM.map(|(name, text)| (name, Cow::from(text))));
        // The later of two of the same name replaces the other.
        for (name, source) in SOURCES.into_iter().chain(own) {
            match verbatim.iter_mut().find(|(known, _)| *known == name) {
                Some((_, text)) => *text = Cow::from(source),
                None => environment.add_template(name, source)?,
            }
        }
        // A page asks for the very script and style that it was made with.
        let path_of = |name| {
            let mut texts = verbatim.iter();
            let text = texts.find_map(|(known, text)| (*known == name).then_some(text));
            let text = text.map(|text| text.as_bytes()).unwrap_or_default();
            Value::from_safe_string(format!("/{name}?v={}", fingerprint(&[text])))
        };
        let words = Value::from(Serde(words));
        let paths = context! {
            script_path => path_of(script::NAME),
            style_path => path_of("style.css"),
        };
        Ok(Self {
            words: context! { ..paths, ..words },
            environment,
            verbatim,
        })
    }

    /// The values that all templates may use.
    pub(super) fn words(&self) -> &Value {
        &self.words
    }

    /// The template `name`, filled in; `more` goes before the values that all may use.
    ///
    /// # Errors
    /// [`SiteError`] when it asks for a value that does not exist, grows too large, or is to be JSON
    /// and is not.
    pub(super) fn fill(&self, name: &str, more: Value) -> Result<String, SiteError> {
        if let Some((_, text)) = self.verbatim.iter().find(|(verbatim, _)| *verbatim == name) {
            return Ok(text.clone().into_owned());
        }
        let words = self.words.clone();
        let template = self.environment.get_template(name)?;
        let mut filled = Bounded::default();
        template
            .render_captured_to(context! { ..more, ..words }, &mut filled)
            .map_err(|error| {
                // The engine forgets where it was when it cannot write.
                if error.kind() == ErrorKind::WriteFailure {
                    let why = format!("is filled in to more than {FILLED_BYTES_MAX} bytes");
                    return SiteError::new(name, why);
                }
                SiteError::from(error)
            })?;
        let text = String::from_utf8(filled.0)
            .map_err(|error| SiteError::new(name, error.utf8_error().to_string()))?;
        if name.ends_with(".json") {
            let parsed = serde_json::from_str::<IgnoredAny>(&text);
            parsed.map_err(|error| SiteError::new(name, error.to_string()))?;
        }
        Ok(text)
    }
}

/// Takes no more than [`FILLED_BYTES_MAX`] bytes.
#[derive(Debug, Default)]
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > FILLED_BYTES_MAX - self.0.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl From<minijinja::Error> for SiteError {
    fn from(error: minijinja::Error) -> Self {
        let why = match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        Self {
            line: error.line(),
            ..Self::new(error.name().unwrap_or("template"), why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::own::Role;
    use super::*;

    #[test]
    fn no_page_of_the_operators_has_the_name_of_a_source() {
        let sources = SOURCES.into_iter().chain(VERBATIM);
        let names = sources.map(|(name, _)| name).chain([script::NAME]);
        for name in names {
            let file = SiteFile {
                name: name.to_owned(),
                text: String::new(),
            };
            let is_page = matches!(file.role(), Ok(Role::Page(_)));
            assert!(!is_page, "{name}");
        }
    }
}
