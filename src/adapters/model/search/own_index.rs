//! The passages of the operator's own pages, found by the terms that they share with a question, or that mean the
//! same: there are no examples of questions to learn from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::Passage;

use crate::adapters::model::search::features::{Feature, ngrams};
use crate::adapters::model::search::naive_bayes::{float, inverse_document_frequency};
use crate::adapters::model::search::terms::{Term, Terms, Topics};

// Chosen on the pages of invented companies. Higher minimums refuse more of what the pages do not tell, and of what
// they tell in other words.

/// How much of a question a passage must cover to answer it.
const COVERAGE_MIN: f64 = 0.55;
/// How much better than any other, whether that covers enough or not, the passage that answers must be: no answer is
/// better than a wrong one.
const LEAD_MIN: f64 = 1.1;
/// A passage that covers this much has the very words of the question, and answers even if others do.
const WHOLE: f64 = 0.99;
/// How much better a passage is whose title the question names.
const NAMED_FACTOR: f64 = 1.2;
/// What a term in title or hints adds to its weight when passages are ranked.
const TITLE_BONUS: f64 = 0.4;
/// What one adds that is mentioned again and again, at most.
const MENTIONS_BONUS: f64 = 0.4;
/// How much a passage has of a term, if it has a word that is spelled like it, or is a part of it.
const ALIKE_SHARE: f64 = 0.6;
/// What is left of the weight of a vague term.
const VAGUE_SHARE: f64 = 0.3;
/// How much of its n-grams a word shares with one that is spelled like it.
const OVERLAP_MIN: f64 = 0.75;
/// The length of these n-grams.
const TRIGRAM: usize = 3;
/// Shorter words are not compared by their n-grams, in letters.
const ALIKE_LEN_MIN: usize = 5;
/// More terms of a question are not read.
const TERMS_MAX: usize = 40;

/// The passages, indexed.
#[derive(Debug)]
pub(super) struct OwnIndex {
    passages: Vec<OwnPassage>,
    /// The stems of all passages, each with its trigrams.
    stems: BTreeMap<String, Vec<Feature>>,
}

#[derive(Debug)]
struct OwnPassage {
    passage: Arc<Passage>,
    /// Of its title without the hints.
    heading: BTreeSet<Term>,
    /// Of title and hints.
    title: Topics,
    /// Of title, text and hints.
    all: Topics,
}

/// The passage that answers a question best.
pub(super) struct Best<'a> {
    /// The share of the question that it covers, 0 to 1.
    pub(super) coverage: f64,
    pub(super) passage: &'a Arc<Passage>,
    /// Whether no other answers it nearly as well.
    pub(super) is_clear: bool,
}

