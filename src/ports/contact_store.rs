//! The newsletter's contacts.

use async_trait::async_trait;

use crate::domain::contact::{Contact, SignUp, Subscription};
use crate::domain::email::EmailAddress;
use crate::domain::time::Timestamp;

use super::StoreError;

/// Keeps the newsletter's contacts.
#[async_trait]
pub trait ContactStore: Send + Sync {
    /// Creates the contact or updates when it was last seen. When this returns `Ok` the change
    /// survives a power cut. Of several racing sign-ups of one address exactly one is
    /// [`Subscription::Created`].
    ///
    /// # Errors
    /// [`StoreError`] when the change was not kept; nothing of it is left then.
    async fn subscribe(&self, sign_up: SignUp) -> Result<Subscription, StoreError>;

    /// What is kept of an address.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the store cannot be read.
    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError>;

    /// Erases an address, as durably as it was kept. Says whether there was one.
    ///
    /// # Errors
    /// [`StoreError`] when the erasure was not kept.
    async fn forget(&self, email: &EmailAddress, now: Timestamp) -> Result<bool, StoreError>;

    /// Whether the store takes writes.
    ///
    /// # Errors
    /// [`StoreError`] when it does not.
    async fn check(&self) -> Result<(), StoreError>;
}
