//! The embedded model: without network and weights, it looks the answer up in the service's pages.
//!
//! Passages are ranked by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework")
//! over stems and their synonyms. The score only ranks; whether there is an answer at all is decided
//! by how much of the question the best passage covers, rare terms weighing more: "capital of
//! France" must not be answered by a passage about capital letters.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;

use crate::domain::chat::Conversation;
use crate::domain::passage::Passage;
use crate::ports::{AnswerSink, ModelClient, ModelError};

use super::terms::{synonyms, terms};

/// A term of the title or the hints counts as often as this many in the text.
const HEADING_WEIGHT: f64 = 4.0;
/// A term of a code example counts as often as this many in the text.
const CODE_WEIGHT: f64 = 0.3;
/// What a title that is named whole adds to the score, as a share of it.
const TITLE_BONUS: f64 = 0.4;
/// The worth of a synonym; the term itself has 1.
const SYNONYM_WORTH: f64 = 0.8;
/// A question of at most this many terms is read together with the one before.
const FOLLOW_UP_TERMS_MAX: usize = 2;
/// BM25's k1: how fast repetitions of a term saturate.
const SATURATION: f64 = 1.2;
/// BM25's b: how much a passage is penalised for its length.
const LENGTH_PENALTY: f64 = 0.6;
/// How much of the question's weight a passage must cover to answer it.
const COVERAGE_MIN: f64 = 0.45;
/// The weight of a term that no passage has. It is below that of a rare term, as it may be just
/// another wording.
const UNKNOWN_WEIGHT: f64 = 2.0;
/// The share of its weight that a term has which no title or hint names.
const ASIDE_SHARE: f64 = 0.7;
/// Further terms of a question are ignored.
const QUESTION_TERMS_MAX: usize = 64;
/// Longer quotations are cut, in bytes.
const QUOTATION_LEN_MAX: usize = 1500;

/// Answers from the service's own pages.
#[derive(Debug)]
pub struct PassageModelClient {
    passages: Vec<IndexedPassage>,
    synonyms: Vec<Vec<String>>,
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

/// A term of the question.
#[derive(Debug)]
struct QueryTerm {
    /// The term and its synonyms, each with its worth.
    alternatives: Vec<(String, f64)>,
    weight: f64,
}

impl PassageModelClient {
    /// A model that knows `passages` and nothing else.
    pub fn new(passages: Vec<Passage>) -> Self {
        let passages: Vec<_> = passages.into_iter().map(IndexedPassage::new).collect();
        let length: f64 = passages.iter().map(|passage| passage.length).sum();
        Self {
            length_mean: (length / float(passages.len()).max(1.0)).max(1.0),
            passages,
            synonyms: synonyms(),
        }
    }

    fn answer(&self, conversation: &Conversation) -> String {
        let mut questions = conversation.questions();
        let newest = questions.next().unwrap_or_default();
        let mut asked = question_terms(newest);
        if asked.is_empty() {
            return self.welcome(newest);
        }
        if asked.len() <= FOLLOW_UP_TERMS_MAX {
            asked.extend(question_terms(questions.next().unwrap_or_default()));
        }
        let query: Vec<_> = asked
            .into_iter()
            .map(|term| self.query_term(term))
            .collect();
        match self.best(&query) {
            Some(passage) => quote(passage),
            None => format!(
                "The pages of this service do not answer that. {}",
                self.scope()
            ),
        }
    }

    fn query_term(&self, term: String) -> QueryTerm {
        let groups = self.synonyms.iter().filter(|group| group.contains(&term));
        let others = groups.flatten().filter(|other| **other != term);
        let mut alternatives: Vec<_> = others.map(|other| (other.clone(), SYNONYM_WORTH)).collect();
        alternatives.push((term, 1.0));
        QueryTerm {
            weight: self.weight(&alternatives),
            alternatives,
        }
    }

    /// BM25's inverse document frequency of the commonest alternative: a term is not rare because
    /// the pages word it differently.
    fn weight(&self, alternatives: &[(String, f64)]) -> f64 {
        let having = |term: &String| {
            let having = self
                .passages
                .iter()
                .filter(|it| it.counts.contains_key(term));
            having.count()
        };
        let having = alternatives.iter().map(|(term, _)| having(term)).max();
        let having = float(having.unwrap_or_default());
        if having == 0.0 {
            return UNKNOWN_WEIGHT;
        }
        let all = float(self.passages.len());
        let idf = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
        let mut terms = alternatives.iter().map(|(term, _)| term);
        if terms.any(|term| self.passages.iter().any(|it| it.topics.contains(term))) {
            idf
        } else {
            idf * ASIDE_SHARE
        }
    }

    /// The passage that answers best, if it covers enough of the question.
    fn best(&self, query: &[QueryTerm]) -> Option<&Passage> {
        let ranked = self
            .passages
            .iter()
            .map(|it| (self.rank(it, query), &it.passage));
        let ((_, coverage), passage) = ranked.max_by(|(a, _), (b, _)| a.0.total_cmp(&b.0))?;
        (coverage >= COVERAGE_MIN).then_some(passage)
    }

