//! The free API keys.

use async_trait::async_trait;

use crate::domain::{Fingerprint, KeyRecord, Timestamp};

use super::{PageStream, StoreError};

/// Stores the free API keys by fingerprint.
#[async_trait]
pub trait KeyIssuer: Send + Sync {
    /// Stores a new key durably.
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError>;

    /// The key with this fingerprint. Revoked and expired keys are found until they are dropped.
    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError>;

    /// All keys in the order of issue, including revoked and expired keys that are not dropped yet.
    async fn list(&self) -> Result<PageStream<KeyRecord>, StoreError>;

    /// Revokes a key durably. Returns whether it existed and was not revoked before.
    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError>;

    /// Fails if the store is known not to be writable. Does not wait.
    fn check(&self) -> Result<(), StoreError>;
}
