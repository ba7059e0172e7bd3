//! The texts of the pages in each language: the messages of `data/locales/`, a line each, with their arguments in
//! double braces.

use minijinja::{Environment, Error, Value};

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

/// Adds the messages of every language as templates.
///
/// # Errors
/// When a message is not a valid template.
pub(super) fn add_to(environment: &mut Environment<'static>) -> Result<(), Error> {
    for language in Language::ALL {
        for (key, text) in messages(language) {
            environment.add_template_owned(name(language, key), text)?;
        }
    }
    Ok(())
}

/// The message `key` in `language`, filled with `args`.
///
/// # Errors
/// Names the missing message or argument.
pub(super) fn text(
    environment: &Environment<'_>,
    language: Language,
    key: &str,
    args: Value,
) -> Result<String, Error> {
    environment.get_template(&name(language, key))?.render(args)
}

/// The keys of all messages, in the order of the English file.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    messages(Language::English).map(|(key, _text)| key)
}

/// The name of a message's template, which no file has: the operator's have no slash, and the service's no such folder.
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

    use minijinja::{UndefinedBehavior, context};

    use super::*;

    fn environment() -> Environment<'static> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        add_to(&mut environment).unwrap();
        environment
    }

    #[test]
    fn every_language_has_every_message_with_the_same_arguments() {
        let environment = environment();
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
        let environment = environment();
        let text = |key, args| text(&environment, Language::German, key, args);
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
