//! The embedded model: without network and weights, it looks the answer up in the service's pages.
//!
//! It decides by the question itself which language that is in, or by the visitor's page if the question does not
//! tell, and looks it up in the pages of that language.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::OnceCell;

use crate::domain::{AssistantTexts, Conversation, Passage};
use crate::ports::{AnswerSink, ModelClient, ModelError, ModelReply};

use crate::adapters::model::search::passage_index::PassageIndex;

/// Answers from the service's own pages.
#[derive(Debug)]
pub struct PassageModelClient {
    passages: Vec<Arc<Passage>>,
    texts: Vec<AssistantTexts>,
    /// Of each language. Made for the first question, in about 0.1 s: a service that nobody asks starts sooner, and
    /// needs 14 MiB less.
    indexes: OnceCell<Vec<PassageIndex>>,
    is_fallback: bool,
}

impl PassageModelClient {
    /// A model that knows `passages` and nothing else, and answers in the languages of `texts`.
    pub fn new(passages: &[Passage], texts: &[AssistantTexts]) -> Self {
        Self {
            passages: passages.iter().cloned().map(Arc::new).collect(),
            texts: texts.to_vec(),
            indexes: OnceCell::new(),
            is_fallback: false,
        }
    }

    /// Makes each answer begin with a line that says that another model is away.
    #[must_use]
    pub fn as_fallback(mut self) -> Self {
        self.is_fallback = true;
        self
    }

    /// The indexes, made on a thread that may be blocked.
    async fn indexes(&self) -> Result<&[PassageIndex], ModelError> {
        let make = || {
            let (passages, texts) = (self.passages.clone(), self.texts.clone());
            let index = move |texts| PassageIndex::new(texts, &passages);
            tokio::task::spawn_blocking(|| texts.into_iter().map(index).collect())
        };
        let indexes = self.indexes.get_or_try_init(make).await;
        let indexes = indexes.map_err(|error| ModelError::NotStarted(error.to_string()));
        indexes.map(Vec::as_slice)
    }

    /// The answer in the language of the newest question; the one before decides between equals, then that of the
    /// visitor's page.
    fn answer(&self, indexes: &[PassageIndex], conversation: &Conversation) -> Option<ModelReply> {
        let mut questions = conversation.questions();
        let newest = questions.next().unwrap_or_default();
        let previous = questions.next().unwrap_or_default();
        let mut ordered: Vec<_> = indexes.iter().rev().collect();
        // Of equals it finds the last.
        ordered.sort_by_key(|index| index.terms.texts.language == conversation.language);
        let evidence = |index: &&&PassageIndex| [newest, previous].map(|text| index.evidence(text));
        let index = ordered.iter().max_by_key(evidence)?;
        let languages = || ordered.iter().rev();
        let answer = languages()
            .find_map(|index| index.courtesy(newest))
            .or_else(|| index.answer(newest, previous))
            .or_else(|| languages().find_map(|index| index.closing(newest)));
        let is_unanswered = answer.is_none();
        let texts = &index.terms.texts;
        let mut text = answer.unwrap_or_else(|| index.propose(&texts.unanswered, newest));
        if self.is_fallback {
            text.insert_str(0, &format!("{}\n\n", texts.away));
        }
        Some(ModelReply {
            text,
            is_unanswered,
        })
    }
}

#[async_trait]
impl ModelClient for PassageModelClient {
    fn name(&self) -> &str {
        "a search of this site's pages"
    }

    fn is_metered(&self) -> bool {
        false
    }

    async fn reply(
        &self,
        conversation: &Conversation,
        sink: Option<&dyn AnswerSink>,
    ) -> Result<ModelReply, ModelError> {
        let indexes = self.indexes().await?;
        let reply = self.answer(indexes, conversation);
        let reply = reply.unwrap_or_else(|| String::new().into());
        if let Some(sink) = sink {
            for paragraph in reply.text.split_inclusive("\n\n") {
                sink.push(paragraph).await?;
            }
        }
        Ok(reply)
    }
}
