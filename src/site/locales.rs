//! The texts of the pages in each language: the messages of `data/locales/`, a line each, with their arguments in
//! double braces.

use minijinja::{Environment, UndefinedBehavior, Value};

use crate::domain::Language;

/// The messages of a language.
const fn source(language: Language) -> &'static str {
    match language {
        Language::English => include_str!("../../data/locales/en.txt"),
        Language::German => include_str!("../../data/locales/de.txt"),
        Language::French => include_str!("../../data/locales/fr.txt"),
        Language::Spanish => include_str!("../../data/locales/es.txt"),
    }
}

/// The messages of every language.
#[derive(Debug)]
pub(super) struct Locales(Environment<'static>);

impl Locales {
    /// Reads the messages.
    ///
    /// # Errors
    /// When a message is not a valid template.
    pub(super) fn read() -> Result<Self, minijinja::Error> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        for language in Language::ALL {
            for (key, text) in messages(language) {
                environment.add_template_owned(name(language, key), text)?;
            }
        }
        Ok(Self(environment))
    }

    /// The message `key` in `language`, filled with `args`.
    ///
    /// # Errors
    /// Names the missing message or argument.
    pub(super) fn text(
        &self,
        language: Language,
        key: &str,
        args: Value,
    ) -> Result<String, minijinja::Error> {
        self.0.get_template(&name(language, key))?.render(args)
    }

    /// The keys of all messages, in the order of the English file.
    pub(super) fn keys() -> impl Iterator<Item = &'static str> {
        messages(Language::English).map(|(key, _text)| key)
    }
}

fn name(language: Language, key: &str) -> String {
    format!("{}/{key}", language.tag())
}

/// The keys and texts of a file: all lines but comments and blank ones.
fn messages(language: Language) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = source(language).lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" = "))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use minijinja::context;

    use super::*;

    #[test]
    fn every_language_has_every_message_with_the_same_arguments() {
        let Locales(environment) = Locales::read().unwrap();
        let arguments = |language| {
            let arguments = |key| {
                let template = environment.get_template(&name(language, key)).unwrap();
                BTreeSet::from_iter(template.undeclared_variables(false))
            };
            let lines = messages(language);
            let messages: BTreeMap<_, _> = lines.map(|(key, _)| (key, arguments(key))).collect();
            let texts = source(language).lines();
            let texts = texts.filter(|line| !line.is_empty() && !line.starts_with('#'));
            assert_eq!(texts.count(), messages.len(), "{language:?}");
            messages
        };
        let english = arguments(Language::English);
        assert!(english.len() > 1);
        for language in Language::ALL {
            assert_eq!(arguments(language), english, "{language:?}");
        }
    }

    #[test]
    fn a_missing_message_or_argument_is_named() {
        let locales = Locales::read().unwrap();
        let text = |key, args| locales.text(Language::German, key, args);
        let unknown = text("no-such", context! {}).unwrap_err();
        assert!(unknown.to_string().contains("de/no-such"), "{unknown}");
        let unfilled = text("duration-minutes", context! {}).unwrap_err();
        let told = unfilled.to_string();
        assert!(told.contains("de/duration-minutes"), "{told}");
        for (n, expected) in [(1, "1 Minute"), (2, "2 Minuten")] {
            let minutes = text("duration-minutes", context! { n });
            assert_eq!(minutes.unwrap(), expected);
        }
    }
}
