//! A model that says what it was told to, and a reader of its pieces.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;

use crate::domain::chat::Conversation;
use crate::ports::{Deltas, ModelClient, ModelError, ReaderGone};

use super::lock;

/// Gives prepared answers in order, word by word, then the same friendly one for ever. It remembers
/// what it was asked.
#[derive(Debug, Default)]
pub struct ScriptedModelClient {
    answers: Mutex<VecDeque<Result<String, ModelError>>>,
    asked: Mutex<Vec<Conversation>>,
    is_metered: bool,
}

impl ScriptedModelClient {
    /// A client that gives `answers` first.
    #[must_use]
    pub fn new(answers: impl IntoIterator<Item = Result<String, ModelError>>) -> Self {
        Self {
            answers: Mutex::new(answers.into_iter().collect()),
            ..Self::default()
        }
    }

    /// The same client, as one whose turns cost money.
    #[must_use]
    pub fn metered(mut self) -> Self {
        self.is_metered = true;
        self
    }

    /// The conversations it was asked to answer, oldest first.
    #[must_use]
    pub fn asked(&self) -> Vec<Conversation> {
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
        deltas: &dyn Deltas,
    ) -> Result<String, ModelError> {
        lock(&self.asked).push(conversation.clone());
        let answer = lock(&self.answers)
            .pop_front()
            .unwrap_or_else(|| Ok("Hello, I am the scripted assistant.".to_owned()))?;
        for word in answer.split_inclusive(' ') {
            deltas.push(word).await?;
        }
        Ok(answer)
    }
}

/// Keeps the pieces of an answer. After so many it can leave.
#[derive(Debug, Default)]
pub struct MemoryDeltas {
    pieces: Mutex<Vec<String>>,
    stays_for: Option<usize>,
}

impl MemoryDeltas {
    /// A reader that leaves after `pieces` pieces.
    #[must_use]
    pub fn leaving_after(pieces: usize) -> Self {
        Self {
            stays_for: Some(pieces),
            ..Self::default()
        }
    }

    /// What was handed out, oldest first.
    #[must_use]
    pub fn pieces(&self) -> Vec<String> {
        lock(&self.pieces).clone()
    }
}

#[async_trait]
impl Deltas for MemoryDeltas {
    fn are_read(&self) -> bool {
        true
    }

    async fn push(&self, text: &str) -> Result<(), ReaderGone> {
        let mut pieces = lock(&self.pieces);
        if self.stays_for.is_some_and(|most| pieces.len() >= most) {
            return Err(ReaderGone);
        }
        pieces.push(text.to_owned());
        Ok(())
    }
}
