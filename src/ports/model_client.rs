//! The language model, or its stand-in, behind the assistant.

use async_trait::async_trait;

use crate::domain::Conversation;

/// Answers visitors.
#[async_trait]
pub trait ModelClient: Send + Sync {
    /// Name of the model, for the operator.
    fn name(&self) -> &str {
        "a model"
    }

    /// True if turns cost the operator money. Such turns also count under `assistant-all`.
    fn is_metered(&self) -> bool;

    /// True while it is not asked, because it failed recently.
    fn is_paused(&self) -> bool {
        false
    }

    /// Limit of concurrent turns, if there is one.
    fn turns_max(&self) -> Option<usize> {
        None
    }

    /// Takes one of the permits that limit concurrent turns. Callers take it before they charge the turn, so
    /// that a turn without a permit costs nobody anything.
    fn reserve(&self) -> Result<ModelPermit, ModelError> {
        Ok(Box::new(()))
    }

    /// Answers the conversation in plain text, never empty. Pieces of the answer are pushed to
    /// `sink` as they arrive, if the visitor reads them; concatenated they are the answer.
    ///
    /// The variant of the error decides who pays for the turn; once a piece has been pushed it is [`ModelError::Started`] or [`ModelError::Abandoned`].
    async fn reply(
        &self,
        conversation: &Conversation,
        sink: Option<&dyn AnswerSink>,
    ) -> Result<ModelReply, ModelError>;
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelReply {
    pub text: String,
    /// True if the model knows no answer, and the text says so.
    pub is_unanswered: bool,
}

impl From<String> for ModelReply {
    fn from(text: String) -> Self {
        Self {
            text,
            is_unanswered: false,
        }
    }
}

/// Reason why there is no answer. The texts are for the log, never for a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The model did not work on the turn. The visitor is refunded, and the turn does not count under
    /// `assistant-all`.
    #[error("model did not start: {0}")]
    NotStarted(String),
    /// The upstream failed or returned nothing usable. The visitor is refunded, but the turn counts under
    /// `assistant-all`: the operator may have to pay for it.
    #[error("model gave no usable answer: {0}")]
    Unusable(String),
    /// The model worked on the turn, or may have. It stays charged.
    #[error("model failed after it started: {0}")]
    Started(String),
    /// The visitor left while the model worked on the turn. It stays charged.
    #[error(transparent)]
    Abandoned(#[from] SinkClosed),
}

impl ModelError {
    /// True if the visitor's turn stays charged.
    pub const fn is_charged(&self) -> bool {
        matches!(self, Self::Started(_) | Self::Abandoned(_))
    }
}

/// One concurrent turn, released on drop.
pub type ModelPermit = Box<dyn Send + Sync>;

/// Receives the pieces of an answer while it is made.
#[async_trait]
pub trait AnswerSink: Send + Sync {
    /// Sends the next piece; waits while the buffer is full. After an error the model should stop.
    async fn push(&self, text: &str) -> Result<(), SinkClosed>;
}

/// The reader of the pieces has disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reader has disconnected")]
pub struct SinkClosed;
