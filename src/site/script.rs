//! The scripts: that of the pages, served as the modules it is written in, and that of the elements for any
//! site, joined into one.

use std::collections::BTreeMap;

use minijinja::{Environment, Value};

use crate::domain::{Accent, Language};

use super::data::sources;
use super::document::{Document, fingerprint};
use super::environment;
use super::site_file::SiteError;

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// Name of the elements.
const EMBED: &str = "embed.js";

/// The modules of the elements, each after those it imports.
const PARTS: [(&str, &str); 8] = sources! {
    "embed/time.js" "embed/events.js" "embed/request.js" "embed/markdown.js" "embed/element.js"
    "embed/form.js" "embed/newsletter.js" "embed/chat.js"
};

/// The modules of the pages. They load the first, which imports the others and the elements.
const MODULES: [(&str, &str); 5] = sources! {
    "site.js" "script/find.js" "script/forms.js" "script/page.js" "script/search.js"
};

/// Placeholder of the stylesheet and the messages.
const STYLE: &str = "STYLE=\"\"";
const TEXTS: &str = "TEXTS={}";
const SUGGESTIONS: &str = "SUGGESTIONS={}";

/// Placeholder of the flag that sign-ups have to be confirmed.
const CONFIRMS: &str = "CONFIRMS=false";

/// Attribute and message after a sign-up, and those with double opt-in: a page's own thanks would hide that it has to be
/// confirmed.
const SAID: &str = r#""thanks","newsletter-thanks""#;
const ASKED: &str = r#""asked","newsletter-asked""#;

/// The arguments that scripts fill in themselves.
const ARGUMENTS: [&str; 4] = ["email", "max", "n", "when"];

/// The served modules, and their version.
#[derive(Debug)]
pub(super) struct Scripts {
    modules: Vec<(&'static str, String)>,
    pub(super) version: String,
}

impl Scripts {
    /// Joins the elements, with the messages of `environment` that the scripts name, the colours `accent` and the
    /// `suggestions` of each language. They know whether a sign-up `confirms` by email.
    ///
    /// # Errors
    /// [`SiteError`] when a message takes an argument that no script fills in.
    pub(super) fn read(
        environment: &Environment<'_>,
        accent: Option<Accent>,
        confirms: bool,
        suggestions: &BTreeMap<&str, String>,
    ) -> Result<Self, SiteError> {
        let style = accented(include_str!("../../data/embed/style.css"), accent);
        let style = tight(compact(&style), &["\n", ": ", " { ", "; }"]);
        let embed = PARTS.map(|(_, text)| compact(text)).concat();
        let embed = embed
            .replace(STYLE, &format!("STYLE={}", json(&style)))
            .replace(SUGGESTIONS, &format!("SUGGESTIONS={}", json(suggestions)))
            .replace(CONFIRMS, &format!("CONFIRMS={confirms}"))
            .replace(SAID, if confirms { ASKED } else { SAID });
        let mut modules = Vec::from(MODULES.map(|(path, text)| (path, text.to_owned())));
        modules.push((EMBED, embed));
        for (_path, text) in &mut modules {
            if text.contains(TEXTS) {
                let texts = texts(environment, text)?;
                *text = text.replace(TEXTS, &format!("TEXTS={}", json(&texts)));
            }
        }
        let parts: Vec<_> = modules.iter().map(|(_, text)| text.as_bytes()).collect();
        let version = fingerprint(&parts);
        Ok(Self { modules, version })
    }

