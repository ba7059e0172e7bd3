//! The files of `data/` as texts of the program.

use crate::domain::Language;

/// Each file of `data/` with its text.
macro_rules! sources {
    ($($name:literal)+) => {
        [$(($name, include_str!(concat!("../../data/", $name)))),+]
    };
}
pub(super) use sources;

/// The files of which there is one in each language.
const TEXTS_BY_LANGUAGE: [(&str, &str); 12] = sources! {
    "locales/en.txt" "locales/de.txt" "locales/fr.txt" "locales/es.txt"
    "assistant/words.en.txt" "assistant/words.de.txt" "assistant/words.fr.txt" "assistant/words.es.txt"
    "assistant/questions.en.txt" "assistant/questions.de.txt" "assistant/questions.fr.txt"
    "assistant/questions.es.txt"
};

/// The text of the file in `language` whose name begins with `kind`.
pub(super) fn text_in(language: Language, kind: &str) -> &'static str {
    let name = format!("{kind}{}.txt", language.as_str());
    let found = TEXTS_BY_LANGUAGE.iter().find(|(known, _)| *known == name);
    found.map_or("", |(_, text)| text)
}
