//! A turn without a usable answer: who pays for it, and what it reveals about the upstream.

use crate::ports::{ModelError, SinkClosed};

use super::breaker::Verdict;

/// A turn without a usable answer.
#[derive(Debug)]
pub(super) struct TurnFailure {
    /// The variant decides who pays for the turn, as long as nothing of the answer was read. The text is for the log: it is
    /// bounded and quotes neither the visitor nor the model.
    pub(super) error: ModelError,
    pub(super) verdict: Verdict,
    /// A variant of the request that may work.
    pub(super) remedy: Option<Remedy>,
}

/// A variant of a refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// The conversation is longer than the model's context.
    LessHistory,
    /// The model does not accept the role `system`.
    JoinedPrompt,
}

impl TurnFailure {
    pub(super) const fn new(error: ModelError, verdict: Verdict) -> Self {
        Self {
            error,
            verdict,
            remedy: None,
        }
    }

    /// The upstream is alive, but its answer is unusable.
    pub(super) fn unusable(cause: impl Into<String>) -> Self {
        Self::new(ModelError::Unusable(cause.into()), Verdict::Alive)
    }

    /// The model has worked on the turn.
    pub(super) fn started(cause: impl Into<String>) -> Self {
        Self::new(ModelError::Started(cause.into()), Verdict::Alive)
    }

    /// The error for the caller: once a piece has been read, the visitor pays for the turn.
    pub(super) fn into_error(self, was_read: bool) -> ModelError {
        if !was_read {
            return self.error;
        }
        match self.error {
            ModelError::NotStarted(cause)
            | ModelError::Unusable(cause)
            | ModelError::Started(cause) => ModelError::Started(cause),
            ModelError::Abandoned => ModelError::Abandoned,
        }
    }
}

impl From<SinkClosed> for TurnFailure {
    fn from(_closed: SinkClosed) -> Self {
        Self::new(ModelError::Abandoned, Verdict::Alive)
    }
}
