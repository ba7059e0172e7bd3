//! The operator's newsletter provider, for a service that keeps no contacts itself.

use async_trait::async_trait;

use crate::domain::contact::Notice;

/// Passes sign-ups on to a newsletter provider.
#[async_trait]
pub trait SubscriptionNotifier: Send + Sync {
    /// Passes one sign-up on. `Ok` means that the provider has confirmed it.
    ///
    /// # Errors
    /// [`NotifyError`] when the provider did not confirm it within a few seconds.
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError>;
}

/// The provider did not confirm the sign-up. The text is for the log, never for a client, and holds
/// no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotifyError {
    /// Too many sign-ups are in flight; this one was not sent.
    #[error("too many sign-ups on their way")]
    Overloaded,
    /// The provider refused, failed, or did not answer.
    #[error("provider failed: {0}")]
    Failed(String),
}
