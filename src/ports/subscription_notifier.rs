//! The newsletter's provider, where no contact is kept.

use async_trait::async_trait;

use crate::domain::contact::Notice;

/// Tells the newsletter's provider of sign-ups, where no contact is kept.
#[async_trait]
pub trait SubscriptionNotifier: Send + Sync {
    /// Passes a sign-up on. When this returns `Ok` the provider has said that it has it.
    ///
    /// # Errors
    /// [`NotifyError`] when the provider did not say so within a few seconds.
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError>;
}

/// The provider does not have the sign-up, as far as is known. The text is for the log, never for
/// a client, and names no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotifyError {
    /// Too many sign-ups are on their way already; this one was not sent.
    #[error("too many sign-ups on their way")]
    Overloaded,
    /// It refused, failed, or did not answer.
    #[error("provider failed: {0}")]
    Failed(String),
}
