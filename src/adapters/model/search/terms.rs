//! The terms of a text: its words without those that say how a question is asked, and the groups of synonyms
//! that its words and phrases are of.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::domain::{AssistantTexts, Language};

use crate::adapters::model::search::features::{folded, stem, words};

/// A question word stands among so many words at the beginning of its sentence; a relative pronoun further on.
const QUESTION_WORD_AT_MAX: usize = 3;

/// The most words of a phrase among the synonyms.
const PHRASE_WORDS_MAX: usize = 4;

/// How much a text has of a term, if it has one that means the same.
const SYNONYM_SHARE: f64 = 0.9;

/// What tells the terms of a text.
#[derive(Debug)]
pub(super) struct Terms {
    language: Language,
    stop_words: BTreeSet<String>,
    /// With their accents: in French `ou` is not `où`.
    question_words: BTreeSet<&'static str>,
    vague_words: BTreeSet<String>,
    /// The words that are synonyms by themselves, without accents.
    synonym_words: BTreeSet<String>,
    /// The groups of a phrase, which is stems with a blank between them, or a mark such as `€`.
    groups: HashMap<String, BTreeSet<usize>>,
}

/// A word or a phrase of a question.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Term {
    /// Its stems, with a blank between them.
    pub(super) stems: String,
    /// The groups of synonyms that it is of.
    pub(super) groups: BTreeSet<usize>,
    /// Whether it says little about the subject.
    pub(super) is_vague: bool,
}

/// What a text is about.
#[derive(Debug, Default)]
pub(super) struct Topics {
    pub(super) stems: BTreeSet<String>,
    /// The groups of synonyms, each with how often the text has one of it.
    groups: BTreeMap<usize, usize>,
}

impl Terms {
    pub(super) fn new(texts: &AssistantTexts) -> Self {
        let language = texts.language;
        let mut groups: HashMap<_, BTreeSet<_>> = HashMap::new();
        let mut synonym_words = BTreeSet::new();
        for (number, group) in texts.synonyms.iter().enumerate() {
            for phrase in group {
                let stems: Vec<_> = words(phrase).map(|it| stem(language, &it)).collect();
                if stems.len() == 1 {
                    synonym_words.insert(folded(phrase));
                }
                let key = if stems.is_empty() {
                    (*phrase).to_owned()
                } else {
                    stems.join(" ")
                };
                groups.entry(key).or_default().insert(number);
            }
        }
        Self {
            language,
            stop_words: texts.stop_words.iter().map(|it| folded(it)).collect(),
            question_words: texts.question_words.iter().copied().collect(),
            vague_words: texts
                .vague_words
                .iter()
                .map(|it| stem(language, it))
                .collect(),
            synonym_words,
            groups,
        }
    }

    /// Whether the word is one of this language, as far as this knows its words.
    pub(super) fn knows(&self, word: &str) -> bool {
        let stem = stem(self.language, word);
        self.is_stop_word(word)
            || self.vague_words.contains(&stem)
            || self.groups.contains_key(&stem)
    }

    fn is_stop_word(&self, word: &str) -> bool {
        self.stop_words.contains(&folded(word))
    }

    /// The terms of a question, each once.
    pub(super) fn asked(&self, question: &str) -> BTreeSet<Term> {
        self.terms(question).into_iter().collect()
    }

    /// What a question asks for: the first term from its question word on that is not vague, as in "how *heavy*
    /// is the plate". None if it has no such word.
    pub(super) fn focus(&self, question: &str) -> Option<Term> {
        let is_question_word = |word: &String| self.question_words.contains(word.as_str());
        // What stands before the sentence with the question mark asks nothing.
        let question = question.split('?').next().unwrap_or_default();
        let question = question.trim_end_matches(['.', '!']);
        let sentence = question.rsplit(['.', '!', ':', ';']).next();
        let words: Vec<_> = words(sentence.unwrap_or_default()).collect();
        let mut first = words.iter().take(QUESTION_WORD_AT_MAX);
        let at = first.position(is_question_word)?;
        let rest = words.get(at..).unwrap_or_default();
        let mut terms = self.terms(&rest.join(" ")).into_iter();
        terms.find(|it| !it.is_vague)
    }

    /// The terms of a text. A phrase is one term, and its words are none: who comes "without an appointment" needs
    /// none.
    fn terms(&self, text: &str) -> Vec<Term> {
        let words: Vec<_> = words(text).collect();
        let stems: Vec<_> = words.iter().map(|it| stem(self.language, it)).collect();
        let mut terms = Vec::new();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let rest = stems.get(at..).unwrap_or_default();
            let of_len = |len: usize| Some((len, rest.get(..len)?.join(" ")));
            let is_stop_word = self.is_stop_word(word);
            // A stop word is no synonym for having the stem of one.
            let is_no_synonym = is_stop_word && !self.synonym_words.contains(&folded(word));
            let len_min = if is_no_synonym { 2 } else { 1 };
            let mut phrases = (len_min..=PHRASE_WORDS_MAX).rev().filter_map(of_len);
            let found = phrases.find_map(|(len, stems)| {
                let groups = self.groups.get(&stems)?.clone();
                Some((len, stems, groups))
            });
            let alone = || {
                (
                    1,
                    rest.first().cloned().unwrap_or_default(),
                    BTreeSet::new(),
                )
            };
            let is_phrase = found.is_some();
            let (len, stems, groups) = found.unwrap_or_else(alone);
            if is_phrase || !is_stop_word {
                let mut of_it = words.iter().skip(at).take(len);
                let is_vague = of_it.all(|it| self.is_stop_word(it))
                    || groups.is_empty() && self.vague_words.contains(&stems);
                terms.push(Term {
                    stems,
                    groups,
                    is_vague,
                });
            }
            at += len;
        }
        terms
    }

    /// What `texts` are about.
    pub(super) fn topics<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Topics {
        let mut topics = Topics::default();
        for text in texts {
            let phrases = self.terms(text).into_iter().map(|term| term.groups);
            let marks = text.chars().filter(|c| !c.is_alphanumeric());
            let marks = marks.map(String::from);
            let marks = marks.filter_map(|mark| self.groups.get(&mark).cloned());
            for group in phrases.chain(marks).flatten() {
                *topics.groups.entry(group).or_default() += 1;
            }
            let words = words(text).filter(|word| !self.is_stop_word(word));
            let stems = words.map(|word| stem(self.language, &word));
            topics.stems.extend(stems);
        }
        topics
    }
}

impl Term {
    /// Whether both mean the same.
    pub(super) fn means(&self, other: &Self) -> bool {
        self.stems == other.stems || !self.groups.is_disjoint(&other.groups)
    }
}

impl Topics {
    /// How much of the term this has, 0 to 1: less if it only has what means the same.
    pub(super) fn share(&self, term: &Term) -> f64 {
        if self.stems.contains(&term.stems) {
            1.0
        } else if self.mentions(term) > 0 {
            SYNONYM_SHARE
        } else {
            0.0
        }
    }

    /// How often this has what means the same as the term.
    pub(super) fn mentions(&self, term: &Term) -> usize {
        let mentions = term.groups.iter().filter_map(|it| self.groups.get(it));
        mentions.max().copied().unwrap_or_default()
    }
}
