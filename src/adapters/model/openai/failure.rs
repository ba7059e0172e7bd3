//! What goes wrong with an upstream, what that says about it, and who bears the turn then.

use std::time::Duration;

use crate::ports::ModelError;

use super::breaker::Finding;

/// The upstream gave no answer that can be used.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: Kind,
    /// For the log: bounded, and without a word of the visitor's or the model's.
    pub(super) cause: String,
}

/// What follows from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No connection, or one that ended before the first byte of an answer.
    Unreachable,
    /// Not a byte of an answer in time.
    Silent,
    /// An error of the upstream's own, or an answer that is none.
    Unusable,
    /// The conversation is longer than the model's context.
    Overflow,
    /// The operator's account is used up: asking again never helps.
    OutOfMoney,
    /// Too many requests; the upstream may say for how long.
    SlowDown(Option<Duration>),
    /// A gateway that has nobody behind it, or a server that is not ready; it may say for how long.
    Down(Option<Duration>),
    /// What is behind a gateway did not end its answer: the model may have worked on it.
    Lost(Option<Duration>),
    /// The request was not taken: no model ran.
    Refused,
    /// No request is taken: the key, the model or the address is wrong.
    Misconfigured,
    /// The model worked, and its answer or the question was filtered out.
    Filtered,
    /// The answer had begun, and was not whole in time.
    Late,
    /// Nobody reads the answer any more.
    SinkClosed,
}

/// How long an upstream whose account is used up is left alone.
const OUT_OF_MONEY_PAUSE: Duration = Duration::from_secs(60);
/// The longest an upstream may ask to be left alone.
const ASKED_PAUSE_MAX: Duration = Duration::from_secs(60);

impl Failure {
    pub(super) fn new(kind: Kind, cause: impl Into<String>) -> Self {
        Self {
            kind,
            cause: cause.into(),
        }
    }

    pub(super) fn unusable(cause: impl Into<String>) -> Self {
        Self::new(Kind::Unusable, cause)
    }

    /// What it says about the upstream.
    pub(super) fn finding(&self) -> Finding {
        match self.kind {
            Kind::Silent => Finding::Silent,
            // A wrong setting is as good as no upstream, and the visitors need not wait for it.
            Kind::Unreachable | Kind::Down(None) | Kind::Lost(None) | Kind::Misconfigured => {
                Finding::Dead
            }
            Kind::OutOfMoney => Finding::Pause(OUT_OF_MONEY_PAUSE),
            Kind::SlowDown(Some(pause)) | Kind::Down(Some(pause)) | Kind::Lost(Some(pause)) => {
                Finding::Pause(pause.min(ASKED_PAUSE_MAX))
            }
            // A server error is no sign of death: some servers answer a question they cannot take
            // with 500, and one visitor could close the assistant for all.
            Kind::SlowDown(None)
            | Kind::Unusable
            | Kind::Refused
            | Kind::Overflow
            | Kind::Filtered
            | Kind::Late
            | Kind::SinkClosed => Finding::Alive,
        }
    }

    /// Who bears the turn: the visitor, if the model worked on it or text of its answer was read; all
    /// together, if it may have cost the operator something; otherwise nobody. A wrong key or a dead
    /// gateway must not use up the day's turns.
    pub(super) fn into_error(self, was_read: bool) -> ModelError {
        match self.kind {
            Kind::Filtered | Kind::Late | Kind::SinkClosed => ModelError::Started(self.cause),
            _ if was_read => ModelError::Started(self.cause),
            Kind::Unreachable
            | Kind::Silent
            | Kind::Overflow
            | Kind::OutOfMoney
            | Kind::SlowDown(_)
            | Kind::Down(_)
            | Kind::Refused
            | Kind::Misconfigured => ModelError::NotStarted(self.cause),
            Kind::Lost(_) | Kind::Unusable => ModelError::Unusable(self.cause),
        }
    }
}
