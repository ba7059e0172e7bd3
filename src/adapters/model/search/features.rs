//! The features of a text: the stems of its words, the bigrams of stems, and the character n-grams of its words,
//! which forgive a typing mistake and see the parts of a joined word.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use frostem::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::domain::Language;

/// The lengths of the character n-grams.
const NGRAM_LENGTHS: [usize; 2] = [3, 4];
/// Stands around a word in its n-grams, so that its beginning has other ones than its middle.
const BORDER: char = ' ';

/// The hash of a stem, a bigram or an n-gram with its kind: thousands are kept, and none is read.
pub(super) type Feature = u64;

pub(super) fn feature(part: impl Hash) -> Feature {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    hasher.finish()
}

/// The features of `text`, each once.
pub(super) fn features(language: Language, text: &str) -> BTreeSet<Feature> {
    let mut features = BTreeSet::new();
    let mut before: Option<String> = None;
    for word in words(text) {
        let stem = stem(language, &word);
        features.insert(feature(("stem", &stem)));
        features.extend(before.map(|before| feature(("bigram", before, &stem))));
        let letters = format!("{BORDER}{}{BORDER}", folded(&word));
        let letters: Vec<_> = letters.chars().collect();
        let lengths = NGRAM_LENGTHS.into_iter();
        let ngrams = lengths.flat_map(|length| letters.windows(length));
        features.extend(ngrams.map(|ngram| feature(("ngram", ngram))));
        before = Some(stem);
    }
    features
}

/// The words of `text`, in lower case. An e-mail address is none: it tells nothing about the question.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split_whitespace();
    let parts = parts.filter(|part| !part.contains('@'));
    let words = parts.flat_map(|part| part.split(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// The stem of a word in lower case, without accents. French and Spanish are often typed without, so they come
/// off first; the German stemmer knows `ae` and `ä`, and needs a second pass to find one stem for `Kurs` and `Kurse`.
pub(super) fn stem(language: Language, word: &str) -> String {
    let (algorithm, word) = match language {
        Language::English => (Algorithm::English, word.to_owned()),
        Language::German => (Algorithm::German, word.to_owned()),
        Language::French => (Algorithm::French, folded(word)),
        Language::Spanish => (Algorithm::Spanish, folded(word)),
    };
    let stemmer = Stemmer::new(algorithm);
    let passes = 1 + usize::from(language == Language::German);
    folded(&(0..passes).fold(word, |word, _| stemmer.stem(&word).into_owned()))
}

/// `word` without accents and ligatures.
pub(super) fn folded(word: &str) -> String {
    let letters = word.nfd().filter(|c| !is_combining_mark(*c));
    let word = letters.collect::<String>().replace('ß', "ss");
    word.replace('œ', "oe").replace('æ', "ae")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_stems() {
        for (language, text, expected) in [
            (
                Language::English,
                "How do I subscribe?",
                &["do", "how", "i", "subscrib"][..],
            ),
            (Language::English, "E-Mails", &["e", "mail"]),
            (Language::English, "me@example.com", &[]),
            (Language::English, "東京の天気", &["東京の天気"]),
            (Language::German, "löschen loeschen", &["losch"]),
            (Language::German, "Kurs Kurse", &["kur"]),
            (Language::French, "désinscrire desinscrire", &["desinscrir"]),
            (
                Language::Spanish,
                "suscripción suscripcion",
                &["suscripcion"],
            ),
        ] {
            let stems: BTreeSet<_> = words(text).map(|word| stem(language, &word)).collect();
            assert!(stems.iter().eq(expected), "{text}: {stems:?}");
        }
    }

    #[test]
    fn a_text_has_stems_bigrams_and_ngrams() {
        let stems = ["ol", "weg"].map(|stem| feature(("stem", stem)));
        let bigram = feature(("bigram", "ol", "weg"));
        let ngrams = [" ol", "ol ", " ol ", " we", "weg", "eg ", " weg", "weg "];
        let ngrams = ngrams.map(|ngram| feature(("ngram", ngram.chars().collect::<Vec<_>>())));
        let expected = stems.into_iter().chain([bigram]).chain(ngrams).collect();
        assert_eq!(features(Language::German, "Öl weg"), expected);
        assert_eq!(features(Language::German, " ?!"), BTreeSet::new());
    }
}
