//! The files of `data/` as templates.

use std::io;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, context};

use crate::domain::Language;

use super::document::fingerprint;
use super::error::SiteError;
use super::facts::SiteFacts;
use super::functions;
use super::image::{Images, Logo};
use super::locales::Locales;
use super::script::{Scripts, accented};
use super::site_file::{SiteFile, name_in, page_and_language};

/// Each file of `data/` with its text.
macro_rules! sources {
    ($($name:literal)+) => {
        &[$(($name, include_str!(concat!("../../data/", $name)))),+]
    };
}

/// The templates, by name; the extension decides how values are escaped. A template that an operator may not
/// replace has a name that no file of theirs may have.
const SOURCES: &[(&str, &str)] = sources! {
    "index.md" "help.md" "help.de.md" "help.fr.md" "help.es.md" "confirmation.md"
    "confirmation.de.md" "confirmation.fr.md" "confirmation.es.md" "guide.md" "auth.md" "developers.md"
    "parts/embed_page.md" "problem.md" "parts/problems_page.md" "parts/introduction.md"
    "parts/reference_page.md" "page.html" "parts/article.html"
    "parts/guide.html" "home.html" "parts/error.html" "parts/developers.html" "parts/search.html"
    "parts/sign_up.html" "parts/embed.html" "parts/snippets.html" "parts/newsletter.html"
    "parts/thanks.html" "parts/contact.html" "parts/confirmation.html" "parts/confirmation.txt" "parts/reference.html" "parts/operation.html" "parts/reference.md"
    "parts/schema.txt" "llms.txt" "robots.txt" "sitemap.xml" "skills/public-landing-api/SKILL.md"
    "well-known/oauth-protected-resource.json" "well-known/oauth-authorization-server.json"
    "well-known/openid-configuration.json" "well-known/jwks.json" "well-known/api-catalog.json"
    "well-known/mcp/server-card.json" "well-known/mcp.json" "well-known/ai-catalog.json"
    "well-known/agent-skills/index.json"
};

/// The stylesheet and the icon. They are not templates: `{#` in a stylesheet would begin a comment.
const VERBATIM: &[(&str, &str)] = sources! { "style.css" "icon.svg" };

/// Maximum number of steps of a template: far more than any sensible one needs.
const STEPS_MAX: u64 = 10_000_000;

/// Maximum size of a rendered template, in bytes: few steps can write a lot.
const FILLED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The templates and their shared values.
#[derive(Debug)]
pub(super) struct Templates {
    environment: Environment<'static>,
    locales: Arc<Locales>,
    pub(super) context: Value,
    /// The operator's pages in the frame's navigation: language, path and words.
    navigation: Vec<(Language, [String; 2])>,
    /// The languages that pages link to.
    languages: Vec<Language>,
    verbatim: Vec<(&'static str, String)>,
    pub(super) scripts: Scripts,
    pub(super) images: Images,
}

impl Templates {
    /// The templates of the service, for `facts`, and those of the operator's `files`, which may show
    /// `images`.
    ///
    /// # Errors
    /// [`SiteError`] when one does not parse.
    pub(super) fn new(
        facts: &SiteFacts,
        files: &[SiteFile],
        images: Images,
    ) -> Result<Self, SiteError> {
        let locales = Arc::new(Locales::read()?);
        let accent = facts.settings.accent;
        let confirms = facts.settings.asks_to_confirm();
        let scripts = Scripts::read(&locales, accent, confirms)?;
        let mut environment = environment(&locales)?;
        let verbatim = VERBATIM.iter().map(|&(name, text)| match &facts.logo {
            Some(Logo::Svg(logo)) if name == "icon.svg" => (name, logo.clone()),
            Some(_) | None => (name, accented(text, accent)),
        });
        let mut verbatim: Vec<_> = verbatim.collect();
        for &(name, source) in SOURCES {
            if !is_outdated(name, files) {
                environment.add_template(name, source)?;
            }
        }
        // An operator's file replaces the service's file of the same name.
        for SiteFile { name, text } in files {
            match verbatim.iter_mut().find(|(known, _)| known == name) {
                Some((_, replaced)) => replaced.clone_from(text),
                None => environment.add_template_owned(name.clone(), text.clone())?,
            }
        }
        // A page loads the script and style it was made with.
        let style = verbatim.iter().find(|(name, _)| *name == "style.css");
        let style = style.map(|(_, text)| text.as_bytes()).unwrap_or_default();
        let paths = context! {
            script_path => Value::from_safe_string(scripts.path()),
            style_path => Value::from_safe_string(format!("/style.css?v={}", fingerprint(&[style]))),
            // Without a logo, the icon serves as both.
            has_svg_icon => !matches!(facts.logo, Some(Logo::Png(_))),
            has_png_icon => !matches!(facts.logo, Some(Logo::Svg(_))),
        };
        Ok(Self {
            context: context! { ..paths, ..super::context::context(facts) },
            navigation: Vec::new(),
            languages: Language::ALL.to_vec(),
            environment,
            locales,
            verbatim,
            scripts,
            images,
        })
    }

