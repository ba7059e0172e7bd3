//! The operator's own files, whose names select what they replace or add, and their faults.

use std::error::Error as _;

use crate::domain::Language;

/// A file of the operator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFile {
    /// File name.
    pub name: String,
    /// Content: a template, unless it is the stylesheet.
    pub text: String,
}

/// The service's files that an operator may replace.
const REPLACEABLE: &str = "auth.md confirmation.md developers.md guide.md help.md home.html index.md llms.txt page.html \
    problem.md robots.txt style.css";

/// Those that may have translations.
const TRANSLATED: &str = "confirmation.md help.md index.md";

/// Reserved names: the first segments of the service's other paths.
const RESERVED: &str = "agent api docs embed images livez mcp newsletter oauth2 problems script";

fn is_in(list: &str, name: &str) -> bool {
    list.split(' ').any(|known| known == name)
}

/// Maximum length of a name, for a page without its extension.
const NAME_LEN_MAX: usize = 64;

impl SiteFile {
    /// Name of the email that asks contacts to confirm.
    pub const CONFIRMATION: &str = "confirmation.md";

    /// The path of the page that the file is a text of. `None` if it replaces one of the service's.
    ///
    /// # Errors
    /// [`SiteError`] when its name is not valid for a page, or is reserved.
    pub(super) fn page_path(&self) -> Result<Option<String>, SiteError> {
        let (original, language) = page_and_language(&self.name);
        let is_translation = language.is_some() && is_in(TRANSLATED, &original);
        if is_in(REPLACEABLE, &self.name) || is_translation {
            return Ok(None);
        }
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let page = original.strip_suffix(".md");
        let page = page.filter(|name| is_name(name, is_allowed));
        let why = match page {
            Some(_) if is_in(REPLACEABLE, &original) => format!("{original} is only in English"),
            Some(name) if is_in(RESERVED, name) => {
                format!("/{name} is already a path of the service")
            }
            Some(name) => return Ok(Some(format!("/{name}"))),
            None => format!(
                "is neither a page, named by up to {NAME_LEN_MAX} lowercase letters, digits and inner hyphens and \
                 .md, or .de.md for one in German, nor one of {}",
                REPLACEABLE.replace(' ', ", ")
            ),
        };
        Err(SiteError::new(&self.name, why))
    }
}

/// The file of the page that `name` is a text of, and the language in the name, if any: `about.md` and German
/// for `about.de.md`.
pub(super) fn page_and_language(name: &str) -> (String, Option<Language>) {
    let page_of = |language: Language| {
        let page = name.strip_suffix(&format!(".{}.md", language.as_str()))?;
        Some((page, language))
    };
    match Language::ALL.into_iter().find_map(page_of) {
        Some((page, language)) => (format!("{page}.md"), Some(language)),
        None => (name.to_owned(), None),
    }
}

/// File name of the text in `language` of the page `name`.
pub(super) fn name_in(language: Language, name: &str) -> String {
    match name.rsplit_once('.') {
        Some((page, ending)) => format!("{page}.{}.{ending}", language.as_str()),
        None => name.to_owned(),
    }
}

/// True if `text` is a short name of such characters, with letters or digits at its ends.
pub(super) fn is_name(text: &str, is_allowed: impl Fn(char) -> bool) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    (1..=NAME_LEN_MAX).contains(&text.len())
        && text.chars().all(is_allowed)
        && text.starts_with(is_end)
        && text.ends_with(is_end)
}

/// Why the site can't be rendered. Its text is one line, whatever the file's name and content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}{}: {}",
    .name.escape_debug(),
    .line.map_or_else(String::new, |line| format!(", line {line}")),
    .why.replace(char::is_control, " ")
)]
pub struct SiteError {
    /// File name.
    pub name: String,
    /// Line number, if known.
    pub line: Option<usize>,
    /// The fault, in a few words.
    pub why: String,
}

impl SiteError {
    pub(super) fn new(name: &str, why: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            line: None,
            why: why.into(),
        }
    }
}

impl From<minijinja::Error> for SiteError {
    fn from(error: minijinja::Error) -> Self {
        // The cause of an error in an included template is in its own file.
        let mut error = &error;
        while let Some(cause) = error.source().and_then(|source| source.downcast_ref()) {
            error = cause;
        }
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
    use super::*;

    fn page_path(name: &str) -> Result<Option<String>, String> {
        let file = |name: &str| SiteFile {
            name: name.to_owned(),
            text: String::new(),
        };
        file(name).page_path().map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_tells_what_a_file_stands_for() {
        let translations = "help.de.md index.es.md index.en.md confirmation.fr.md";
        for name in REPLACEABLE.split(' ').chain(translations.split(' ')) {
            assert_eq!(page_path(name), Ok(None));
        }
        let longest = "a".repeat(64);
        for name in ["about", "opening-hours", "2026", "a", &longest] {
            let path = Ok(Some(format!("/{name}")));
            for ending in ["md", "en.md", "de.md"] {
                assert_eq!(page_path(&format!("{name}.{ending}")), path);
            }
        }
    }

    #[test]
    fn other_names_are_refused() {
        for (name, why) in [
            ("guide.de.md", "guide.md is only in English"),
            ("auth.fr.md", "auth.md is only in English"),
            ("api.de.md", "/api is already a path of the service"),
        ] {
            assert_eq!(page_path(name), Err(format!("{name}: {why}")));
        }
        for name in RESERVED.split(' ') {
            let error = format!("{name}.md: /{name} is already a path of the service");
            assert_eq!(page_path(&format!("{name}.md")), Err(error));
        }
        let too_long = format!("{}.md", "a".repeat(65));
        let others = "|.md|about|about.MD|About.md|about.html|about.md~|-a.md|a-.md|a b.md|a_b.md|a.b.md|\
                      a.b.de.md|A.de.md|a.DE.md|a.de-AT.md|a.it.md|a.de.fr.md|.de.md|home.de.html|../a.md|é.md|\
                      %61.md|openapi.json|sitemap.xml|article.html";
        for name in others.split('|').chain([&*too_long]) {
            let error = page_path(name).unwrap_err();
            assert!(error.starts_with(&format!("{name}: is neither")), "{error}");
        }
    }
}