    /// The score of a passage, and the share of the question's weight that it covers, 0 to 1.
    fn rank(&self, it: &IndexedPassage, query: &[QueryTerm]) -> (f64, f64) {
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
                    worth_max = worth_max.max(*worth);
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
        (
            score * coverage * (1.0 + TITLE_BONUS * title_share),
            coverage,
        )
    }

    /// The answer to a question of stop words alone, such as "what is this?": the first passage,
    /// which introduces the others. A question without a word gets a question back.
    fn welcome(&self, question: &str) -> String {
        let has_words = question.chars().any(char::is_alphanumeric);
        match self.passages.first() {
            Some(first) if has_words => quote(&first.passage),
            Some(_) | None => format!("What would you like to know? {}", self.scope()),
        }
    }

    /// What the pages are about.
    fn scope(&self) -> String {
        let Some(first) = self.passages.first() else {
            return "There are no pages yet.".to_owned();
        };
        let titles = self.passages.iter().map(|it| it.passage.title.as_str());
        let titles = titles.collect::<Vec<_>>().join("; ");
        let page = first.passage.url.split('#').next().unwrap_or_default();
        format!("They cover: {titles}.\n\nAll of it: {page}")
    }
}

#[async_trait]
impl ModelClient for PassageModelClient {
    fn is_metered(&self) -> bool {
        false
    }

    async fn reply(
        &self,
        conversation: &Conversation,
        sink: &dyn AnswerSink,
    ) -> Result<String, ModelError> {
        let answer = self.answer(conversation);
        for paragraph in answer.split_inclusive("\n\n") {
            sink.push(paragraph).await?;
        }
        Ok(answer)
    }
}

impl IndexedPassage {
    fn new(passage: Passage) -> Self {
        let title = terms(&passage.title);
        let topics = [title.clone(), terms(&passage.hints)].concat();
        let mut counts: BTreeMap<_, f64> = BTreeMap::new();
        for term in &topics {
            *counts.entry(term.clone()).or_default() += HEADING_WEIGHT;
        }
        for line in passage.text.lines() {
            let is_code = line.starts_with(Passage::CODE_INDENT);
            for term in terms(line) {
                *counts.entry(term).or_default() += if is_code { CODE_WEIGHT } else { 1.0 };
            }
        }
        Self {
            title: title.into_iter().collect(),
            topics: topics.into_iter().collect(),
            length: counts.values().sum(),
            counts,
            passage,
        }
    }
}

fn question_terms(question: &str) -> BTreeSet<String> {
    let terms = terms(question).into_iter();
    terms.take(QUESTION_TERMS_MAX).collect()
}

fn quote(passage: &Passage) -> String {
    let text = cut(&passage.text);
    format!("{}\n\n{text}\n\nMore: {}", passage.title, passage.url)
}

/// The blocks of `text` that fit, at least one. Prose that does not fit ends with a sentence, code
/// before the block.
fn cut(text: &str) -> String {
    let mut quotation = String::new();
    for block in text.split("\n\n") {
        let room = QUOTATION_LEN_MAX.saturating_sub(quotation.len());
        if !quotation.is_empty() {
            quotation.push_str("\n\n");
        }
        if block.len() <= room {
            quotation.push_str(block);
            continue;
        }
        if !block.starts_with(Passage::CODE_INDENT) {
            quotation.push_str(sentences_within(block, room));
        }
        break;
    }
    quotation.trim_end().to_owned()
}

/// The whole sentences of `prose` within `room` bytes; whole words if no sentence fits.
fn sentences_within(prose: &str, room: usize) -> &str {
    let is_boundary = |at: &usize| prose.is_char_boundary(*at);
    let end = (0..=room).rev().find(is_boundary).unwrap_or_default();
    let head = prose.get(..end).unwrap_or_default();
    let sentence = head.rfind(". ").map(|stop| stop + 1);
    let end = sentence.or_else(|| head.rfind(' ')).unwrap_or(end);
    head.get(..end).unwrap_or_default()
}

/// A small number, for arithmetic on scores.
fn float(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_passage_ends_with_a_whole_sentence() {
        let sentence = "Ein Satz mit Ümläuten und 🍕. ";
        let text = sentence.repeat(100);
        let quotation = cut(text.trim_end());
        assert!(quotation.ends_with("🍕."));
        assert!(quotation.len() <= QUOTATION_LEN_MAX);
        assert!(quotation.len() > QUOTATION_LEN_MAX - sentence.len());
    }

    #[test]
    fn code_is_quoted_whole_or_not_at_all() {
        let code = format!("{}curl x\n", Passage::CODE_INDENT).repeat(200);
        assert_eq!(cut(&format!("First.\n\n{code}")), "First.");
        let short = format!("First.\n\n{}curl x\n\nLast.", Passage::CODE_INDENT);
        assert_eq!(cut(&short), short);
    }

    #[test]
    fn one_endless_word_is_cut_too() {
        assert_eq!(cut(&"é".repeat(2000)).len(), QUOTATION_LEN_MAX);
        assert_eq!(cut(""), "");
    }
}
