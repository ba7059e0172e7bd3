//! A model without a network and without weights: it looks the answer up in the service's pages.
//!
//! Passages are ranked by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework")
//! over stems, a word of the title or the hints counting as several. The score only ranks; whether
//! there is an answer at all is decided by how much of the question the best passage covers, rare
//! words weighing more: "capital of France" must not be answered by a passage about capital
//! letters.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;

use crate::domain::chat::Conversation;
use crate::domain::passage::Passage;
use crate::ports::{AnswerSink, ModelClient, ModelError};

use super::terms::{synonyms, terms};

/// A word of a title counts as so many in the text.
const TITLE_WEIGHT: f64 = 3.0;
/// A word of the hints counts as so many in the text.
const HINT_WEIGHT: f64 = 4.0;
/// A word of a code example counts as so many in the text.
const CODE_WEIGHT: f64 = 0.3;
/// What a question that names the whole title adds to the score, as a share of it.
const TITLE_BONUS: f64 = 0.4;
/// What a synonym is worth beside the word itself.
const SYNONYM_WEIGHT: f64 = 0.8;
/// What a word of the question before is worth beside one of the question itself.
const CONTEXT_WEIGHT: f64 = 0.4;
/// A question of at most so many terms is taken as a follow-up.
const FOLLOW_UP_TERMS_MAX: usize = 2;
/// BM25: how soon more of the same word stops mattering.
const SATURATION: f64 = 1.2;
/// BM25: how much a long passage is held against it.
const LENGTH_PENALTY: f64 = 0.6;
/// How much of the question's weight a passage must cover to be its answer.
const COVERAGE_MIN: f64 = 0.45;
/// What a word that the pages do not know weighs. Less than a rare word of theirs: it may be just
/// another way of asking.
const UNKNOWN_RARITY: f64 = 2.0;
/// What a word that the pages use, but that no title or hint names, weighs beside one that does.
const ASIDE_SHARE: f64 = 0.7;
/// More terms of one question are not looked at.
const QUESTION_TERMS_MAX: usize = 64;
/// Longer quotations are cut, in bytes.
const QUOTATION_LEN_MAX: usize = 1500;

/// Answers from the service's own pages.
#[derive(Debug)]
pub struct PassageModelClient {
    passages: Vec<Indexed>,
    /// In how many passages a term stands.
    spread: BTreeMap<String, f64>,
    /// The terms of all titles and hints.
    topics: BTreeSet<String>,
    synonyms: Vec<Vec<String>>,
    length_mean: f64,
}

#[derive(Debug)]
struct Indexed {
    passage: Passage,
    title: BTreeSet<String>,
    /// How often a term stands here, in the title several times over.
    counts: BTreeMap<String, f64>,
    /// All of the counts.
    length: f64,
}

/// A term of the question.
#[derive(Debug)]
struct Asked {
    /// The term itself and what else may stand for it, each with its worth.
    alternatives: Vec<(String, f64)>,
    /// What finding it is worth.
    weight: f64,
}

impl PassageModelClient {
    /// A model that knows `passages` and nothing else.
    #[must_use]
    pub fn new(passages: Vec<Passage>) -> Self {
        let passages: Vec<Indexed> = passages.into_iter().map(Indexed::new).collect();
        let mut spread = BTreeMap::new();
        for term in passages.iter().flat_map(|passage| passage.counts.keys()) {
            *spread.entry(term.clone()).or_default() += 1.0;
        }
        let topics = passages
            .iter()
            .flat_map(|indexed| [&indexed.passage.title, &indexed.passage.hints])
            .flat_map(|text| terms(text))
            .collect();
        let length_sum: f64 = passages.iter().map(|passage| passage.length).sum();
        Self {
            length_mean: (length_sum / count(passages.len()).max(1.0)).max(1.0),
            passages,
            spread,
            topics,
            synonyms: synonyms(),
        }
    }

    fn answer(&self, conversation: &Conversation) -> String {
        let mut questions = conversation.questions();
        let newest = questions.next().unwrap_or_default();
        let question = question_terms(newest);
        if question.is_empty() {
            return self.welcome(newest);
        }
        let context = if question.len() <= FOLLOW_UP_TERMS_MAX {
            question_terms(questions.next().unwrap_or_default())
        } else {
            BTreeSet::new()
        };
        let context = context.difference(&question);
        let asked: Vec<Asked> = question
            .iter()
            .map(|term| self.asked(term, 1.0))
            .chain(context.map(|term| self.asked(term, CONTEXT_WEIGHT)))
            .collect();
        match self.best(&asked) {
            Some(passage) => quote(passage),
            None => format!("The pages of this service do not tell. {}", self.scope()),
        }
    }

    fn asked(&self, term: &str, share: f64) -> Asked {
        let mut alternatives = vec![(term.to_owned(), 1.0)];
        for group in &self.synonyms {
            if group.iter().any(|member| member == term) {
                let others = group.iter().filter(|member| *member != term);
                alternatives.extend(others.map(|other| (other.clone(), SYNONYM_WEIGHT)));
            }
        }
        Asked {
            weight: share * self.rarity(&alternatives),
            alternatives,
        }
    }

