//! The passages that readers of one language get, and the examples by which a question finds its passage.
//!
//! The examples of a passage are its title, its hints and the sentences of its prose; those of a section of
//! the help page are also the questions that `data/assistant/` has under its title. The questions there
//! under `-` are about other subjects: a question that is more like them has no answer here.

use crate::domain::language::Language;
use crate::domain::passage::Passage;

use super::features::{Feature, features, own_letters, stems, words};
use super::naive_bayes::{Example, NaiveBayes, float};
use super::quotation::sentences;

/// How much speaks against an answer if no example of a passage has any word of the question, as a
/// logarithm. "What is the capital of France?" is otherwise like "What is this site?".
const ALL_UNKNOWN: f64 = 20.0;
/// How much likelier than other subjects an answer has to be, as a logarithm: no answer is better than a
/// wrong one.
const MARGIN: f64 = 0.7;
/// What the question before counts, if the newest one is read with it.
const EARLIER_SHARE: f64 = 0.5;
/// A word of more passages than this share of them tells nothing about a sentence.
const TELLING_SHARE: f64 = 0.3;
/// The title of the questions about other subjects.
const OTHER_SUBJECTS: &str = "-";

/// The passages for readers of a language.
#[derive(Debug)]
pub(super) struct PassageIndex {
    language: Language,
    passages: Vec<Passage>,
    /// Its classes are the passages and, last, the other subjects.
    examples: NaiveBayes,
}

impl PassageIndex {
    /// Those of `passages` that are for readers of `language`.
    pub(super) fn new(language: Language, passages: &[Passage]) -> Self {
        let is_for_them = |it: &&Passage| it.language.is_none_or(|it| it == language);
        let passages: Vec<_> = passages.iter().filter(is_for_them).cloned().collect();
        let of_pages = passages.iter().enumerate().flat_map(|(class, passage)| {
            let examples = examples_of(passage).into_iter();
            examples.map(move |text| (class, text))
        });
        let of_questions = known_questions(language).filter_map(|(title, question)| {
            let class = match title {
                OTHER_SUBJECTS => Some(passages.len()),
                _ => passages.iter().position(|it| it.title == title),
            };
            Some((class?, question))
        });
        let examples: Vec<Example> = of_pages
            .chain(of_questions)
            .map(|(class, text)| (class, features(language, text)))
            .collect();
        Self {
            language,
            examples: NaiveBayes::learn(passages.len() + 1, &examples),
            passages,
        }
    }

    /// The passages in their order; the first one introduces the others.
    pub(super) fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// How much speaks for a question in this language: the words that the examples have, and the letters
    /// that only it has.
    pub(super) fn evidence(&self, question: &str) -> usize {
        let known = words(question)
            .filter(|word| !self.is_foreign(word))
            .count();
        known + own_letters(self.language, question)
    }

    /// The words of `question` that no example has.
    pub(super) fn foreign_words(&self, question: &str) -> String {
        let foreign = words(question).filter(|word| self.is_foreign(word));
        foreign.collect::<Vec<_>>().join(" ")
    }

    fn is_foreign(&self, word: &str) -> bool {
        let mut stems = stems(self.language, word).into_iter();
        stems.all(|stem| self.classes_with(&stem).next().is_none())
    }

    /// The passages whose examples have the stem, and the other subjects if theirs have.
    fn classes_with(&self, stem: &str) -> impl Iterator<Item = usize> {
        self.examples.classes_with(Feature::of_stem(stem))
    }

    /// The passage that answers `question`, which may be read with the one `before`. A title, as refusals
    /// offer them, is answered by its own passage.
    pub(super) fn best(&self, question: &str, before: &str) -> Option<&Passage> {
        let asked = features(self.language, question);
        let is_titled_so = |it: &&Passage| features(self.language, &it.title) == asked;
        if let Some(passage) = self.passages.iter().find(is_titled_so) {
            return Some(passage);
        }
        let ranked = self.ranked(question, before);
        let stems = stems(self.language, question);
        let is_unknown = |stem: &&String| {
            let mut classes = self.classes_with(stem);
            classes.all(|class| class == self.passages.len())
        };
        let unknown = stems.iter().filter(is_unknown).count();
        let against = ALL_UNKNOWN * float(unknown) / float(stems.len()).max(1.0);
        let (likelihood, passage) = ranked.passages.first()?;
        (likelihood - against > ranked.other_subjects + MARGIN).then_some(*passage)
    }

    /// The passages that come closest to `question`, whether they answer it or not.
    pub(super) fn closest(&self, question: &str, count: usize) -> Vec<&Passage> {
        let ranked = self.ranked(question, "").passages.into_iter();
        ranked.map(|(_, passage)| passage).take(count).collect()
    }

    fn ranked(&self, question: &str, before: &str) -> Ranked<'_> {
        let likelihoods = |text| {
            self.examples
                .log_likelihoods(&features(self.language, text))
        };
        let (newest, before) = (likelihoods(question), likelihoods(before));
        let both = newest.iter().zip(before);
        let both = both.map(|(newest, before)| newest + EARLIER_SHARE * before);
        let both: Vec<_> = both.collect();
        let mut passages: Vec<_> = both.iter().copied().zip(&self.passages).collect();
        passages.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        Ranked {
            passages,
            other_subjects: both.last().copied().unwrap_or_default(),
        }
    }

    /// How much of `question` the sentence of a passage names that its title does not.
    pub(super) fn named_in(&self, sentence: &str, title: &str, question: &str) -> f64 {
        let stems = |text| stems(self.language, text);
        let (sentence, title, all) = (stems(sentence), stems(title), float(self.passages.len()));
        let worth = |stem: &String| {
            let share = float(self.classes_with(stem).count()) / all;
            let is_told = sentence.contains(stem) && !title.contains(stem);
            if is_told && share < TELLING_SHARE {
                -share.ln()
            } else {
                0.0
            }
        };
        stems(question).iter().map(worth).sum()
    }
}

/// The passages with their likelihoods, the likeliest first, and the likelihood of other subjects.
struct Ranked<'a> {
    passages: Vec<(f64, &'a Passage)>,
    other_subjects: f64,
}

/// The title, the hints, and the sentences.
fn examples_of(passage: &Passage) -> Vec<&str> {
    let hints = passage.hints.split(',').map(str::trim);
    let blocks = passage.text.split('\n');
    let prose = blocks.filter(|line| !line.starts_with(Passage::CODE_INDENT));
    let title = std::iter::once(passage.title.as_str());
    let examples = title.chain(hints).chain(prose.flat_map(sentences));
    examples.filter(|text| !text.is_empty()).collect()
}

/// The questions of `data/assistant/`, each with the title that it stands under.
fn known_questions(language: Language) -> impl Iterator<Item = (&'static str, &'static str)> {
    let file = match language {
        Language::English => include_str!("../../../data/assistant/en.txt"),
        Language::German => include_str!("../../../data/assistant/de.txt"),
        Language::French => include_str!("../../../data/assistant/fr.txt"),
        Language::Spanish => include_str!("../../../data/assistant/es.txt"),
    };
    let mut title = "";
    file.lines()
        .filter_map(move |line| match line.strip_prefix("# ") {
            Some(heading) => {
                title = heading;
                None
            }
            None => (!line.is_empty()).then_some((title, line)),
        })
}
