//! The embedded model: without network and weights, it looks the answer up in the service's pages.
//!
//! It decides by the question itself which language that is in, and looks it up in the pages of that
//! language; in the English ones, which developers read, if those do not tell.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use async_trait::async_trait;

use crate::domain::chat::Conversation;
use crate::domain::language::Language;
use crate::domain::passage::{Passage, Phrases};
use crate::ports::{AnswerSink, ModelClient, ModelError};

use super::features::words;
use super::passage_index::PassageIndex;
use super::quotation::answer_first;

/// A question of at most this many words is read together with the one before.
const FOLLOW_UP_WORDS_MAX: usize = 5;
/// How many topics a refusal offers.
const TOPICS: usize = 3;

/// Answers from the service's own pages.
#[derive(Debug)]
pub struct PassageModelClient {
    passages: Vec<Passage>,
    phrases: BTreeMap<Language, Phrases>,
    /// Made for the first question: a service that nobody asks starts sooner, and is smaller.
    readers: OnceLock<AllReaders>,
    stands_in: bool,
}

/// One for each language, English first.
type AllReaders = [Readers; Language::ALL.len()];

/// What readers of one language get.
#[derive(Debug)]
struct Readers {
    index: PassageIndex,
    phrases: Phrases,
}

impl PassageModelClient {
    /// A model that knows `passages` and nothing else, and answers in these `phrases`.
    pub fn new(passages: &[Passage], phrases: &BTreeMap<Language, Phrases>) -> Self {
        Self {
            passages: passages.to_vec(),
            phrases: phrases.clone(),
            readers: OnceLock::new(),
            stands_in: false,
        }
    }

    fn readers(&self) -> &AllReaders {
        let readers = |language| Readers {
            index: PassageIndex::new(language, &self.passages),
            phrases: self.phrases.get(&language).cloned().unwrap_or_default(),
        };
        self.readers.get_or_init(|| Language::ALL.map(readers))
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
        let readers = self.readers_of(newest, previous);
        let answer = self.answer_to(readers, newest, previous);
        if self.stands_in {
            format!("{}\n\n{answer}", readers.phrases.away)
        } else {
            answer
        }
    }

    /// The readers of the language that `newest` is in; the question before decides between equals.
    fn readers_of(&self, newest: &str, previous: &str) -> &Readers {
        let evidence =
            |it: &Readers| [newest, previous].map(|question| it.index.evidence(question));
        let [english, others @ ..] = self.readers();
        let first = (evidence(english), english);
        let (_, best) = others.iter().fold(first, |best, other| {
            let found = evidence(other);
            if found > best.0 { (found, other) } else { best }
        });
        best
    }

    fn answer_to(&self, readers: &Readers, newest: &str, previous: &str) -> String {
        let before = match words(newest).count() {
            0 => return readers.welcome(),
            1..=FOLLOW_UP_WORDS_MAX => previous,
            _ => "",
        };
        if let Some(passage) = readers.index.best(newest, before) {
            return readers.quote(passage, newest);
        }
        let [english, ..] = self.readers();
        let terms = readers.index.foreign_words(newest);
        match english.index.best(&terms, "") {
            Some(passage) => english.quote(passage, &terms),
            None => readers.refuse(newest),
        }
    }
}

impl Readers {
    /// The answer to a question without a word.
    fn welcome(&self) -> String {
        let passages = self.index.passages().iter();
        let scope = self.scope(&passages.take(TOPICS).collect::<Vec<_>>());
        format!("{} {scope}", self.phrases.question)
    }

    /// The answer to what the pages do not tell.
    fn refuse(&self, question: &str) -> String {
        let scope = self.scope(&self.index.closest(question, TOPICS));
        format!("{} {scope}", self.phrases.unanswered)
    }

    /// A few of the topics of the pages, and where all of them are.
    fn scope(&self, topics: &[&Passage]) -> String {
        let Some(first) = self.index.passages().first() else {
            return self.phrases.no_pages.clone();
        };
        let titles = topics.iter().map(|topic| format!("- {}", topic.title));
        let titles = titles.collect::<Vec<_>>().join("\n");
        let page = first.url.split('#').next().unwrap_or_default();
        let Phrases { topics, all, .. } = &self.phrases;
        format!("{topics}\n\n{titles}\n\n{all} {page}")
    }

    /// The passage, with the sentence in front that answers.
    fn quote(&self, passage: &Passage, question: &str) -> String {
        let worth = |sentence: &str| self.index.named_in(sentence, &passage.title, question);
        let text = answer_first(&passage.text, worth);
        format!("{text}\n\n{} {}", self.phrases.more, passage.url)
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
