//! The passages of the operator's own pages, found by the terms that they share with a question, or that mean the
//! same: there are no examples of questions to learn from.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::Passage;

use super::features::BORDER;
use super::naive_bayes::{float, inverse_document_frequency};
use super::terms::{Term, Terms, Topics};

/// How much of a question a passage must cover to answer it.
const COVERAGE_MIN: f64 = 0.5;
/// What a term in title or hints adds to its weight when passages are ranked.
const TITLE_BONUS: f64 = 0.4;
/// How much a passage has of a term, if it has a word that is spelled like it, or is a part of it.
const ALIKE_SHARE: f64 = 0.6;
/// The same, if only the title of its page has it.
const PAGE_SHARE: f64 = 0.5;
/// What is left of the weight of a vague term.
const VAGUE_SHARE: f64 = 0.3;
/// How much of its n-grams a word shares with one that is spelled like it.
const OVERLAP_MIN: f64 = 0.75;
/// Shorter words are not compared by their n-grams, in letters.
const ALIKE_LEN_MIN: usize = 5;
/// More terms of a question are not read.
const TERMS_MAX: usize = 40;

/// The passages, indexed.
#[derive(Debug)]
pub(super) struct OwnIndex {
    passages: Vec<OwnPassage>,
    stems: BTreeSet<String>,
}

#[derive(Debug)]
struct OwnPassage {
    passage: Arc<Passage>,
    /// Of the title of its page.
    page: Topics,
    /// Of title and hints.
    title: Topics,
    /// Of title, text and hints.
    all: Topics,
}

/// What is asked, held against the passages.
struct Asked<'a> {
    term: &'a Term,
    /// Stems of the passages that are spelled like it.
    alike: Vec<&'a String>,
    weight: f64,
}

impl OwnIndex {
    pub(super) fn new(passages: impl Iterator<Item = Arc<Passage>>, terms: &Terms) -> Self {
        let indexed = |passage: Arc<Passage>| OwnPassage {
            page: terms.topics([passage.page.as_str()]),
            // What stands before the sections is no more about the page's title than they are.
            title: terms.topics(passage.topics().filter(|it| *it != passage.page)),
            all: terms.topics(passage.prose()),
            passage,
        };
        let passages: Vec<_> = passages.map(indexed).collect();
        let stems = passages.iter().flat_map(|it| &it.all.stems);
        Self {
            stems: stems.cloned().collect(),
            passages,
        }
    }

    /// Whether a passage has the stem.
    pub(super) fn has(&self, stem: &str) -> bool {
        self.stems.contains(stem)
    }

    /// The passage that answers a question of these terms, if one does, with the share that it covers.
    pub(super) fn best(&self, asked: &BTreeSet<Term>) -> Option<(f64, &Arc<Passage>)> {
        let mut ranked = self.ranked(asked).into_iter();
        ranked.find(|(coverage, _)| *coverage >= COVERAGE_MIN)
    }

    /// The passages that have some of the asked terms, best first, each with the share that it covers.
    pub(super) fn ranked(&self, asked: &BTreeSet<Term>) -> Vec<(f64, &Arc<Passage>)> {
        let asked = self.weighted(asked);
        let whole: f64 = asked.iter().map(|it| it.weight).sum();
        let passages = self.passages.iter().map(|it| {
            let covered: f64 = asked
                .iter()
                .map(|asked| asked.weight * it.share(asked))
                .sum();
            let titled = asked
                .iter()
                .filter(|asked| it.title.share(asked.term) > 0.0);
            let bonus: f64 = titled.map(|asked| asked.weight * TITLE_BONUS).sum();
            (covered + bonus, covered / whole.max(1.0), &it.passage)
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

    /// The share of the asked terms that are among `topics`, 0 to 1.
    pub(super) fn coverage(&self, asked: &BTreeSet<Term>, topics: &Topics) -> f64 {
        let asked = self.weighted(asked);
        let whole: f64 = asked.iter().map(|it| it.weight).sum();
        let covered = asked.iter().map(|it| it.weight * topics.share(it.term));
        covered.sum::<f64>() / whole.max(1.0)
    }

    /// The terms with their weights: one of few passages weighs more.
    fn weighted<'a>(&'a self, asked: &'a BTreeSet<Term>) -> Vec<Asked<'a>> {
        let weighted = asked.iter().take(TERMS_MAX).map(|term| {
            let is_spelled_so = |it: &&String| ngram_overlap(it, &term.stems) >= OVERLAP_MIN;
            let mut asked = Asked {
                term,
                alike: Vec::new(),
                weight: 0.0,
            };
            let has = |it: &OwnPassage| it.all.share(term) > 0.0;
            if !self.passages.iter().any(has) {
                asked.alike = self.stems.iter().filter(is_spelled_so).collect();
            }
            let having = self.passages.iter().filter(|it| it.share(&asked) > 0.0);
            asked.weight = inverse_document_frequency(self.passages.len(), having.count());
            if term.is_vague {
                asked.weight *= VAGUE_SHARE;
            }
            asked
        });
        weighted.collect()
    }
}

impl OwnPassage {
    /// How much of the term this has, 0 to 1.
    fn share(&self, asked: &Asked<'_>) -> f64 {
        let has = |stem: &&String| self.all.stems.contains(*stem);
        let share = self.all.share(asked.term);
        if share > 0.0 {
            share
        } else if asked.alike.iter().any(has) {
            ALIKE_SHARE
        } else if self.page.share(asked.term) > 0.0 {
            PAGE_SHARE
        } else {
            0.0
        }
    }
}

/// The share of the n-grams of the shorter word that the longer one has, 0 to 1; 0 if the shorter is too short to
/// tell.
fn ngram_overlap(a: &str, b: &str) -> f64 {
    let (shorter, longer) = if a.len() < b.len() { (a, b) } else { (b, a) };
    if shorter.chars().count() < ALIKE_LEN_MIN {
        return 0.0;
    }
    let trigrams = |word: &str| {
        let letters = std::iter::once(BORDER).chain(word.chars());
        let letters: Vec<_> = letters.chain([BORDER]).collect();
        letters.windows(3).map(<[char]>::to_vec).collect::<Vec<_>>()
    };
    let (shorter, longer) = (trigrams(shorter), trigrams(longer));
    let shared = shorter.iter().filter(|it| longer.contains(it)).count();
    float(shared) / float(shorter.len())
}