    /// Lists these pages in the frame.
    pub(super) fn navigate(&mut self, entries: impl Iterator<Item = (Language, [String; 2])>) {
        self.navigation = entries.collect();
    }

    /// Adapts the pages to the operator's `files`: they link to the languages of their own pages, if there are any.
    pub(super) fn adapt(&mut self, has_own_pages: bool, files: &[SiteFile]) {
        self.context = context! { has_own_pages, ..self.context.clone() };
        if has_own_pages {
            self.languages.retain(|language| {
                let is_of = |file: &SiteFile| page_and_language(&file.name).1 == Some(*language);
                *language == Language::default() || files.iter().any(is_of)
            });
        }
    }

    /// The links of a page to itself in others of its `languages`.
    pub(super) fn language_links(&self, languages: impl Iterator<Item = Language>) -> Vec<Value> {
        let linked = languages.filter(|language| self.languages.contains(language));
        let link = |lang: Language| context! { tag => lang.tag(), name => lang.name() };
        linked.map(link).collect()
    }

    /// Number of the first line of the template `name` that contains `text`.
    pub(super) fn line_with(&self, name: &str, text: &str) -> Option<usize> {
        let template = self.environment.get_template(name).ok()?;
        let mut lines = template.source().lines();
        lines.position(|line| line.contains(text)).map(|at| at + 1)
    }

    /// The message `key`, which takes no arguments.
    ///
    /// # Errors
    /// [`SiteError`] when there is none, or it takes some.
    pub(super) fn text(&self, language: Language, key: &str) -> Result<String, SiteError> {
        Ok(self.locales.text(language, key, context! {})?)
    }

    /// The template of the page `name` in `language`: a translation, such as `about.de.md` for `about.md`, or
    /// else the page's.
    pub(super) fn source_in(&self, language: Language, name: &str) -> String {
        let own = name_in(language, name);
        if self.environment.get_template(&own).is_ok() {
            own
        } else {
            name.to_owned()
        }
    }

    /// Renders the template `name` for readers of English.
    ///
    /// # Errors
    /// As [`Self::fill_in`].
    pub(super) fn fill(&self, name: &str, more: Value) -> Result<String, SiteError> {
        self.fill_in(Language::English, name, more)
    }

    /// Renders the template `name`, with messages in `language`; `more` takes precedence over the shared
    /// values.
    ///
    /// # Errors
    /// [`SiteError`] when it uses an undefined value or message, or grows too large.
    pub(super) fn fill_in(
        &self,
        language: Language,
        name: &str,
        more: Value,
    ) -> Result<String, SiteError> {
        if let Some((_, text)) = self.verbatim.iter().find(|(verbatim, _)| *verbatim == name) {
            return Ok(text.clone());
        }
        let navigation = self.navigation.iter();
        let navigation = navigation.filter(|(of, _)| *of == language);
        let navigation: Vec<_> = navigation.map(|(_, entry)| entry.to_vec()).collect();
        let own = context! { lang => language.tag(), navigation };
        let context = context! { ..own, ..self.context.clone() };
        let template = self.environment.get_template(name)?;
        let mut filled = Bounded::default();
        template
            .render_captured_to(context! { ..more, ..context }, &mut filled)
            .map_err(|error| {
                // An error of writing has lost the position.
                if error.kind() == ErrorKind::WriteFailure {
                    let why = format!("is filled in to more than {FILLED_BYTES_MAX} bytes");
                    return SiteError::new(name, why);
                }
                SiteError::from(error)
            })?;
        String::from_utf8(filled.0)
            .map_err(|error| SiteError::new(name, error.utf8_error().to_string()))
    }
}

/// True if `name` is the translation of a page that the operator has replaced: it translates the replaced
/// text.
fn is_outdated(name: &str, files: &[SiteFile]) -> bool {
    let (page, language) = page_and_language(name);
    language.is_some() && files.iter().any(|file| file.name == page)
}

fn environment(locales: &Arc<Locales>) -> Result<Environment<'static>, SiteError> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    environment.set_syntax(syntax?);
    environment.set_fuel(Some(STEPS_MAX));
    // An undefined name is an error, never an empty string.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|name| match name.rsplit_once('.') {
        Some((_, "html")) => AutoEscape::Html,
        Some((_, "json")) => AutoEscape::Json,
        _ => AutoEscape::None,
    });
    functions::add_to(&mut environment, locales);
    Ok(environment)
}

/// A writer that accepts at most [`FILLED_BYTES_MAX`] bytes.
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

#[cfg(test)]
mod tests {
    use super::super::site_file::FileRole;
    use super::*;

    #[test]
    fn no_page_of_the_operators_has_the_name_of_a_source() {
        for &(name, _) in SOURCES.iter().chain(VERBATIM) {
            let file = SiteFile {
                name: name.to_owned(),
                text: String::new(),
            };
            let is_page = matches!(file.role(), Ok(FileRole::Page(_)));
            assert!(!is_page, "{name}");
        }
    }
}
