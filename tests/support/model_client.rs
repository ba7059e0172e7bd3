//! A model with scripted answers, and a sink that records.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;

use landing_api::domain::chat::Conversation;
use landing_api::ports::{AnswerSink, ModelClient, ModelError, ModelReply, SinkClosed};

use super::lock;

/// Gives the scripted answers in order, word by word, then a default one. Records the conversations.
#[derive(Debug, Default)]
pub(crate) struct ScriptedModelClient {
    answers: Mutex<VecDeque<Result<String, ModelError>>>,
    asked: Mutex<Vec<Conversation>>,
    is_metered: bool,
}

impl ScriptedModelClient {
    pub(crate) fn new(answers: impl IntoIterator<Item = Result<String, ModelError>>) -> Self {
        Self {
            answers: Mutex::new(answers.into_iter().collect()),
            ..Self::default()
        }
    }

    /// Makes turns cost money.
    #[must_use]
    pub(crate) fn metered(mut self) -> Self {
        self.is_metered = true;
        self
    }

    pub(crate) fn asked(&self) -> Vec<Conversation> {
        lock(&self.asked).clone()
    }
}

#[async_trait]
impl ModelClient for ScriptedModelClient {
    fn is_metered(&self) -> bool {
        self.is_metered
    }

    async fn reply(
        &self,
        conversation: &Conversation,
        sink: Option<&dyn AnswerSink>,
    ) -> Result<ModelReply, ModelError> {
        lock(&self.asked).push(conversation.clone());
        let answer = lock(&self.answers)
            .pop_front()
            .unwrap_or_else(|| Ok("Hello, I am the scripted assistant.".to_owned()))?;
        if let Some(sink) = sink {
            for word in answer.split_inclusive(' ') {
                sink.push(word).await?;
            }
        }
        Ok(answer.into())
    }
}

/// Records the pieces of an answer; can close after a number of them.
#[derive(Debug, Default)]
pub(crate) struct MemoryAnswerSink {
    pieces: Mutex<Vec<String>>,
    pieces_max: Option<usize>,
}

impl MemoryAnswerSink {
    /// Closes after `pieces` pieces.
    pub(crate) fn closing_after(pieces: usize) -> Self {
        Self {
            pieces_max: Some(pieces),
            ..Self::default()
        }
    }

    pub(crate) fn pieces(&self) -> Vec<String> {
        lock(&self.pieces).clone()
    }
}

#[async_trait]
impl AnswerSink for MemoryAnswerSink {
    async fn push(&self, text: &str) -> Result<(), SinkClosed> {
        let mut pieces = lock(&self.pieces);
        if self.pieces_max.is_some_and(|most| pieces.len() >= most) {
            return Err(SinkClosed);
        }
        pieces.push(text.to_owned());
        Ok(())
    }
}
