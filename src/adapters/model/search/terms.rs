//! The terms of a text: its words without those that say how a question is asked, and the groups of synonyms
//! that its words and phrases are of.

use std::collections::{BTreeSet, HashMap};

use crate::domain::{AssistantTexts, Language};

use crate::adapters::model::search::features::{folded, stem, words};
use crate::adapters::model::search::shapes;

/// The most words of a phrase among the synonyms.
const PHRASE_WORDS_MAX: usize = 4;

/// More terms of a question are not read.
const TERMS_MAX: usize = 40;

/// The fewest letters of a part of a compound.
const PART_LETTERS_MIN: usize = 3;

/// The share of a term that a text with a synonym of it has.
const SYNONYM_SHARE: f64 = 0.7;

/// The dictionary of a language, which finds the terms of a text.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) texts: AssistantTexts,
    /// Without their accents. The question words keep theirs: in French `ou` is not `où`.
    stop_words: BTreeSet<String>,
    vague: BTreeSet<String>,
    /// The groups of a phrase, which is stems with a blank between them, or a mark such as `€`.
    groups: HashMap<String, BTreeSet<usize>>,
    /// Words that may end a compound: those of the dictionary and of the operator's pages. None if the language has no
    /// compounds.
    compound_ends: BTreeSet<String>,
    /// The groups that have a mark: price, hours, address and the like.
    details: BTreeSet<usize>,
}

/// The subject of a word or a phrase, or the subjects of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Topic {
    /// The stems of its words; those of a phrase are one, with a blank between them.
    stems: BTreeSet<String>,
    /// Those of the parts of a compound, which together say the same.
    parts: BTreeSet<String>,
    /// The groups of synonyms that it is of, or has one of.
    groups: BTreeSet<usize>,
    /// Those that it has a mark of.
    pub(super) marked: BTreeSet<usize>,
    /// True if it says little.
    pub(super) is_vague: bool,
    /// True for what any subject may have, such as a price.
    pub(super) is_detail: bool,
    /// True if it has a digit.
    pub(super) is_numeric: bool,
}

