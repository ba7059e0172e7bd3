//! The free API keys.

use async_trait::async_trait;

use crate::domain::credential::{Fingerprint, KeyRecord};
use crate::domain::time::Timestamp;

use super::StoreError;

/// Keeps the free API keys, by fingerprint.
#[async_trait]
pub trait KeyIssuer: Send + Sync {
    /// Keeps a new key. When this returns `Ok` it survives a power cut.
    ///
    /// # Errors
    /// [`StoreError`] when it was not kept.
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError>;

    /// What is kept of a key, revoked and expired ones included for as long as they are kept.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the store cannot be read.
    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError>;

    /// Revokes a key as durably as it was issued. Says whether it was there and not yet revoked.
    ///
    /// # Errors
    /// [`StoreError`] when the revocation was not kept.
    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError>;

    /// Whether the store takes writes.
    ///
    /// # Errors
    /// [`StoreError`] when it does not.
    async fn check(&self) -> Result<(), StoreError>;
}