    /// BM25's inverse document frequency, of the commonest of `alternatives`: a word is not rare
    /// only because the pages say it otherwise.
    fn rarity(&self, alternatives: &[(String, f64)]) -> f64 {
        let spread = alternatives
            .iter()
            .filter_map(|(term, _)| self.spread.get(term))
            .fold(0.0, |most, spread| spread.max(most));
        if spread == 0.0 {
            return UNKNOWN_RARITY;
        }
        let all = count(self.passages.len());
        let rarity = (1.0 + (all - spread + 0.5) / (spread + 0.5)).ln();
        let is_topic = alternatives
            .iter()
            .any(|(term, _)| self.topics.contains(term));
        if is_topic {
            rarity
        } else {
            rarity * ASIDE_SHARE
        }
    }

    /// The passage that answers best; nothing if none covers enough of the question.
    fn best(&self, question: &[Asked]) -> Option<&Passage> {
        let (_, coverage, passage) = self
            .passages
            .iter()
            .map(|passage| {
                let (score, coverage) = self.rank(passage, question);
                (score, coverage, &passage.passage)
            })
            .max_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
        (coverage >= COVERAGE_MIN).then_some(passage)
    }

    /// The score of `passage`, and the share of the question's weight that it covers, 0 to 1.
    fn rank(&self, passage: &Indexed, question: &[Asked]) -> (f64, f64) {
        let length_factor =
            1.0 - LENGTH_PENALTY + LENGTH_PENALTY * passage.length / self.length_mean;
        let (mut score, mut covered, mut whole) = (0.0, 0.0, 0.0);
        let mut title_named = BTreeMap::new();
        for asked in question {
            let (mut found, mut likeness) = (0.0, 0.0_f64);
            for (term, worth) in &asked.alternatives {
                if let Some(count) = passage.counts.get(term) {
                    found += worth * count;
                    likeness = likeness.max(*worth);
                }
                if passage.title.contains(term) {
                    let named: &mut f64 = title_named.entry(term).or_default();
                    *named = named.max(*worth);
                }
            }
            score += asked.weight * found / (found + SATURATION * length_factor);
            covered += asked.weight * likeness;
            whole += asked.weight;
        }
        let coverage = covered / f64::max(whole, f64::MIN_POSITIVE);
        let title_share = title_named.values().sum::<f64>() / count(passage.title.len()).max(1.0);
        score *= coverage * (1.0 + TITLE_BONUS * title_share);
        (score, coverage)
    }

    /// The answer to a question about nothing in particular. The first passage introduces the rest:
    /// "what is this?" has only stop words. Without a word there is nothing to answer.
    fn welcome(&self, question: &str) -> String {
        let has_words = question.chars().any(char::is_alphanumeric);
        match self.passages.first() {
            Some(first) if has_words => quote(&first.passage),
            Some(_) | None => format!("What would you like to know? {}", self.scope()),
        }
    }

    /// What there is to ask about.
    fn scope(&self) -> String {
        let titles: Vec<&str> = self
            .passages
            .iter()
            .map(|indexed| indexed.passage.title.as_str())
            .collect();
        let Some(first) = self.passages.first() else {
            return "There are no pages yet.".to_owned();
        };
        let page = first.passage.url.split('#').next().unwrap_or_default();
        format!("They cover: {}.\n\nAll of it: {page}", titles.join("; "))
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
        // A paragraph at a time: all of it is there at once, so smaller pieces gain nothing.
        for paragraph in answer.split_inclusive("\n\n") {
            sink.push(paragraph).await?;
        }
        Ok(answer)
    }
}

impl Indexed {
    fn new(passage: Passage) -> Self {
        let mut counts = BTreeMap::new();
        let mut add = |text, weight| {
            for term in terms(text) {
                *counts.entry(term).or_default() += weight;
            }
        };
        add(&passage.title, TITLE_WEIGHT);
        add(&passage.hints, HINT_WEIGHT);
        for line in passage.text.lines() {
            let is_code = line.starts_with(Passage::CODE_INDENT);
            add(line, if is_code { CODE_WEIGHT } else { 1.0 });
        }
        Self {
            title: terms(&passage.title).into_iter().collect(),
            length: counts.values().sum(),
            counts,
            passage,
        }
    }
}

/// The different terms of a question.
fn question_terms(question: &str) -> BTreeSet<String> {
    terms(question)
        .into_iter()
        .take(QUESTION_TERMS_MAX)
        .collect()
}

fn quote(passage: &Passage) -> String {
    let text = cut(&passage.text);
    format!("{}\n\n{text}\n\nMore: {}", passage.title, passage.url)
}

/// As many blocks of `text` as fit, at least one; prose that does not fit ends with a sentence.
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

/// The whole sentences of `prose` that fit into `room` bytes; words if not one does.
fn sentences_within(prose: &str, room: usize) -> &str {
    let head = prose
        .char_indices()
        .map(|(start, c)| start + c.len_utf8())
        .take_while(|end| *end <= room)
        .last()
        .and_then(|end| prose.get(..end))
        .unwrap_or_default();
    let end = head
        .rfind(". ")
        .map(|stop| stop + 1)
        .or_else(|| head.rfind(' '))
        .unwrap_or(head.len());
    head.get(..end).unwrap_or_default()
}

/// A small number, as one that can be divided.
fn count(number: usize) -> f64 {
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
