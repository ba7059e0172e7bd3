//! The language model, or its stand-in, behind the assistant.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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
        Ok(ModelPermit::default())
    }

    /// Answers the conversation in plain text, never empty. Pieces of the answer are pushed to
    /// `sink` as they arrive; concatenated they are the answer.
    ///
    /// The variant of the error decides who pays for the turn; once a piece has been pushed to a streamed sink
    /// it is [`ModelError::Started`].
    async fn reply(
        &self,
        conversation: &Conversation,
        sink: &dyn AnswerSink,
    ) -> Result<String, ModelError>;
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
}

impl ModelError {
    /// True if the visitor's turn stays charged.
    pub const fn is_charged(&self) -> bool {
        matches!(self, Self::Started(_))
    }
}

/// One concurrent turn, released on drop. The default is that of a model without a limit.
#[must_use]
#[derive(Default)]
pub struct ModelPermit {
    _guard: Option<Box<dyn Send + Sync>>,
}

impl ModelPermit {
    /// A permit that is released when `guard` is dropped.
    pub fn held_by(guard: impl Send + Sync + 'static) -> Self {
        let guard: Box<dyn Send + Sync> = Box::new(guard);
        Self {
            _guard: Some(guard),
        }
    }
}

/// Receives the pieces of an answer while it is made.
#[async_trait]
pub trait AnswerSink: Send + Sync {
    /// True if the visitor reads the pieces as they arrive. If not, the model may answer in one piece.
    fn is_streamed(&self) -> bool;

    /// Records that the model knows no answer, and its text says so.
    fn mark_unanswered(&self) {}

    /// Sends the next piece; waits while the buffer is full. After an error the model should stop.
    async fn push(&self, text: &str) -> Result<(), SinkClosed>;
}

/// The reader of the pieces has disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reader has disconnected")]
pub struct SinkClosed;

impl From<SinkClosed> for ModelError {
    fn from(closed: SinkClosed) -> Self {
        Self::Started(closed.to_string())
    }
}

/// An [`AnswerSink`] for callers that want the whole answer: pieces are discarded.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

#[async_trait]
impl AnswerSink for NullSink {
    fn is_streamed(&self) -> bool {
        false
    }

    async fn push(&self, _text: &str) -> Result<(), SinkClosed> {
        Ok(())
    }
}

/// An [`AnswerSink`] that wraps another one and records its calls.
pub struct NotingSink<'a> {
    sink: &'a dyn AnswerSink,
    is_unanswered: AtomicBool,
    is_closed: AtomicBool,
}

impl<'a> NotingSink<'a> {
    /// Passes everything on to `sink`.
    pub const fn new(sink: &'a dyn AnswerSink) -> Self {
        Self {
            sink,
            is_unanswered: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        }
    }

    /// True if the model knew no answer.
    pub fn is_unanswered(&self) -> bool {
        self.is_unanswered.load(Relaxed)
    }

    /// True if the reader has disconnected.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }
}

#[async_trait]
impl AnswerSink for NotingSink<'_> {
    fn is_streamed(&self) -> bool {
        self.sink.is_streamed()
    }

    fn mark_unanswered(&self) {
        self.is_unanswered.store(true, Relaxed);
        self.sink.mark_unanswered();
    }

    async fn push(&self, text: &str) -> Result<(), SinkClosed> {
        let pushed = self.sink.push(text).await;
        pushed.inspect_err(|_closed| self.is_closed.store(true, Relaxed))
    }
}
