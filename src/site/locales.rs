//! The texts of the pages in each language: the messages of `data/locales/`, in Fluent
//! (<https://projectfluent.org>).

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource};
use unic_langid::LanguageIdentifier;

use crate::domain::{Language, macros::hidden};

use super::error::SiteError;

/// The messages of a language.
const fn source(language: Language) -> &'static str {
    match language {
        Language::English => include_str!("../../data/locales/en.ftl"),
        Language::German => include_str!("../../data/locales/de.ftl"),
        Language::French => include_str!("../../data/locales/fr.ftl"),
        Language::Spanish => include_str!("../../data/locales/es.ftl"),
    }
}

/// The messages of every language.
pub(super) struct Locales(Vec<(Language, FluentBundle<FluentResource>)>);

impl Locales {
    /// Reads the messages.
    ///
    /// # Errors
    /// [`SiteError`] when a file is not Fluent, or defines a message twice.
    pub(super) fn read() -> Result<Self, SiteError> {
        let bundles = Language::ALL.into_iter().map(|language| {
            let file = format!("{}.ftl", language.tag());
            let faulty = |why: String| SiteError::new(&file, why);
            let resource = FluentResource::try_new(source(language).to_owned())
                .map_err(|(_, errors)| faulty(format!("{errors:?}")))?;
            let locale: LanguageIdentifier = language
                .tag()
                .parse()
                .map_err(|error| faulty(format!("{error:?}")))?;
            let mut bundle = FluentBundle::new_concurrent(vec![locale]);
            // Marks around arguments are for texts of mixed direction.
            bundle.set_use_isolating(false);
            bundle
                .add_resource(resource)
                .map_err(|errors| faulty(format!("{errors:?}")))?;
            Ok((language, bundle))
        });
        bundles.collect::<Result<_, _>>().map(Self)
    }

    /// The message `key` in `language`, filled with `args`.
    ///
    /// # Errors
    /// Names the missing message or argument.
    pub(super) fn text(
        &self,
        language: Language,
        key: &str,
        args: &FluentArgs<'_>,
    ) -> Result<String, String> {
        let bundle = self.0.iter().find(|(known, _)| *known == language);
        let pattern = bundle.and_then(|(_, bundle)| {
            let pattern = bundle.get_message(key)?.value()?;
            Some((bundle, pattern))
        });
        let Some((bundle, pattern)) = pattern else {
            return Err(format!("{}.ftl has no message {key}", language.tag()));
        };
        let mut errors = Vec::new();
        let text = bundle.format_pattern(pattern, Some(args), &mut errors);
        match errors.first() {
            None => Ok(text.into_owned()),
            Some(error) => Err(format!("{key} in {}.ftl: {error}", language.tag())),
        }
    }

    /// The keys of all messages, in the order of the English file.
    pub(super) fn keys() -> impl Iterator<Item = &'static str> {
        keys(Language::English)
    }
}

/// The keys of a file: a message begins at the start of a line.
fn keys(language: Language) -> impl Iterator<Item = &'static str> {
    let lines = source(language).lines();
    lines.filter_map(|line| {
        let (key, _text) = line.split_once(" =")?;
        key.starts_with(|c: char| c.is_ascii_lowercase())
            .then_some(key)
    })
}

hidden!(Locales);

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// The arguments that each message of a language takes.
    fn arguments(language: Language) -> BTreeMap<&'static str, BTreeSet<&'static str>> {
        let mut messages: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let mut current = "";
        for line in source(language).lines() {
            if let Some((key, _)) = line.split_once(" =")
                && key.starts_with(|c: char| c.is_ascii_lowercase())
            {
                current = key;
            }
            let arguments = messages.entry(current).or_default();
            for rest in line.split('$').skip(1) {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                arguments.extend(rest.get(..end.unwrap_or(rest.len())));
            }
        }
        messages
    }

    #[test]
    fn every_language_has_every_message_with_the_same_arguments() {
        let english = arguments(Language::English);
        assert!(english.len() > 1);
        for language in Language::ALL {
            let others = arguments(language);
            for (key, arguments) in &english {
                assert_eq!(others.get(key), Some(arguments), "{key} in {language:?}");
            }
            assert_eq!(others.len(), english.len(), "{language:?}");
            assert_eq!(keys(language).count(), keys(Language::English).count());
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let locales = Locales::read().unwrap();
        let text = |key| locales.text(Language::German, key, &FluentArgs::new());
        assert_eq!(
            text("no-such").unwrap_err(),
            "de.ftl has no message no-such"
        );
        assert!(text("duration-minutes").unwrap_err().contains("de.ftl"));
        let mut args = FluentArgs::new();
        args.set("n", 1);
        let minute = locales.text(Language::German, "duration-minutes", &args);
        assert_eq!(minute.unwrap(), "1 Minute");
    }
}
