//! What is known of a language: which words carry a question, and which mean the same.

use std::collections::BTreeSet;

use frostem::{Algorithm, Stemmer};

use crate::domain::language::Language;

/// The file `$name` of `data/assistant/` in each language.
macro_rules! in_each_language {
    ($language:expr, $name:literal) => {
        match $language {
            Language::English => include_str!(concat!("../../../data/assistant/en/", $name)),
            Language::German => include_str!(concat!("../../../data/assistant/de/", $name)),
            Language::French => include_str!(concat!("../../../data/assistant/fr/", $name)),
            Language::Spanish => include_str!(concat!("../../../data/assistant/es/", $name)),
        }
    };
}

/// Longer words, in bytes, are not stemmed.
const WORD_LEN_MAX: usize = 64;
/// How far apart the two words of a pair may stand: `melde ich mich wieder ab`.
const PAIR_DISTANCE_MAX: usize = 6;

/// The words of a language.
#[derive(Debug)]
pub(super) struct Lexicon {
    language: Language,
    /// Words that say how a question is asked, not what it is about.
    stop_words: BTreeSet<String>,
    /// Two words that mean one, and that one.
    pairs: Vec<[String; 3]>,
    /// Groups of terms that people use for one another.
    synonyms: Vec<Vec<String>>,
    /// What the assistant itself says, by key.
    sentences: &'static str,
}

impl Lexicon {
    pub(super) fn of(language: Language) -> Self {
        let mut lexicon = Self {
            language,
            stop_words: BTreeSet::new(),
            pairs: Vec::new(),
            synonyms: Vec::new(),
            sentences: in_each_language!(language, "sentences.txt"),
        };
        let stop_words = in_each_language!(language, "stop_words.txt").split_whitespace();
        lexicon.stop_words = stop_words.map(folded).collect();
        let pairs = in_each_language!(language, "pairs.txt").lines();
        lexicon.pairs = pairs
            .filter_map(|line| {
                let mut words = line.split(' ').map(|word| lexicon.stem(word));
                Some([words.next()?, words.next()?, words.next()?])
            })
            .collect();
        let groups = in_each_language!(language, "synonyms.txt").lines();
        let group = |line: &str| line.split(' ').map(|word| lexicon.stem(word)).collect();
        lexicon.synonyms = groups.map(group).collect();
        lexicon
    }

    /// The terms of `text` in order: the stems of its words, without stop words.
    pub(super) fn terms(&self, text: &str) -> Vec<String> {
        let mut words: Vec<Option<(String, String)>> = Self::words(text)
            .map(|word| Some((self.stem(&word), word)))
            .collect();
        let mut terms = Vec::new();
        for at in 0..words.len() {
            let Some((stem, word)) = words.get_mut(at).and_then(Option::take) else {
                continue;
            };
            let mut following = words.iter_mut().skip(at + 1).take(PAIR_DISTANCE_MAX);
            let pair = following.find_map(|other| {
                let (second, _) = other.as_ref()?;
                let is_pair = |pair: &&[String; 3]| pair[0] == stem && pair[1] == *second;
                let pair = self.pairs.iter().find(is_pair)?;
                *other = None;
                Some(pair[2].clone())
            });
            match pair {
                Some(one) => terms.push(one),
                None if self.is_stop_word(&word) => {}
                None => terms.push(stem),
            }
        }
        terms
    }

    /// The terms that people use for `term`.
    pub(super) fn synonyms<'a>(&'a self, term: &'a str) -> impl Iterator<Item = &'a String> {
        let groups = self.synonyms.iter();
        let groups = groups.filter(move |group| group.iter().any(|it| it == term));
        groups.flatten().filter(move |other| *other != term)
    }

    /// The words of `text`, in lower case. An e-mail address is none: it tells nothing about the
    /// question.
    pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
        let parts = text.split_whitespace();
        let parts = parts.filter(|part| !part.contains('@'));
        let words = parts.flat_map(|part| part.split(|c: char| !c.is_alphanumeric()));
        words.filter(|word| !word.is_empty()).map(str::to_lowercase)
    }

    /// How many letters and marks of `text` only this language has, of those that are known here.
    pub(super) fn own_letters(&self, text: &str) -> usize {
        let own: &[char] = match self.language {
            Language::English => &[],
            Language::German => &['ä', 'ö', 'ß', 'Ä', 'Ö', 'Ü'],
            Language::French => &[
                'à', 'â', 'ç', 'è', 'ê', 'î', 'ô', 'ù', 'œ', 'À', 'Ç', 'É', 'Ê',
            ],
            Language::Spanish => &['¿', '¡', 'ñ', 'á', 'í', 'ó', 'ú', 'Á', 'Ñ'],
        };
        text.matches(own).count()
    }

    /// `text` without stop words.
    pub(super) fn without_stop_words(&self, text: &str) -> String {
        let words = Self::words(text).filter(|word| !self.is_stop_word(word));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The sentence of this `key`.
    pub(super) fn sentence(&self, key: &str) -> &'static str {
        let mut lines = self.sentences.lines();
        let found = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        found.unwrap_or_default()
    }

    /// Whether words are written together: `Newsletterabmeldung`.
    pub(super) fn joins_words(&self) -> bool {
        self.language == Language::German
    }

    fn is_stop_word(&self, word: &str) -> bool {
        self.stop_words.contains(&folded(word))
    }

    /// The stem without accents. French and Spanish are often typed without, so they come off first; the
    /// German stemmer knows `ae` and `ä`.
    fn stem(&self, word: &str) -> String {
        let (algorithm, word) = match self.language {
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
}

/// `word` without the accents of these languages.
fn folded(word: &str) -> String {
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
    fn words_become_stems_and_the_asking_is_left_out() {
        for (language, text, expected) in [
            (Language::English, "How do I subscribe?", &["subscrib"][..]),
            (Language::English, "Where can I sign up?", &["subscrib"]),
            (Language::English, "Sign me up!", &["subscrib"]),
            (
                Language::English,
                "e-mail E-Mails email",
                &["email", "email", "email"],
            ),
            (Language::English, "X-API-Key", &["x", "api", "key"]),
            (
                Language::English,
                "HTTP 429: Retry-After",
                &["http", "429", "retryaft"],
            ),
            (Language::English, "the of and", &[]),
            (Language::English, "東京の天気", &["東京の天気"]),
            (
                Language::German,
                "Wie melde ich mich wieder ab?",
                &["abmeld"],
            ),
            (Language::German, "löschen loeschen", &["losch", "losch"]),
            (
                Language::French,
                "désinscrire desinscrire",
                &["desinscrir"; 2],
            ),
            (
                Language::Spanish,
                "suscripción suscripcion",
                &["suscripcion"; 2],
            ),
        ] {
            assert_eq!(Lexicon::of(language).terms(text), expected, "{text}");
        }
    }

    #[test]
    fn every_language_has_its_data() {
        for language in Language::ALL {
            let lexicon = Lexicon::of(language);
            let pairs = in_each_language!(language, "pairs.txt");
            assert_eq!(lexicon.pairs.len(), pairs.lines().count(), "{language:?}");
            for group in &lexicon.synonyms {
                assert!(group.len() > 1, "{language:?}: {group:?}");
                assert!(!group.contains(&String::new()), "{language:?}: {group:?}");
            }
            let english = in_each_language!(Language::English, "sentences.txt");
            for line in english.lines() {
                let (key, _) = line.split_once(" = ").unwrap();
                assert!(!lexicon.sentence(key).is_empty(), "{language:?}: {key}");
            }
            assert!(lexicon.stop_words.len() > 100, "{language:?}");
        }
    }
}
