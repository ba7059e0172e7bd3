//! The passages that readers of one language get, and how a question finds its passage.
//!
//! The service's own sections come with examples of questions: a classifier has learned from them, with the
//! sections as its classes and one class of questions about other subjects. What is more like those has no
//! answer there. The operator's pages have no such examples, and are found by their terms. Where both
//! answer, the one that covers more of the question does; of equals the operator's, if its title or its
//! hints name something that is asked.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::{AssistantTexts, Language, Passage};

use super::features::{Feature, Terms, features, own_letters, stems, words};
use super::naive_bayes::{NaiveBayes, float};
use super::own_index::OwnIndex;
use super::quotation::sentences;

// The first two are natural logarithms. They were chosen by cross-validation over the examples of
// `data/assistant/`: higher ones refuse more questions about other subjects, and more of the right ones.
// `tests/it/assistant_visitors.rs` checks them.

/// How much the sections lose against other subjects if none has a word of the question; less if they have
/// some of its words.
const UNKNOWN_PENALTY_MAX: f64 = 20.0;
/// How much likelier than other subjects an answer has to be: no answer is better than a wrong one.
const LOG_ODDS_MIN: f64 = 0.7;
/// What the question before counts, if the newest one is read with it.
const EARLIER_SHARE: f64 = 0.5;

/// The passages for readers of a language.
#[derive(Debug)]
pub(super) struct PassageIndex {
    language: Language,
    terms: Terms,
    /// All of them in their order.
    passages: Vec<Arc<Passage>>,
    /// The operator's.
    own: OwnIndex,
    /// The service's.
    sections: Vec<Arc<Passage>>,
    /// Its classes are the sections and, last, the other subjects.
    classifier: NaiveBayes,
}

impl PassageIndex {
    /// Those of `passages` that are for readers of the language of `texts`.
    pub(super) fn new(texts: &AssistantTexts, passages: &[Arc<Passage>]) -> Self {
        let language = texts.language;
        let is_for_them = |it: &&Arc<Passage>| it.language.is_none_or(|it| it == language);
        let passages: Vec<_> = passages.iter().filter(is_for_them).cloned().collect();
        let (own, sections): (Vec<_>, Vec<_>) = passages.iter().cloned().partition(|it| it.is_own);
        let of_sections = sections.iter().enumerate();
        let of_sections = of_sections.flat_map(|(class, section)| {
            let texts = section.prose().flat_map(sentences);
            texts.map(move |text| (class, text))
        });
        let others = texts.other_subjects.iter();
        let others = others.map(|question| (sections.len(), question.as_str()));
        let examples: Vec<_> = of_sections
            .chain(others)
            .map(|(class, text)| (class, features(language, text)))
            .collect();
        let terms = Terms::new(language, &texts.stop_words);
        Self {
            classifier: NaiveBayes::train(sections.len() + 1, &examples),
            own: OwnIndex::new(own.into_iter(), &terms),
            language,
            terms,
            passages,
            sections,
        }
    }

    /// The passages in their order; the first one introduces the others.
    pub(super) fn passages(&self) -> &[Arc<Passage>] {
        &self.passages
    }

    /// How much speaks for a question in this language: the words that are known here, and the letters that
    /// only it has.
    pub(super) fn evidence(&self, question: &str) -> usize {
        let known = words(question).filter(|word| self.is_known(word));
        known.count() + own_letters(self.language, question)
    }

    /// The words of `question` that are not known here.
    pub(super) fn unknown_words(&self, question: &str) -> String {
        let unknown = words(question).filter(|word| !self.is_known(word));
        unknown.collect::<Vec<_>>().join(" ")
    }

    fn is_known(&self, word: &str) -> bool {
        let stems = stems(self.language, word);
        let mut stems = stems.iter();
        stems.any(|stem| self.classes_with(stem).next().is_some() || self.own.has(stem))
    }

    fn classes_with(&self, stem: &str) -> impl Iterator<Item = usize> {
        self.classifier.classes_with(Feature::of_stem(stem))
    }

    /// The passage that answers `question`, which may be read with the one `before`. A title, as refusals
    /// offer them, is answered by its own passage.
    pub(super) fn best(&self, question: &str, before: &str) -> Option<&Passage> {
        words(question).next()?;
        let is_titled_so = |it: &&Arc<Passage>| words(&it.title).eq(words(question));
        if let Some(passage) = self.passages.iter().find(is_titled_so) {
            return Some(passage);
        }
        let section = self.best_section(question, before);
        let mut asked = self.terms.of(question);
        let own = self.own.best(&asked).or_else(|| {
            asked.extend(self.terms.of(before));
            self.own.best(&asked)
        });
        let Some((own_coverage, own)) = own else {
            return section.map(Arc::as_ref);
        };
        let Some(section) = section else {
            return Some(own);
        };
        let section_terms = self.terms.of_passage(section);
        let section_coverage = self.own.coverage(&asked, &section_terms);
        let is_topic = || !asked.is_disjoint(&self.terms.of_topics(own));
        let is_own_better = match own_coverage.total_cmp(&section_coverage) {
            Ordering::Greater => true,
            Ordering::Equal => is_topic(),
            Ordering::Less => false,
        };
        Some(if is_own_better { own } else { section })
    }

    fn best_section(&self, question: &str, before: &str) -> Option<&Arc<Passage>> {
        let (ranked, other_subjects) = self.ranked_sections(question, before);
        let stems = stems(self.language, question);
        let is_unknown = |stem: &&String| {
            let mut classes = self.classes_with(stem);
            classes.all(|class| class == self.sections.len())
        };
        let unknown_share =
            float(stems.iter().filter(is_unknown).count()) / float(stems.len()).max(1.0);
        let (log_likelihood, section) = ranked.first()?;
        let log_odds = log_likelihood - other_subjects - UNKNOWN_PENALTY_MAX * unknown_share;
        (log_odds > LOG_ODDS_MIN).then_some(*section)
    }

    /// The passages that come closest to `question`, whether they answer it or not.
    pub(super) fn closest(&self, question: &str, count: usize) -> Vec<&Passage> {
        let own = self.own.ranked(&self.terms.of(question));
        let (sections, _) = self.ranked_sections(question, "");
        let all = own.into_iter().chain(sections);
        all.map(|(_, passage)| &**passage).take(count).collect()
    }

    /// The sections with their log-likelihoods, the likeliest first, and the log-likelihood of other subjects.
    fn ranked_sections(&self, question: &str, before: &str) -> (Vec<(f64, &Arc<Passage>)>, f64) {
        let of_text = |text| {
            let features = features(self.language, text);
            self.classifier.log_likelihoods(&features)
        };
        let mut log_likelihoods = of_text(question);
        for (newest, before) in log_likelihoods.iter_mut().zip(of_text(before)) {
            *newest += EARLIER_SHARE * before;
        }
        let other_subjects = log_likelihoods.pop().unwrap_or_default();
        let mut sections: Vec<_> = log_likelihoods.into_iter().zip(&self.sections).collect();
        sections.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        (sections, other_subjects)
    }

    /// What `question` asks beside what the title of `passage` tells.
    pub(super) fn terms_beside_title(&self, question: &str, passage: &Passage) -> BTreeSet<String> {
        &self.terms.of(question) - &self.terms.of(&passage.title)
    }

    /// How many of the terms a sentence has.
    pub(super) fn count_in(&self, sentence: &str, terms: &BTreeSet<String>) -> usize {
        self.terms.of(sentence).intersection(terms).count()
    }
}
