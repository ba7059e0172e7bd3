//! The passages of the operator's own pages, found by the terms that they share with a question, or that mean the
//! same: there are no examples of questions to learn from.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::Passage;

use crate::adapters::model::search::naive_bayes::inverse_document_frequency;
use crate::adapters::model::search::terms::{Terms, Topic};

// Chosen on the pages of invented companies. Higher minimums refuse more of what the pages do not tell, and of what
// they tell in other words.

/// A passage must cover this share of a question to answer it.
const COVERAGE_MIN: f64 = 0.55;
/// The passage that answers must be this much better than any other, even one that does not cover enough: no answer is
/// better than a wrong one.
const LEAD_MIN: f64 = 1.1;
/// A passage that covers this much has the very words of the question, and answers even if others do.
const WHOLE: f64 = 0.99;
/// Factor for a passage whose title the question names.
const NAMED_FACTOR: f64 = 1.2;
/// Bonus of a term in title or hints, as a share of its weight.
const TITLE_BONUS: f64 = 0.8;
/// The share of its weight that a vague term keeps.
const VAGUE_SHARE: f64 = 0.3;
/// More terms of a question are not read.
const TERMS_MAX: usize = 40;

/// The passages, indexed, the beginnings of pages first.
#[derive(Debug)]
pub(super) struct OwnIndex(Vec<OwnPassage>);

#[derive(Debug)]
struct OwnPassage {
    passage: Arc<Passage>,
    /// Of its title without the hints.
    heading: BTreeSet<Topic>,
    /// Of title and hints. The name of its page is no title: the introduction would answer for its sections.
    title: Topic,
    /// Of title, text and hints.
    all: Topic,
}

/// A passage compared with a question.
struct Ranked<'a> {
    score: f64,
    /// The share of the question that it covers, 0 to 1.
    coverage: f64,
    own: &'a OwnPassage,
}

impl OwnIndex {
    pub(super) fn new(mut passages: Vec<Arc<Passage>>, terms: &Terms) -> Self {
        passages.sort_by_key(|passage| passage.title != passage.page);
        let indexed = |passage: Arc<Passage>| OwnPassage {
            heading: terms.asked(&passage.title),
            title: terms.topics(passage.topics().filter(|topic| *topic != passage.page)),
            all: terms.topics(passage.prose()),
            passage,
        };
        Self(passages.into_iter().map(indexed).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The passage that answers a question of these terms best, if one does, and true if no other answers it nearly as
    /// well. Only one that has the `focus` answers, if there is one.
    pub(super) fn best(
        &self,
        asked: &BTreeSet<Topic>,
        focus: Option<&Topic>,
    ) -> Option<(&Passage, bool)> {
        let has_focus = |own: &OwnPassage| {
            let means_it = |term: &&Topic| focus.is_some_and(|focus| term.has(focus));
            asked.iter().filter(means_it).all(|term| own.all.has(term))
        };
        let ranked = self.ranked(asked);
        let mut answers = ranked
            .iter()
            .filter(|answer| answer.coverage >= COVERAGE_MIN);
        let best = answers.find(|answer| has_focus(answer.own))?;
        // Of sections of a page with the same heading, the first answers.
        let is_same = |other: &Ranked<'_>| {
            let (ours, theirs) = (&best.own.passage, &other.own.passage);
            (&ours.page, &ours.title) == (&theirs.page, &theirs.title)
        };
        let is_behind = |other: &Ranked<'_>| is_same(other) || best.score >= LEAD_MIN * other.score;
        let is_clear = best.coverage > WHOLE || ranked.iter().all(is_behind);
        Some((&best.own.passage, is_clear))
    }

    /// The passages that have most of the asked terms first, then the beginnings of pages.
    pub(super) fn closest(&self, asked: &BTreeSet<Topic>) -> Vec<&Passage> {
        let ranked = self.ranked(asked).into_iter();
        ranked.map(|ranked| &*ranked.own.passage).collect()
    }

    fn ranked(&self, asked: &BTreeSet<Topic>) -> Vec<Ranked<'_>> {
        let asked = asked.iter().take(TERMS_MAX);
        let asked: Vec<_> = asked.map(|term| (term, self.weight(term))).collect();
        let ranked = self.0.iter().map(|own| own.ranked(&asked));
        let mut ranked: Vec<_> = ranked.collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        ranked
    }

    /// A term of few passages weighs more.
    fn weight(&self, term: &Topic) -> f64 {
        let having = self.0.iter().filter(|own| own.all.has(term));
        let weight = inverse_document_frequency(self.0.len(), having.count());
        if term.is_vague {
            weight * VAGUE_SHARE
        } else {
            weight
        }
    }
}

impl OwnPassage {
    /// Compares it with terms and their weights.
    fn ranked(&self, asked: &[(&Topic, f64)]) -> Ranked<'_> {
        let (mut whole, mut covered, mut bonus) = (0.0, 0.0, 0.0);
        for (term, weight) in asked {
            whole += weight;
            covered += weight * self.all.share(term);
            if self.title.has(term) {
                bonus += weight * TITLE_BONUS;
            }
        }
        let is_asked = |term: &Topic| asked.iter().any(|(asked, _)| asked.has(term));
        let is_named = !self.heading.is_empty() && self.heading.iter().all(is_asked);
        let factor = if is_named { NAMED_FACTOR } else { 1.0 };
        Ranked {
            score: factor * (covered + bonus),
            coverage: covered / f64::max(whole, 1.0),
            own: self,
        }
    }
}
