//! The newsletter's contacts.

use async_trait::async_trait;

use crate::domain::contact::{Contact, SignUp, Subscription};
use crate::domain::email::EmailAddress;
use crate::domain::time::Timestamp;

use super::StoreError;

/// Keeps the newsletter's contacts.
#[async_trait]
pub trait ContactStore: Send + Sync {
    /// Creates the contact, or updates when it was last seen and by whom. `Ok` means that the change
    /// is durable. Concurrent sign-ups of one address take effect one after the other, so exactly one
    /// is [`Subscription::Created`].
    ///
    /// # Errors
    /// [`StoreError`] when nothing was changed.
    async fn subscribe(&self, sign_up: SignUp) -> Result<Subscription, StoreError>;

    /// The contact with this address.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the store cannot be read.
    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError>;

    /// Erases a contact durably and returns whether there was one.
    ///
    /// # Errors
    /// [`StoreError`] when nothing was erased.
    async fn forget(&self, email: &EmailAddress, now: Timestamp) -> Result<bool, StoreError>;

    /// Whether the store takes writes.
    ///
    /// # Errors
    /// [`StoreError`] when it does not.
    async fn check(&self) -> Result<(), StoreError>;
}
