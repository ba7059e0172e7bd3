//! The passages that readers of one language get, ranked.
//!
//! They are ranked by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework") over stems
//! and their synonyms. The score only ranks; whether there is an answer at all is decided by how much of
//! the question the best passage covers, rare terms weighing more: "capital of France" must not be
//! answered by a passage about capital letters.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::language::Language;
use crate::domain::passage::Passage;

use super::lexicon::Lexicon;

/// A term of the title or the hints counts as often as this many in the text.
const HEADING_WEIGHT: f64 = 4.0;
/// A term of a code example counts as often as this many in the text.
const CODE_WEIGHT: f64 = 0.3;
/// What a title that is named whole adds to the score, as a share of it.
const TITLE_BONUS: f64 = 0.4;
/// The worth of a synonym; the term itself has 1.
const SYNONYM_WORTH: f64 = 0.8;
/// The worth of a term that is spelt almost alike, or that a longer word holds.
const LIKENESS_WORTH: f64 = 0.7;
/// Shorter terms are like too many others, in bytes.
const LIKENESS_LEN_MIN: usize = 6;
/// BM25's k1: how fast repetitions of a term saturate.
const SATURATION: f64 = 1.2;
/// BM25's b: how much a passage is penalised for its length.
const LENGTH_PENALTY: f64 = 0.6;
/// How much of the question's weight a passage must cover to answer it.
const COVERAGE_MIN: f64 = 0.55;
/// What a passage covers of a term that it names neither in its title nor in its hints.
const ASIDE_SHARE: f64 = 0.8;
/// The share of its weight that a term of the question before has.
const EARLIER_SHARE: f64 = 0.5;
/// Further terms of a question are ignored.
const QUESTION_TERMS_MAX: usize = 64;

/// The passages for readers of a language.
#[derive(Debug)]
pub(super) struct PassageIndex {
    pub(super) lexicon: Lexicon,
    passages: Vec<IndexedPassage>,
    /// Those of all passages.
    topics: BTreeSet<String>,
    length_mean: f64,
}

#[derive(Debug)]
struct IndexedPassage {
    passage: Passage,
    title: BTreeSet<String>,
    /// The terms of title and hints.
    topics: BTreeSet<String>,
    /// The weighted number of occurrences of each term.
    counts: BTreeMap<String, f64>,
    /// The sum of the counts.
    length: f64,
}

/// A question, as it is looked up.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<QueryTerm>);

/// A term of the question.
#[derive(Debug)]
struct QueryTerm {
    /// The term and others like it, each with its worth.
    alternatives: Vec<(String, f64)>,
    weight: f64,
}

/// How well a passage suits a question.
#[derive(Clone, Copy, Debug)]
struct Rank {
    score: f64,
    /// The share of the question's weight that the passage covers, 0 to 1.
    coverage: f64,
}

impl PassageIndex {
    /// Those of `passages` that are for readers of `language`.
    pub(super) fn new(language: Language, passages: &[Passage]) -> Self {
        let lexicon = Lexicon::of(language);
        let is_for_them = |it: &&Passage| it.language.is_none_or(|it| it == language);
        let passages = passages.iter().filter(is_for_them);
        let passages: Vec<_> = passages
            .map(|passage| IndexedPassage::new(&lexicon, passage))
            .collect();
        let length: f64 = passages.iter().map(|passage| passage.length).sum();
        Self {
            topics: passages.iter().flat_map(|it| it.topics.clone()).collect(),
            lexicon,
            length_mean: (length / float(passages.len()).max(1.0)).max(1.0),
            passages,
        }
    }

    /// The passages in their order; the first one introduces the others.
    pub(super) fn passages(&self) -> impl Iterator<Item = &Passage> {
        self.passages.iter().map(|it| &it.passage)
    }

    /// The terms of a question, each once.
    pub(super) fn question_terms(&self, question: &str) -> BTreeSet<String> {
        let terms = self.lexicon.terms(question).into_iter();
        terms.take(QUESTION_TERMS_MAX).collect()
    }

    /// How much speaks for a question in this language: the words that its readers' pages or its own
    /// lists have, and the letters that only it has.
    pub(super) fn evidence(&self, question: &str) -> usize {
        let terms = self.question_terms(question);
        let is_unknown = |term: &&String| self.having(term) == 0 && self.alike(term).is_empty();
        let unknown = terms.iter().filter(is_unknown).count();
        let words = Lexicon::words(question).count();
        words.saturating_sub(unknown) + self.lexicon.own_letters(question)
    }

    /// The question of the terms `asked`, about the subject of the `earlier` ones.
    pub(super) fn query(&self, asked: &BTreeSet<String>, earlier: &BTreeSet<String>) -> Query {
        let asked_now = asked.iter().map(|term| self.query_term(term, 1.0));
        let earlier = earlier.difference(asked);
        let earlier = earlier.map(|term| self.query_term(term, EARLIER_SHARE));
        Query(asked_now.chain(earlier).collect())
    }

    fn query_term(&self, term: &str, share: f64) -> QueryTerm {
        let synonyms = self.lexicon.synonyms(term).cloned();
        let mut alternatives: Vec<_> = synonyms.map(|other| (other, SYNONYM_WORTH)).collect();
        alternatives.push((term.to_owned(), 1.0));
        if alternatives.iter().all(|(term, _)| self.having(term) == 0) {
            alternatives.extend(self.alike(term));
        }
        QueryTerm {
            weight: self.weight(&alternatives) * share,
            alternatives,
        }
    }

