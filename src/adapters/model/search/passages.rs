//! The embedded model: without network and weights, it looks the answer up in the service's pages.
//!
//! It decides by the question itself which language that is in, or by the visitor's page if the question does not
//! tell, and looks it up in the pages of that language.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::OnceCell;

use crate::domain::{AssistantTexts, Conversation, Courtesy, Passage};
use crate::ports::{AnswerSink, ModelClient, ModelError, ModelReply};

use crate::adapters::model::search::features::words;
use crate::adapters::model::search::passage_index::PassageIndex;

/// A question of at most this many words is read together with the one before.
const FOLLOW_UP_WORDS_MAX: usize = 5;
/// Topics that a refusal offers.
const TOPICS: usize = 3;

/// Answers from the service's own pages.
#[derive(Debug)]
pub struct PassageModelClient {
    passages: Vec<Arc<Passage>>,
    texts: Vec<AssistantTexts>,
    /// Made for the first question, in about 0.1 s: a service that nobody asks starts sooner, and needs 14 MiB
    /// less.
    pages: OnceCell<Vec<LanguagePages>>,
    is_fallback: bool,
}

/// The pages and texts for readers of one language.
#[derive(Debug)]
struct LanguagePages {
    index: PassageIndex,
    texts: AssistantTexts,
}

/// The reply to a question that the pages do not answer.
#[derive(Debug)]
struct Refusal(String);

impl PassageModelClient {
    /// A model that knows `passages` and nothing else, and answers in the languages of `texts`.
    pub fn new(passages: &[Passage], texts: &[AssistantTexts]) -> Self {
        Self {
            passages: passages.iter().cloned().map(Arc::new).collect(),
            texts: texts.to_vec(),
            pages: OnceCell::new(),
            is_fallback: false,
        }
    }

    /// Makes each answer begin with a line that says that another model is away.
    #[must_use]
    pub fn as_fallback(mut self) -> Self {
        self.is_fallback = true;
        self
    }

    /// The pages, made on a thread that may be blocked.
    async fn pages(&self) -> Result<&[LanguagePages], ModelError> {
        let make = || {
            let (passages, texts) = (self.passages.clone(), self.texts.clone());
            let of_language = move |texts| LanguagePages {
                index: PassageIndex::new(&texts, &passages),
                texts,
            };
            tokio::task::spawn_blocking(move || texts.into_iter().map(of_language).collect())
        };
        let pages = self.pages.get_or_try_init(make).await;
        let pages = pages.map_err(|error| ModelError::NotStarted(error.to_string()));
        pages.map(Vec::as_slice)
    }

    /// The answer in the language of the newest question; the one before decides between equals, then that of the
    /// visitor's page.
    fn answer(
        &self,
        all: &[LanguagePages],
        conversation: &Conversation,
    ) -> Result<String, Refusal> {
        let mut questions = conversation.questions();
        let newest = questions.next().unwrap_or_default();
        let previous = questions.next().unwrap_or_default();
        let is_preferred = |pages: &&LanguagePages| pages.texts.language == conversation.language;
        let (preferred, others): (Vec<_>, Vec<_>) = all.iter().partition(is_preferred);
        let ordered = preferred.into_iter().chain(others);
        let evidence =
            |pages: &&LanguagePages| [newest, previous].map(|text| pages.index.evidence(text));
        let courtesy = ordered.clone().find_map(|pages| pages.courtesy(newest));
        let pages = match courtesy {
            Some(_) => ordered.clone().next(),
            // Of equals it finds the last.
            None => ordered.clone().rev().max_by_key(evidence),
        };
        let Some(pages) = pages else {
            return Ok(String::new());
        };
        let reply = courtesy.map_or_else(|| pages.answer(newest, previous), Ok);
        let mut closings = ordered.filter_map(|pages| pages.closing(newest));
        let reply = reply.or_else(|refusal| closings.next().ok_or(refusal));
        if !self.is_fallback {
            return reply;
        }
        let introduced = |text| format!("{}\n\n{text}", pages.texts.away);
        reply
            .map(introduced)
            .map_err(|Refusal(text)| Refusal(introduced(text)))
    }
}

