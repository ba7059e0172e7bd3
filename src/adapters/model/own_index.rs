//! The passages of the operator's own pages, found by the terms that they share with a question: there are no
//! examples of questions to learn from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::Passage;

use super::features::Terms;
use super::naive_bayes::{float, inverse_document_frequency};

/// How much of a question a passage must cover to answer it.
const COVERAGE_MIN: f64 = 0.55;
/// What a title that is named whole adds to the coverage when passages are ranked.
const TITLE_BONUS: f64 = 0.4;

/// The passages, indexed.
#[derive(Debug)]
pub(super) struct OwnIndex {
    passages: Vec<OwnPassage>,
    /// In how many passages each term is.
    document_frequencies: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct OwnPassage {
    passage: Arc<Passage>,
    title: BTreeSet<String>,
    /// The terms of title, text and examples.
    all: BTreeSet<String>,
}

impl OwnIndex {
    pub(super) fn new(passages: impl Iterator<Item = Arc<Passage>>, terms: &Terms) -> Self {
        let indexed = |passage: Arc<Passage>| OwnPassage {
            title: terms.of(&passage.title),
            all: terms.of_passage(&passage),
            passage,
        };
        let passages: Vec<_> = passages.map(indexed).collect();
        let mut document_frequencies: BTreeMap<_, usize> = BTreeMap::new();
        for term in passages.iter().flat_map(|it| &it.all) {
            *document_frequencies.entry(term.clone()).or_default() += 1;
        }
        Self {
            passages,
            document_frequencies,
        }
    }

    /// Whether a passage has the term.
    pub(super) fn has(&self, term: &str) -> bool {
        self.document_frequencies.contains_key(term)
    }

    /// The passage that answers a question of these terms, if one does, with the share that it covers.
    pub(super) fn best(&self, asked: &BTreeSet<String>) -> Option<(f64, &Arc<Passage>)> {
        let best = self.ranked(asked).into_iter().next();
        best.filter(|(coverage, _)| *coverage >= COVERAGE_MIN)
    }

    /// The passages that have some of the asked terms, best first, each with the share that it covers.
    pub(super) fn ranked(&self, asked: &BTreeSet<String>) -> Vec<(f64, &Arc<Passage>)> {
        let passages = self.passages.iter().map(|it| {
            let named = float(it.title.intersection(asked).count());
            let title_share = named / float(it.title.len()).max(1.0);
            let coverage = self.coverage(asked, &it.all);
            (coverage + TITLE_BONUS * title_share, coverage, &it.passage)
        });
        let mut passages: Vec<_> = passages
            .filter(|(_, coverage, _)| *coverage > 0.0)
            .collect();
        passages.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        let passages = passages.into_iter();
        passages
            .map(|(_, coverage, passage)| (coverage, passage))
            .collect()
    }

    /// The share of the asked terms that are among `terms`, 0 to 1. A term of few passages weighs more.
    pub(super) fn coverage(&self, asked: &BTreeSet<String>, terms: &BTreeSet<String>) -> f64 {
        let idf = |term: &String| {
            let frequency = self.document_frequencies.get(term).copied();
            inverse_document_frequency(self.passages.len(), frequency.unwrap_or_default())
        };
        let whole: f64 = asked.iter().map(idf).sum();
        let covered: f64 = asked.intersection(terms).map(idf).sum();
        covered / whole.max(1.0)
    }
}
