//! The operator's own files, whose names select what they replace or add.

use crate::domain::Language;

use super::catalog;
use super::error::SiteError;

/// A file of the operator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFile {
    /// File name.
    pub name: String,
    /// Content: a template, unless it is the stylesheet.
    pub text: String,
}

/// The role of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileRole {
    /// Replaces the service's file of that name, or a translation of it.
    Replacement,
    /// A page of its own, under this path.
    Page(String),
    /// A translation of the page in the file of this name.
    Translation(String),
}

/// The service's files that an operator may replace.
const REPLACEABLE: &str = "auth.md confirmation.md developers.md guide.md help.md home.html index.md llms.txt page.html \
    problem.md robots.txt style.css";

/// Reserved names: the first segments of the service's other paths.
const RESERVED: &str = "agent api docs embed images livez mcp newsletter oauth2 problems script";

fn is_in(list: &str, name: &str) -> bool {
    list.split(' ').any(|known| known == name)
}

/// Maximum length of a page's name, without its extension.
const NAME_LEN_MAX: usize = 64;

impl SiteFile {
    /// Name of the email that asks contacts to confirm.
    pub const CONFIRMATION: &str = "confirmation.md";

    /// The role of the file.
    ///
    /// # Errors
    /// [`SiteError`] when its name is not valid for a page, or is reserved.
    pub(super) fn role(&self) -> Result<FileRole, SiteError> {
        if is_in(REPLACEABLE, &self.name) {
            return Ok(FileRole::Replacement);
        }
        let (original, language) = page_and_language(&self.name);
        if language.is_some() && is_translated(&original) {
            return Ok(FileRole::Replacement);
        }
        let page = original.strip_suffix(".md").filter(|name| is_name(name));
        let why = match page {
            Some(_) if is_in(REPLACEABLE, &original) => format!("{original} is only in English"),
            Some(name) if is_in(RESERVED, name) => {
                format!("/{name} is already a path of the service")
            }
            Some(_) if language.is_some() => return Ok(FileRole::Translation(original)),
            Some(name) => return Ok(FileRole::Page(format!("/{name}"))),
            None => format!(
                "is neither a page, named by up to {NAME_LEN_MAX} lowercase letters, digits and inner hyphens and \
                 .md, or .de.md for one in German, nor one of {}",
                REPLACEABLE.replace(' ', ", ")
            ),
        };
        Err(SiteError::new(&self.name, why))
    }

    /// Checks that `page`, which the file translates, is among `files`.
    ///
    /// # Errors
    /// [`SiteError`] when it is not.
    pub(super) fn check_translation(&self, page: &str, files: &[Self]) -> Result<(), SiteError> {
        if files.iter().any(|file| file.name == page) {
            return Ok(());
        }
        let why = format!("is a translation of {page}, which does not exist");
        Err(SiteError::new(&self.name, why))
    }
}

/// True if the page made from `template` comes in more than one language.
fn is_translated(template: &str) -> bool {
    if template == SiteFile::CONFIRMATION {
        return true;
    }
    let mut pages = catalog::PAGES.iter().filter(|row| row.languages.len() > 1);
    pages.any(|row| row.template == template)
}

/// The file of the page that `name` is a text of, and the language in the name, if any: `about.md` and German
/// for `about.de.md`.
pub(super) fn page_and_language(name: &str) -> (String, Option<Language>) {
    let others = Language::ALL
        .into_iter()
        .filter(|language| *language != Language::default());
    let stem_of = |language: Language| name.strip_suffix(&format!(".{}.md", language.tag()));
    let mut found = others.filter_map(|language| Some((stem_of(language)?, language)));
    match found.next() {
        Some((page, language)) => (format!("{page}.md"), Some(language)),
        None => (name.to_owned(), None),
    }
}

/// File name of the text in `language` of the page `name`.
pub(super) fn name_in(language: Language, name: &str) -> String {
    match name.rsplit_once('.') {
        Some((page, ending)) => format!("{page}.{}.{ending}", language.tag()),
        None => name.to_owned(),
    }
}

fn is_name(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=NAME_LEN_MAX).contains(&text.len())
        && text.chars().all(is_allowed)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str) -> Result<FileRole, String> {
        let file = SiteFile {
            name: name.to_owned(),
            text: String::new(),
        };
        file.role().map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_tells_what_a_file_stands_for() {
        for name in REPLACEABLE.split(' ') {
            assert_eq!(role(name), Ok(FileRole::Replacement));
        }
        for name in ["help.de.md", "index.es.md"] {
            assert_eq!(role(name), Ok(FileRole::Replacement));
        }
        for name in ["about.de.md", "about.es.md"] {
            let of_about = FileRole::Translation("about.md".to_owned());
            assert_eq!(role(name), Ok(of_about));
        }
        let longest = "a".repeat(64);
        for name in ["about", "opening-hours", "2026", "a", &longest] {
            let page = FileRole::Page(format!("/{name}"));
            assert_eq!(role(&format!("{name}.md")), Ok(page));
        }
    }

    #[test]
    fn other_names_are_refused() {
        for (name, why) in [
            ("guide.de.md", "guide.md is only in English"),
            ("auth.fr.md", "auth.md is only in English"),
            ("api.de.md", "/api is already a path of the service"),
        ] {
            assert_eq!(role(name), Err(format!("{name}: {why}")));
        }
        for name in RESERVED.split(' ') {
            let error = format!("{name}.md: /{name} is already a path of the service");
            assert_eq!(role(&format!("{name}.md")), Err(error));
        }
        let too_long = format!("{}.md", "a".repeat(65));
        for name in [
            "",
            ".md",
            "about",
            "about.MD",
            "About.md",
            "about.html",
            "about.md~",
            "-a.md",
            "a-.md",
            "a b.md",
            "a_b.md",
            "a.b.md",
            "a.en.md",
            "a.b.de.md",
            "A.de.md",
            "a.DE.md",
            "a.de-AT.md",
            "a.it.md",
            "a.de.fr.md",
            ".de.md",
            "home.de.html",
            "../a.md",
            "é.md",
            "%61.md",
            "openapi.json",
            "sitemap.xml",
            "article.html",
            &too_long,
        ] {
            let error = role(name).unwrap_err();
            assert!(error.starts_with(&format!("{name}: is neither")), "{error}");
        }
    }
}
