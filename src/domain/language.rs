//! The languages that pages are written in.

/// A language of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// English, for whoever asks for none of the others.
    #[default]
    English,
    /// German.
    German,
    /// French.
    French,
    /// Spanish.
    Spanish,
}

impl Language {
    /// Every language, in the order that pages list them.
    pub const ALL: [Self; 4] = [Self::English, Self::German, Self::French, Self::Spanish];

    /// Its language tag (RFC 5646).
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
        }
    }

    /// Its name, as its speakers call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::German => "Deutsch",
            Self::French => "Français",
            Self::Spanish => "Español",
        }
    }

    /// The language of a tag, in any case and with any subtags: `de-AT` is German.
    pub fn of_tag(tag: &str) -> Option<Self> {
        let (primary, _subtags) = tag.split_once('-').unwrap_or((tag, ""));
        let is_meant = |it: &Self| it.tag().eq_ignore_ascii_case(primary);
        Self::ALL.into_iter().find(is_meant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_names_a_language_by_its_first_subtag() {
        for language in Language::ALL {
            assert_eq!(Language::of_tag(language.tag()), Some(language));
        }
        for (tag, language) in [
            ("de-AT", Some(Language::German)),
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
