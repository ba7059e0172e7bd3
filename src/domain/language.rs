//! The languages of the pages.

use super::macros::names;

names! {
    /// A language of the pages, by its tag (RFC 5646), in the order of the pages' menu.
    #[derive(Default, PartialOrd, Ord)]
    pub enum Language {
        /// The default.
        #[default]
        English => "en",
        German => "de",
        French => "fr",
        Spanish => "es",
    }
}

impl Language {
    /// Its name in the language itself.
    pub const fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::German => "Deutsch",
            Self::French => "Français",
            Self::Spanish => "Español",
        }
    }

    /// The language of a tag, in any case and with any subtags: `de-AT` and `de_AT` are German.
    pub fn of_tag(tag: &str) -> Option<Self> {
        let (primary, _subtags) = tag.split_once(['-', '_']).unwrap_or((tag, ""));
        let is_meant = |language: &Self| language.as_str().eq_ignore_ascii_case(primary);
        Self::ALL.into_iter().find(is_meant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_names_a_language_by_its_first_subtag() {
        for language in Language::ALL {
            assert_eq!(Language::of_tag(language.as_str()), Some(language));
        }
        for (tag, language) in [
            ("de-AT", Some(Language::German)),
            ("de_AT.UTF-8", Some(Language::German)),
            ("FR-ca", Some(Language::French)),
            ("es-419", Some(Language::Spanish)),
            ("", None),
            ("*", None),
            ("deu", None),
            ("english", None),
        ] {
            assert_eq!(Language::of_tag(tag), language, "{tag}");
        }
    }
}
