//! The model behind the assistant: a place, a turn, and the pieces of its answer.

use std::fmt;

use async_trait::async_trait;

use crate::domain::chat::Conversation;

/// Answers visitors.
#[async_trait]
pub trait ModelClient: Send + Sync {
    /// Whether a turn costs the operator money, so that all turns together are limited.
    fn is_metered(&self) -> bool;

    /// Takes a place among the turns that are answered at once. It is taken before the turn is
    /// charged, so that a turn there is no room for costs nobody anything.
    ///
    /// # Errors
    /// [`ModelError::NotStarted`] when every place is taken.
    fn reserve(&self) -> Result<Place, ModelError> {
        Ok(Place::unlimited())
    }

    /// The assistant's answer to the conversation: plain text, never empty. While it comes, its
    /// pieces are handed to `deltas`, if anybody reads them; together they are the answer.
    ///
    /// # Errors
    /// [`ModelError`] when there is no answer; it says who bears the turn. Once a piece has been
    /// handed out that is always the visitor.
    async fn reply(
        &self,
        conversation: &Conversation,
        deltas: &dyn Deltas,
    ) -> Result<String, ModelError>;
}

/// The model gave no answer. The texts are for the log, never for a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The model did not work on the turn: it is given back to the visitor and to all together.
    #[error("model did not start: {0}")]
    NotStarted(String),
    /// The model, or what stands before it, gave an answer that is none. The visitor gets the turn
    /// back, but for all together it stays charged: the operator may have to pay for it.
    #[error("model gave no usable answer: {0}")]
    Unusable(String),
    /// The model worked on the turn, or may have: it stays charged.
    #[error("model failed after it started: {0}")]
    Started(String),
}

/// A place among the turns that a model answers at once; free again when it is dropped.
#[must_use]
pub struct Place {
    /// Whatever frees the place when it is dropped.
    _guard: Option<Box<dyn Send + Sync>>,
}

impl Place {
    /// One of as many as anybody wants.
    pub const fn unlimited() -> Self {
        Self { _guard: None }
    }

    /// A place that `guard` holds.
    pub fn held_by(guard: impl Send + Sync + 'static) -> Self {
        Self {
            _guard: Some(Box::new(guard)),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Place(..)")
    }
}

/// Takes an answer's text as it comes.
#[async_trait]
pub trait Deltas: Send + Sync {
    /// Whether anybody reads along. If not, there is no need to answer in pieces.
    fn are_read(&self) -> bool;

    /// Hands out the next piece; waits while the reader has enough to read.
    ///
    /// # Errors
    /// [`ReaderGone`] when nobody reads any more: the answer need not go on.
    async fn push(&self, text: &str) -> Result<(), ReaderGone>;
}

/// Nobody reads the pieces of an answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reader has gone")]
pub struct ReaderGone;

impl From<ReaderGone> for ModelError {
    fn from(gone: ReaderGone) -> Self {
        Self::Started(gone.to_string())
    }
}

/// The [`Deltas`] of an answer that is wanted whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unread;

#[async_trait]
impl Deltas for Unread {
    fn are_read(&self) -> bool {
        false
    }

    async fn push(&self, _text: &str) -> Result<(), ReaderGone> {
        Ok(())
    }
}