/// A passage held against a question.
struct Ranked<'a> {
    score: f64,
    /// The share of the question that it covers, 0 to 1.
    coverage: f64,
    own: &'a OwnPassage,
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
            heading: terms.asked(&passage.title),
            // What stands before the sections is no more about the page's title than they are.
            title: terms.topics(passage.topics().filter(|it| *it != passage.page)),
            all: terms.topics(passage.prose()),
            passage,
        };
        let passages: Vec<_> = passages.map(indexed).collect();
        let stems = passages.iter().flat_map(|it| &it.all.stems);
        Self {
            stems: stems.map(|it| (it.clone(), ngrams(it, TRIGRAM))).collect(),
            passages,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.passages.is_empty()
    }

    /// Whether a passage has the stem.
    pub(super) fn has(&self, stem: &str) -> bool {
        self.stems.contains_key(stem)
    }

    /// The passage that answers a question of these terms best, if one does. Only one that has the `focus`
    /// does, if there is one.
    pub(super) fn best(&self, asked: &BTreeSet<Term>, focus: Option<&Term>) -> Option<Best<'_>> {
        let asked = self.weighted(asked);
        let lacks = |own: &OwnPassage, focus| {
            let mut meaning_it = asked.iter().filter(|it| it.term.means(focus));
            meaning_it.any(|it| own.share(it) == 0.0)
        };
        let is_answer = |it: &&Ranked<'_>| {
            it.coverage >= COVERAGE_MIN && !focus.is_some_and(|focus| lacks(it.own, focus))
        };
        let ranked = self.ranked(&asked);
        let best = ranked.iter().find(is_answer)?;
        let mut others = ranked.iter().filter(|it| !std::ptr::eq(*it, best));
        let is_behind = |it: &Ranked<'_>| best.score >= LEAD_MIN * it.score;
        Some(Best {
            coverage: best.coverage,
            passage: &best.own.passage,
            is_clear: best.coverage > WHOLE || others.all(is_behind),
        })
    }

    /// The passages that have most of the asked terms first, then what the pages begin with.
    pub(super) fn closest(&self, asked: &BTreeSet<Term>) -> Vec<&Arc<Passage>> {
        let ranked = self.ranked(&self.weighted(asked)).into_iter();
        ranked.map(|it| &it.own.passage).collect()
    }

    fn ranked(&self, asked: &[Asked<'_>]) -> Vec<Ranked<'_>> {
        let whole: f64 = asked.iter().map(|it| it.weight).sum();
        let ranked = self
            .passages
            .iter()
            .map(|it| it.ranked(asked, whole.max(1.0)));
        let mut ranked: Vec<_> = ranked.collect();
        let is_section = |it: &Ranked<'_>| it.own.passage.title != it.own.passage.page;
        ranked.sort_by(|a, b| {
            let by_score = b.score.total_cmp(&a.score);
            by_score.then_with(|| is_section(a).cmp(&is_section(b)))
        });
        ranked
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
            let mut asked = Asked {
                term,
                alike: Vec::new(),
                weight: 0.0,
            };
            let has = |it: &OwnPassage| it.all.share(term) > 0.0;
            if !self.passages.iter().any(has) {
                let of_term = ngrams(&term.stems, TRIGRAM);
                let stems = self.stems.iter();
                let alike = stems.filter(|(_, it)| overlap(it, &of_term) >= OVERLAP_MIN);
                asked.alike = alike.map(|(stem, _)| stem).collect();
            }
            let having = self.passages.iter().filter(|it| it.share(&asked) > 0.0);
            let having = having.count();
            asked.weight = inverse_document_frequency(self.passages.len(), having);
            if term.is_vague {
                asked.weight *= VAGUE_SHARE;
            }
            asked
        });
        weighted.collect()
    }
}

impl OwnPassage {
    /// Held against a question, whose terms weigh `whole` together.
    fn ranked(&self, asked: &[Asked<'_>], whole: f64) -> Ranked<'_> {
        let sum = |share: &dyn Fn(&Asked<'_>) -> f64| -> f64 {
            asked.iter().map(|it| it.weight * share(it)).sum()
        };
        let covered = sum(&|it| self.share(it));
        let score = covered + sum(&|it| self.bonus(it.term));
        let is_asked = |term| asked.iter().any(|it| it.term.means(term));
        let is_named = !self.heading.is_empty() && self.heading.iter().all(is_asked);
        let factor = if is_named { NAMED_FACTOR } else { 1.0 };
        Ranked {
            score: factor * score,
            coverage: covered / whole,
            own: self,
        }
    }

    /// What a term that this has adds beside its weight, as a share of it.
    fn bonus(&self, term: &Term) -> f64 {
        let is_titled = self.title.share(term) > 0.0;
        let mentions = float(self.all.mentions(term).max(1));
        MENTIONS_BONUS * (1.0 - 1.0 / mentions) + if is_titled { TITLE_BONUS } else { 0.0 }
    }

    /// How much of the term this has, 0 to 1.
    fn share(&self, asked: &Asked<'_>) -> f64 {
        let has = |stem: &&String| self.all.stems.contains(*stem);
        let share = self.all.share(asked.term);
        if share > 0.0 {
            share
        } else if asked.alike.iter().any(has) {
            ALIKE_SHARE
        } else {
            0.0
        }
    }
}

/// The share of the trigrams of the shorter word that the longer one has, 0 to 1; 0 if the shorter is too short to
/// tell.
fn overlap(a: &[Feature], b: &[Feature]) -> f64 {
    let (shorter, longer) = if a.len() < b.len() { (a, b) } else { (b, a) };
    // A word has as many trigrams as letters.
    if shorter.len() < ALIKE_LEN_MIN {
        return 0.0;
    }
    let shared = shorter.iter().filter(|it| longer.contains(it)).count();
    float(shared) / float(shorter.len())
}