impl LanguagePages {
    /// The reply to thanks and the like, if `text` says nothing else.
    fn courtesy(&self, text: &str) -> Option<String> {
        let AssistantTexts {
            courtesies,
            fillers,
            ..
        } = &self.texts;
        let said: Vec<_> = words(text).collect();
        let is_said = |courtesy: &&Courtesy| {
            said.iter()
                .any(|word| courtesy.words.contains(&word.as_str()))
        };
        let is_one = |word: &String| {
            let mut all = courtesies
                .iter()
                .map(|courtesy| &courtesy.words)
                .chain([fillers]);
            all.any(|words| words.contains(&word.as_str()))
        };
        let said_here = courtesies.iter().find(is_said)?;
        said.iter().all(is_one).then(|| said_here.reply.clone())
    }

    /// The reply to a text that begins with thanks or praise and asks nothing.
    fn closing(&self, text: &str) -> Option<String> {
        let said: Vec<_> = words(text).collect();
        let first = said.first()?.as_str();
        let asks = |word: &String| self.texts.question_words.contains(&word.as_str());
        if text.contains('?') || said.iter().any(asks) {
            return None;
        }
        let closes = |courtesy: &&Courtesy| courtesy.is_closing && courtesy.words.contains(&first);
        let said_here = self.texts.courtesies.iter().find(closes);
        said_here.map(|courtesy| courtesy.reply.clone())
    }

    /// The answer from these pages.
    fn answer(&self, newest: &str, previous: &str) -> Result<String, Refusal> {
        let before = match words(newest).count() {
            0 => return Ok(self.propose(&self.texts.question, newest)),
            1..=FOLLOW_UP_WORDS_MAX => previous,
            _ => "",
        };
        if let Some(passage) = self.index.best(newest, before) {
            return Ok(self.quote(passage, newest));
        }
        Err(Refusal(self.propose(&self.texts.unanswered, newest)))
    }

    /// `text`, a few topics of the pages, and where else there are answers. The chat makes buttons of a list
    /// with `+`.
    fn propose(&self, text: &str, question: &str) -> String {
        let AssistantTexts {
            topics, elsewhere, ..
        } = &self.texts;
        let closest = self.index.closest(question).take(TOPICS);
        let titles: Vec<_> = closest.map(|topic| format!("+ {}", topic.title)).collect();
        if titles.is_empty() {
            return format!("{text} {elsewhere}");
        }
        format!("{text} {topics}\n\n{}\n\n{elsewhere}", titles.join("\n"))
    }

    /// The passage, with the paragraph in front that answers.
    fn quote(&self, passage: &Passage, question: &str) -> String {
        let text = self.index.quote(passage, question);
        // A passage may be a picture.
        let text = if text.is_empty() {
            &passage.title
        } else {
            &text
        };
        format!("{text}\n\n{} {}", self.texts.more, passage.url)
    }
}

#[async_trait]
impl ModelClient for PassageModelClient {
    fn name(&self) -> &str {
        "the search of this site's pages"
    }

    fn is_metered(&self) -> bool {
        false
    }

    async fn reply(
        &self,
        conversation: &Conversation,
        sink: &dyn AnswerSink,
    ) -> Result<ModelReply, ModelError> {
        let pages = self.pages().await?;
        let answer = self.answer(pages, conversation);
        let is_unanswered = answer.is_err();
        let text = answer.unwrap_or_else(|Refusal(text)| text);
        for paragraph in text.split_inclusive("\n\n") {
            sink.push(paragraph).await?;
        }
        Ok(ModelReply {
            text,
            is_unanswered,
        })
    }
}