impl Terms {
    /// The dictionary of `texts` beside pages with this prose.
    pub(super) fn new<'a>(texts: AssistantTexts, prose: impl Iterator<Item = &'a str>) -> Self {
        let language = texts.language;
        let mut groups: HashMap<_, BTreeSet<_>> = HashMap::new();
        for (number, group) in texts.synonyms.iter().enumerate() {
            for phrase in group {
                let stems = words(phrase).map(|word| stem(language, &word));
                let mut key = stems.collect::<Vec<_>>().join(" ");
                if key.is_empty() {
                    key.push_str(phrase);
                }
                groups.entry(key).or_default().insert(number);
            }
        }
        let phrases = texts.synonyms.iter().flatten().copied();
        let is_german = language == Language::German;
        let known = prose.chain(phrases).filter(|_| is_german);
        let vague_words = texts.vague_words.iter();
        let is_mark = |key: &str| !key.contains(char::is_alphanumeric);
        let details = groups.iter().filter(|(key, _)| is_mark(key));
        Self {
            details: details.flat_map(|(_, groups)| groups).copied().collect(),
            stop_words: texts.stop_words.iter().map(|word| folded(word)).collect(),
            vague: vague_words.map(|word| stem(language, word)).collect(),
            compound_ends: known.flat_map(words).collect(),
            groups,
            texts,
        }
    }

    /// True if the word is known in this language.
    pub(super) fn knows(&self, word: &str) -> bool {
        let stem = stem(self.texts.language, word);
        self.is_stop_word(word) || self.vague.contains(&stem) || self.groups.contains_key(&stem)
    }

    /// A number alone is one, too: 7 years are not 7 o'clock.
    fn is_stop_word(&self, word: &str) -> bool {
        word.bytes().all(|byte| byte.is_ascii_digit()) || self.stop_words.contains(&folded(word))
    }

    /// The stems of the parts of a German compound with a known word at its end: a `Nudelkurs` is a `Kurs`.
    fn parts(&self, word: &str) -> BTreeSet<String> {
        let splits = word.char_indices().map(|(at, _)| word.split_at(at));
        let is_part = |last: &str| {
            last.chars().count() >= PART_LETTERS_MIN && self.compound_ends.contains(last)
        };
        let mut splits = splits.skip(PART_LETTERS_MIN);
        let parts = splits.find(|(_, last)| is_part(last));
        let parts = parts.into_iter().flat_map(|(first, last)| [first, last]);
        parts.map(|part| stem(self.texts.language, part)).collect()
    }

    /// The topics of a question, each once.
    pub(super) fn asked(&self, question: &str) -> BTreeSet<Topic> {
        self.terms(question).into_iter().take(TERMS_MAX).collect()
    }

    /// The subject of a question: the first term from its question word on that is not vague, as in "how *heavy*
    /// is the plate". None if it has no such word.
    pub(super) fn focus(&self, question: &str) -> Option<Topic> {
        let is_question_word = |word: &String| self.texts.question_words.contains(&word.as_str());
        // The sentences before the one with the question mark ask nothing.
        let question = question.split('?').next().unwrap_or_default();
        let question = question.trim_end_matches(|c: char| !c.is_alphanumeric());
        let sentence = question.rsplit(['.', '!', ':', ';']).next();
        let from = words(sentence.unwrap_or_default()).skip_while(|word| !is_question_word(word));
        let mut terms = self.terms(&from.collect::<Vec<_>>().join(" ")).into_iter();
        terms.find(|term| !term.is_vague)
    }

    /// The terms of a text. A phrase is one term, and its words are none: who comes "without an appointment" needs
    /// none.
    fn terms(&self, text: &str) -> Vec<Topic> {
        let language = self.texts.language;
        let plain = |word: String| (stem(language, &word), self.is_stop_word(&word), word);
        let mut words: Vec<_> = words(text).map(plain).collect();
        // The last word may belong to a verb: "macht ihr heute *zu*".
        if let Some(last) = words.pop_if(|(_, is_stop_word, _)| *is_stop_word) {
            let is_verb = |stem: &str| self.groups.contains_key(&format!("{stem} {}", last.0));
            let at = words.iter().rposition(|(stem, ..)| is_verb(stem));
            words.insert(at.map_or(words.len(), |at| at + 1), last);
        }
        let mut terms = Vec::new();
        let mut rest = words.as_slice();
        while let Some((_, after)) = rest.split_first() {
            let mut lens = (1..=PHRASE_WORDS_MAX).rev();
            let found = lens.find_map(|len| {
                let (phrase, after) = rest.split_at_checked(len)?;
                let stems: Vec<_> = phrase.iter().map(|(stem, ..)| stem.as_str()).collect();
                let stems = stems.join(" ");
                let groups = self.groups.get(&stems);
                let is_stop = phrase.iter().all(|(_, is_stop_word, _)| *is_stop_word);
                let is_detail = groups.is_some_and(|groups| groups.is_subset(&self.details));
                let is_vague = groups.map_or_else(|| self.vague.contains(&stems), |_| is_stop);
                let word = phrase.iter().filter(|_| len == 1);
                let term = Topic {
                    is_vague: is_vague && !is_detail,
                    is_detail,
                    groups: groups.cloned().unwrap_or_default(),
                    stems: BTreeSet::from([stems]),
                    parts: word.flat_map(|(.., word)| self.parts(word)).collect(),
                    ..Topic::default()
                };
                // A stop word alone is no synonym for having the stem of one.
                let is_term = if len == 1 { !is_stop } else { groups.is_some() };
                is_term.then_some((term, after))
            });
            rest = found.as_ref().map_or(after, |(_, after)| after);
            terms.extend(found.map(|(term, _)| term));
        }
        terms
    }

    /// The subjects of `texts`.
    pub(super) fn topics<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Topic {
        let mut topics = Topic::default();
        for text in texts {
            topics.is_numeric |= text.contains(|c: char| c.is_ascii_digit());
            let phrases = self.terms(text).into_iter();
            topics.groups.extend(phrases.flat_map(|term| term.groups));
            let marks = text.chars().filter(|c| !c.is_alphanumeric());
            let marks = marks.chain(shapes::marks(text)).map(String::from);
            let groups = marks.filter_map(|mark| self.groups.get(&mark));
            topics.marked.extend(groups.flatten());
            for word in words(text).filter(|word| !self.is_stop_word(word)) {
                topics.stems.extend(self.parts(&word));
                topics.stems.insert(stem(self.texts.language, &word));
            }
        }
        topics
    }
}

impl Topic {
    /// The share of the asked `other` that this has; less if it only has a synonym. A mark, such as a telephone number,
    /// counts like the word for it.
    pub(super) fn share(&self, other: &Self) -> f64 {
        let has_parts = !other.parts.is_empty() && other.parts.is_subset(&self.stems);
        let has_mark = !self.marked.is_disjoint(&other.groups);
        if has_mark || has_parts || !self.stems.is_disjoint(&other.stems) {
            1.0
        } else if !self.groups.is_disjoint(&other.groups) {
            SYNONYM_SHARE
        } else {
            0.0
        }
    }

    /// Takes a mark from it, unless it has a word for what the mark stands for.
    pub(super) fn unmark(&mut self, mark: &Self) {
        if self.groups.is_disjoint(&mark.marked) {
            self.marked = &self.marked - &mark.marked;
        }
    }

    /// True if it has `other`, or means the same.
    pub(super) fn has(&self, other: &Self) -> bool {
        self.share(other) > 0.0
    }
}