    /// The topics that an unknown term may mean: spelt with one mistake, or joined with another word.
    fn alike(&self, term: &str) -> Vec<(String, f64)> {
        let is_alike = |topic: &&String| {
            let is_long = topic.len() >= LIKENESS_LEN_MIN;
            let is_part = self.lexicon.joins_words() && term.contains(topic.as_str());
            let begins_alike = topic.chars().next() == term.chars().next();
            // One letter has up to four bytes.
            let is_as_long = topic.len().abs_diff(term.len()) <= 4;
            let is_misspelt =
                || begins_alike && is_as_long && strsim::osa_distance(topic, term) == 1;
            is_long && (is_part || is_misspelt())
        };
        let topics = self.topics.iter().filter(is_alike);
        topics.map(|it| (it.clone(), LIKENESS_WORTH)).collect()
    }

    /// The number of passages that have `term`.
    fn having(&self, term: &str) -> usize {
        let having = self.passages.iter();
        having.filter(|it| it.counts.contains_key(term)).count()
    }

    /// BM25's inverse document frequency of the commonest alternative: a term is not rare because
    /// the pages word it differently.
    fn weight(&self, alternatives: &[(String, f64)]) -> f64 {
        let having = alternatives.iter().map(|(term, _)| self.having(term)).max();
        let having = float(having.unwrap_or_default());
        let all = float(self.passages.len());
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }

    /// The passage that answers best, if it covers enough of the question.
    pub(super) fn best(&self, query: &Query) -> Option<&Passage> {
        let mut ranked = self.ranked(query).into_iter();
        let (_, passage) = ranked.find(|(rank, _)| rank.coverage >= COVERAGE_MIN)?;
        Some(passage)
    }

    /// The passages that come closest to the question, whether they answer it or not.
    pub(super) fn closest(&self, query: &Query, count: usize) -> Vec<&Passage> {
        let ranked = self.ranked(query).into_iter();
        ranked.map(|(_, passage)| passage).take(count).collect()
    }

    /// The passages, best first; equal ones in their order.
    fn ranked(&self, query: &Query) -> Vec<(Rank, &Passage)> {
        let rank = |it| (self.rank(it, query), &it.passage);
        let mut ranked: Vec<_> = self.passages.iter().map(rank).collect();
        ranked.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score));
        ranked
    }

    fn rank(&self, it: &IndexedPassage, Query(query): &Query) -> Rank {
        let length = 1.0 - LENGTH_PENALTY + LENGTH_PENALTY * it.length / self.length_mean;
        let (mut score, mut covered, mut whole) = (0.0, 0.0, 0.0);
        for QueryTerm {
            alternatives,
            weight,
        } in query
        {
            let (mut frequency, mut worth_max) = (0.0, 0.0_f64);
            for (term, worth) in alternatives {
                if let Some(count) = it.counts.get(term) {
                    frequency += worth * count;
                    let is_aside = !it.topics.contains(term);
                    let share = if is_aside { ASIDE_SHARE } else { 1.0 };
                    worth_max = worth_max.max(worth * share);
                }
            }
            score += weight * frequency / (frequency + SATURATION * length);
            covered += weight * worth_max;
            whole += weight;
        }
        let named = |term: &String| {
            let alternatives = query.iter().flat_map(|asked| &asked.alternatives);
            let worths = alternatives.filter(|(other, _)| other == term);
            worths.map(|(_, worth)| *worth).fold(0.0, f64::max)
        };
        let named: f64 = it.title.iter().map(named).sum();
        let title_share = named / float(it.title.len()).max(1.0);
        let coverage = covered / f64::max(whole, f64::MIN_POSITIVE);
        Rank {
            score: score * coverage * (1.0 + TITLE_BONUS * title_share),
            coverage,
        }
    }

    /// How much of the question `text` names, in its weight; what `title` names needs no naming.
    pub(super) fn named_in(&self, text: &str, title: &str, Query(query): &Query) -> f64 {
        let title = self.lexicon.terms(title);
        let terms = self.lexicon.terms(text);
        let worth = |asked: &QueryTerm| {
            let has = |terms: &[String], term| terms.contains(term);
            let alternatives = asked.alternatives.iter();
            if alternatives.clone().any(|(term, _)| has(&title, term)) {
                return 0.0;
            }
            let named = alternatives.filter(|(term, _)| has(&terms, term));
            asked.weight * named.map(|(_, worth)| *worth).fold(0.0, f64::max)
        };
        query.iter().map(worth).sum()
    }
}

impl IndexedPassage {
    fn new(lexicon: &Lexicon, passage: &Passage) -> Self {
        let title = lexicon.terms(&passage.title);
        // A hint ends at its comma: no pair of words reaches into the next.
        let hints = passage.hints.split(',');
        let hints = hints.flat_map(|hint| lexicon.terms(hint));
        let topics: Vec<_> = title.iter().cloned().chain(hints).collect();
        let mut counts: BTreeMap<_, f64> = BTreeMap::new();
        for term in &topics {
            *counts.entry(term.clone()).or_default() += HEADING_WEIGHT;
        }
        for line in passage.text.lines() {
            let is_code = line.starts_with(Passage::CODE_INDENT);
            for term in lexicon.terms(line) {
                *counts.entry(term).or_default() += if is_code { CODE_WEIGHT } else { 1.0 };
            }
        }
        Self {
            title: title.into_iter().collect(),
            topics: topics.into_iter().collect(),
            length: counts.values().sum(),
            counts,
            passage: passage.clone(),
        }
    }
}

/// A small number, for arithmetic on scores.
fn float(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
