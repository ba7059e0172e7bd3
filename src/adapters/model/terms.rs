//! Texts as terms, which the embedded model compares.

use frostem::{Algorithm, Stemmer};

/// Words that say how a question is asked, not what it is about.
const STOP_WORDS: &str = include_str!("../../../data/assistant/stop_words.txt");
/// Two words that mean one, and that one: a line each.
const COMPOUNDS: &str = include_str!("../../../data/assistant/compounds.txt");
/// Words that people use for one another: a group a line.
const SYNONYMS: &str = include_str!("../../../data/assistant/synonyms.txt");

/// Longer words, in bytes, are not English and are not stemmed.
const WORD_LEN_MAX: usize = 32;

/// The terms of `text` in order: the stems of its words, without stop words.
pub(super) fn terms(text: &str) -> Vec<String> {
    let lowercase = text.to_lowercase();
    let mut words = lowercase
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .peekable();
    let mut terms = Vec::new();
    while let Some(word) = words.next() {
        let compound = words.peek().and_then(|next| compound(word, next));
        if compound.is_some() {
            words.next();
        }
        let word = compound.unwrap_or(word);
        if !STOP_WORDS.split_ascii_whitespace().any(|stop| stop == word) {
            terms.push(stem(word));
        }
    }
    terms
}

/// The groups of synonyms, as terms.
pub(super) fn synonyms() -> Vec<Vec<String>> {
    let group = |line: &str| line.split(' ').map(stem).collect();
    SYNONYMS.lines().map(group).collect()
}

fn stem(word: &str) -> String {
    if word.len() > WORD_LEN_MAX {
        return word.to_owned();
    }
    Stemmer::new(Algorithm::English).stem(word).into_owned()
}

fn compound(first: &str, second: &str) -> Option<&'static str> {
    COMPOUNDS.lines().find_map(|line| {
        let (pair, one) = line.rsplit_once(' ')?;
        (pair.split_once(' ')? == (first, second)).then_some(one)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_stems_and_the_asking_is_left_out() {
        for (text, expected) in [
            ("How do I subscribe?", &["subscrib"][..]),
            ("Where can I sign up?", &["subscrib"]),
            ("e-mail E-Mails email", &["email", "email", "email"]),
            ("X-API-Key", &["x", "api", "key"]),
            ("HTTP 429: Retry-After", &["http", "429", "retryaft"]),
            ("the of and", &[]),
            ("東京の天気", &["東京の天気"]),
        ] {
            assert_eq!(terms(text), expected, "{text}");
        }
    }

    #[test]
    fn synonyms_are_terms() {
        for group in synonyms() {
            for synonym in &group {
                assert!(!synonym.is_empty(), "{group:?}");
            }
            assert!(group.len() > 1, "{group:?}");
        }
    }
}
