//! The embedded model: without network and weights, it looks the answer up in the service's pages.
//!
//! It decides by the question itself which language that is in, and looks it up in the pages of that
//! language; in the English ones, which developers read, if those do not tell.

use std::collections::BTreeSet;

use async_trait::async_trait;

use crate::domain::chat::Conversation;
use crate::domain::language::Language;
use crate::domain::passage::Passage;
use crate::ports::{AnswerSink, ModelClient, ModelError};

use super::passage_index::{PassageIndex, Query};
use super::quotation::answer_first;

/// A question of at most this many terms is read together with the one before.
const FOLLOW_UP_TERMS_MAX: usize = 2;
/// How many topics a refusal offers.
const TOPICS: usize = 3;

/// Answers from the service's own pages.
#[derive(Debug)]
pub struct PassageModelClient {
    /// One for each language, English first.
    indexes: [PassageIndex; Language::ALL.len()],
    stands_in: bool,
}

impl PassageModelClient {
    /// A model that knows `passages` and nothing else.
    pub fn new(passages: &[Passage]) -> Self {
        Self {
            indexes: Language::ALL.map(|language| PassageIndex::new(language, passages)),
            stands_in: false,
        }
    }

    /// Makes each answer begin with a line that says that another model is away.
    #[must_use]
    pub fn standing_in(mut self) -> Self {
        self.stands_in = true;
        self
    }

    fn answer(&self, conversation: &Conversation) -> String {
        let mut questions = conversation.questions();
        let newest = questions.next().unwrap_or_default();
        let previous = questions.next().unwrap_or_default();
        let index = self.index_for(newest, previous);
        let answer = self.answer_from(index, newest, previous);
        if self.stands_in {
            format!("{}\n\n{answer}", index.lexicon.sentence("away"))
        } else {
            answer
        }
    }

    /// The index of the language that `newest` is in; the question before decides between equals.
    fn index_for(&self, newest: &str, previous: &str) -> &PassageIndex {
        let evidence =
            |index: &PassageIndex| [newest, previous].map(|question| index.evidence(question));
        let [english, others @ ..] = &self.indexes;
        let first = (evidence(english), english);
        let (_, best) = others.iter().fold(first, |best, other| {
            let found = evidence(other);
            if found > best.0 { (found, other) } else { best }
        });
        best
    }

    fn answer_from(&self, index: &PassageIndex, newest: &str, previous: &str) -> String {
        let asked = index.question_terms(newest);
        if asked.is_empty() {
            return welcome(index, newest);
        }
        let earlier = match asked.len() {
            ..=FOLLOW_UP_TERMS_MAX => index.question_terms(previous),
            _ => BTreeSet::new(),
        };
        let query = index.query(&asked, &earlier);
        if let Some(passage) = index.best(&query) {
            return quote(index, passage, &query);
        }
        let [english, ..] = &self.indexes;
        if std::ptr::eq(index, english) {
            return unanswered(index, &query);
        }
        let in_english = english.question_terms(&index.lexicon.without_stop_words(newest));
        let in_english = english.query(&in_english, &BTreeSet::new());
        match english.best(&in_english) {
            Some(passage) => quote(english, passage, &in_english),
            None => unanswered(index, &query),
        }
    }
}

/// The answer to a question of stop words alone, such as "what is this?": the first passage, which
/// introduces the others. A question without a word gets a question back.
fn welcome(index: &PassageIndex, question: &str) -> String {
    let has_words = question.chars().any(char::is_alphanumeric);
    match index.passages().next() {
        Some(first) if has_words => quote(index, first, &Query::default()),
        Some(_) | None => {
            let topics: Vec<_> = index.passages().take(TOPICS).collect();
            let question = index.lexicon.sentence("question");
            format!("{question} {}", scope(index, &topics))
        }
    }
}

/// The answer to what the pages do not tell.
fn unanswered(index: &PassageIndex, query: &Query) -> String {
    let topics = index.closest(query, TOPICS);
    let sentence = index.lexicon.sentence("unanswered");
    format!("{sentence} {}", scope(index, &topics))
}

/// A few of the topics of the pages, and where all of them are.
fn scope(index: &PassageIndex, topics: &[&Passage]) -> String {
    let Some(first) = index.passages().next() else {
        return index.lexicon.sentence("no-pages").to_owned();
    };
    let titles = topics.iter().map(|topic| format!("- {}", topic.title));
    let titles = titles.collect::<Vec<_>>().join("\n");
    let page = first.url.split('#').next().unwrap_or_default();
    let sentence = |key| index.lexicon.sentence(key);
    format!(
        "{}\n\n{titles}\n\n{} {page}",
        sentence("topics"),
        sentence("all")
    )
}

/// The passage, with the sentence in front that answers.
fn quote(index: &PassageIndex, passage: &Passage, query: &Query) -> String {
    let worth = |sentence: &str| index.named_in(sentence, &passage.title, query);
    let text = answer_first(&passage.text, worth);
    format!(
        "{text}\n\n{} {}",
        index.lexicon.sentence("more"),
        passage.url
    )
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
