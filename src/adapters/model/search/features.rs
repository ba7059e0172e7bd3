//! The features of a text: the stems of its words, the bigrams of stems, and the character n-grams of its words,
//! which forgive a typing mistake and see the parts of a joined word.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use frostem::{Algorithm, Stemmer};

use crate::domain::Language;

/// Longer words, in bytes, are not stemmed.
const WORD_LEN_MAX: usize = 64;
/// The lengths of the character n-grams.
const NGRAM_LENGTHS: [usize; 2] = [3, 4];
/// Stands around a word in its n-grams, so that its beginning has other ones than its middle.
const BORDER: char = ' ';

/// The hash of a stem, a bigram or an n-gram: thousands are kept, and none is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Feature(u64);

impl Feature {
    fn of(part: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        part.hash(&mut hasher);
        Self(hasher.finish())
    }

    pub(super) fn of_stem(stem: &str) -> Self {
        Self::of(("stem", stem))
    }
}

/// The features of `text`, each once.
pub(super) fn features(language: Language, text: &str) -> BTreeSet<Feature> {
    let mut features = BTreeSet::new();
    let mut before: Option<String> = None;
    for word in words(text) {
        let stem = stem(language, &word);
        features.insert(Feature::of_stem(&stem));
        if let Some(before) = before {
            features.insert(Feature::of(("bigram", &before, &stem)));
        }
        let word = folded(&word);
        features.extend(
            NGRAM_LENGTHS
                .iter()
                .flat_map(|length| ngrams(&word, *length)),
        );
        before = Some(stem);
    }
    features
}

/// The character n-grams of a word and its borders, in order.
fn ngrams(word: &str, length: usize) -> Vec<Feature> {
    let letters = std::iter::once(BORDER).chain(word.chars());
    let letters: Vec<_> = letters.chain([BORDER]).collect();
    let ngrams = letters.windows(length);
    ngrams.map(|ngram| Feature::of(("ngram", ngram))).collect()
}

/// The stems of the words of `text`, each once.
pub(super) fn stems(language: Language, text: &str) -> BTreeSet<String> {
    words(text).map(|word| stem(language, &word)).collect()
}

/// The words of `text`, in lower case. An e-mail address is none: it tells nothing about the question.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split_whitespace();
    let parts = parts.filter(|part| !part.contains('@'));
    let words = parts.flat_map(|part| part.split(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// The stem of a word in lower case, without accents. French and Spanish are often typed without, so they come
/// off first; the German stemmer knows `ae` and `ä`.
pub(super) fn stem(language: Language, word: &str) -> String {
    let (algorithm, word) = match language {
        Language::English => (Algorithm::English, word.to_owned()),
        Language::German => (Algorithm::German, word.to_owned()),
        Language::French => (Algorithm::French, folded(word)),
        Language::Spanish => (Algorithm::Spanish, folded(word)),
    };
    if word.len() > WORD_LEN_MAX {
        return word;
    }
    folded(&Stemmer::new(algorithm).stem(&word))
}

/// `word` without the accents of these languages.
pub(super) fn folded(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            'á' | 'à' | 'â' | 'ä' => folded.push('a'),
            'é' | 'è' | 'ê' | 'ë' => folded.push('e'),
            'í' | 'ì' | 'î' | 'ï' => folded.push('i'),
            'ó' | 'ò' | 'ô' | 'ö' => folded.push('o'),
            'ú' | 'ù' | 'û' | 'ü' => folded.push('u'),
            'ç' => folded.push('c'),
            'ñ' => folded.push('n'),
            'ß' => folded.push_str("ss"),
            'œ' => folded.push_str("oe"),
            'æ' => folded.push_str("ae"),
            other => folded.push(other),
        }
    }
    folded
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
            (Language::French, "désinscrire desinscrire", &["desinscrir"]),
            (
                Language::Spanish,
                "suscripción suscripcion",
                &["suscripcion"],
            ),
        ] {
            let stems = stems(language, text);
            assert!(stems.iter().eq(expected), "{text}: {stems:?}");
        }
        let long = "é".repeat(WORD_LEN_MAX);
        assert_eq!(stems(Language::French, &long).len(), 1);
    }

    #[test]
    fn a_text_has_stems_bigrams_and_ngrams() {
        let stems = ["ol", "weg"].map(Feature::of_stem);
        let bigram = Feature::of(("bigram", "ol", "weg"));
        let ngrams = [" ol", "ol ", " ol ", " we", "weg", "eg ", " weg", "weg "];
        let ngrams = ngrams.map(|ngram| Feature::of(("ngram", ngram.chars().collect::<Vec<_>>())));
        let expected = stems.into_iter().chain([bigram]).chain(ngrams).collect();
        assert_eq!(features(Language::German, "Öl weg"), expected);
        assert_eq!(features(Language::German, " ?!"), BTreeSet::new());
    }
}
