//! Sign-ups that are passed on instead of stored.

use async_trait::async_trait;

use crate::domain::SignUp;

/// Takes sign-ups instead of a contact store: the operator's newsletter provider.
#[async_trait]
pub trait SignUps: Send + Sync {
    /// `Ok` means that the provider has confirmed it, within a few seconds.
    async fn take(&self, sign_up: SignUp) -> Result<(), NotifyError>;
}

/// The provider did not confirm the sign-up. The text is for the log, never for a client, and contains
/// no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotifyError {
    /// Too many sign-ups are in flight; this one was not sent.
    #[error("too many sign-ups in flight")]
    Overloaded,
    /// The provider refused, failed or did not respond.
    #[error("provider failed: {0}")]
    Failed(String),
}
