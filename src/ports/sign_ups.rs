//! Where sign-ups go.

use std::sync::Arc;

use async_trait::async_trait;

use crate::domain::contact::{SignUp, Subscription};

use super::{ContactStore, StoreError};

/// Takes sign-ups: a store of contacts, or the operator's newsletter provider, for a service that keeps no
/// contacts itself.
#[async_trait]
pub trait SignUps: Send + Sync {
    /// `Ok` means that the contact is durable, or that the provider has confirmed it, within a few seconds.
    async fn take(&self, sign_up: SignUp) -> Result<Taken, SignUpError>;

    /// Whether this service can keep sign-ups. A provider is not asked: its outage is not the service's.
    fn check(&self) -> Result<(), StoreError>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Kept(Subscription),
    PassedOn,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignUpError {
    #[error(transparent)]
    NotKept(#[from] StoreError),
    #[error(transparent)]
    NotPassedOn(#[from] NotifyError),
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

#[async_trait]
impl SignUps for Arc<dyn ContactStore> {
    async fn take(&self, sign_up: SignUp) -> Result<Taken, SignUpError> {
        Ok(Taken::Kept(self.keep(sign_up).await?))
    }

    fn check(&self) -> Result<(), StoreError> {
        ContactStore::check(&**self)
    }
}