    /// Every module under its path. Imports contain the version, like those in pages, so that modules of two
    /// versions never meet.
    pub(super) fn documents(&self) -> impl Iterator<Item = Document> {
        let versioned_end = format!(".js?v={}\";", self.version);
        self.modules.iter().map(move |(path, text)| {
            let text = text.replace(".js\";", &versioned_end);
            Document::single(format!("/{path}"), JAVASCRIPT, text)
        })
    }
}

/// The stylesheet `text` in the operator's colours, if any.
pub(super) fn accented(text: &str, accent: Option<Accent>) -> String {
    accent.map_or_else(|| text.to_owned(), |accent| accent.applied_to(text))
}

/// A file without imports, comment lines, and most of the space between words. Comments have lines of their own, and no
/// other line of the elements begins like one. No string and no pattern in them has a space next to one of these signs.
fn compact(text: &str) -> String {
    const LEFT_OUT: [&str; 4] = ["import ", "//", "/*", "* "];
    let lines = text.lines().map(str::trim);
    let is_kept = |line: &&str| {
        let is_left_out = LEFT_OUT.iter().any(|start| line.starts_with(start));
        !line.is_empty() && *line != "*/" && !is_left_out
    };
    let kept = lines.filter(is_kept).flat_map(|line| [line, "\n"]);
    let signs = "(\n|[\n|,\n|;\n|}\n|, | => | = | ? |) {";
    tight(kept.collect(), &signs.split('|').collect::<Vec<_>>())
}

/// `text` with each of the `signs` without its white space.
fn tight(text: String, signs: &[&str]) -> String {
    let without = |text: String, sign: &&str| text.replace(sign, &sign.replace([' ', '\n'], ""));
    signs.iter().fold(text, without)
}

/// Messages by key, in the order of the `languages`.
type Texts = BTreeMap<&'static str, Vec<String>>;

/// The messages used by `source`, with `{n}` for an argument `n`.
fn texts(environment: &Environment<'_>, source: &str) -> Result<Texts, minijinja::Error> {
    let args = ARGUMENTS.map(|name| (name, format!("{{{name}}}")));
    let args = Value::from(BTreeMap::from(args));
    let tags = Language::ALL.map(|language| language.as_str().to_owned());
    let mut texts = Texts::from([("languages", tags.to_vec())]);
    for key in environment::keys().filter(|key| source.contains(&format!("\"{key}\""))) {
        let text = |language| environment::text(environment, language, key, args.clone());
        let said: Result<_, _> = Language::ALL.into_iter().map(text).collect();
        texts.insert(key, said?);
    }
    Ok(texts)
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use minijinja::syntax::SyntaxConfig;

    use super::*;

    fn embed(confirms: bool) -> String {
        let environment = environment::environment(SyntaxConfig::builder()).unwrap();
        let suggestions = BTreeMap::from([("en", "A|B".to_owned())]);
        let scripts = Scripts::read(&environment, None, confirms, &suggestions).unwrap();
        let mut modules = scripts.modules.into_iter();
        modules.find(|(path, _)| *path == EMBED).unwrap().1
    }

    #[test]
    fn the_elements_are_one_module_with_style_and_texts() {
        let embed = embed(false);
        assert!(!embed.contains(STYLE) && !embed.contains(TEXTS));
        assert!(embed.contains("const SUGGESTIONS={\"en\":\"A|B\"};"));
        assert!(!embed.contains("\nimport ") && !embed.contains("\n//"));
        let texts = "Vielen Dank für Ihre Anmeldung|Merci pour votre inscription|Gracias por suscribirse|\
                     Thank you for signing up|{email}";
        for text in texts.split('|') {
            assert!(embed.contains(text), "{text}");
        }
    }

    #[test]
    fn the_elements_know_whether_a_sign_up_is_confirmed_by_email() {
        for confirms in [false, true] {
            let script = embed(confirms);
            let told = format!("const CONFIRMS={confirms};");
            assert_eq!(script.matches(&told).count(), 1);
            assert_eq!(script.contains("Check your inbox"), confirms);
            assert_eq!(script.contains("Thank you for signing up"), !confirms);
        }
    }

    #[test]
    fn every_message_that_a_script_names_is_there() {
        let keys: Vec<_> = environment::keys().collect();
        for (_, text) in MODULES.into_iter().chain(PARTS) {
            for word in text.split('"') {
                let mut kinds = "form frame newsletter chat assistant script".split(' ');
                let (kind, _) = word.split_once('-').unwrap_or_default();
                if kinds.any(|known| known == kind) {
                    assert!(keys.contains(&word), "{word}");
                }
            }
        }
    }
}
