//! The free API keys.

use async_trait::async_trait;

use crate::domain::{Fingerprint, KeyRecord, Timestamp};

use super::{PageStream, StoreError};

/// Keeps the free API keys, by fingerprint.
#[async_trait]
pub trait KeyIssuer: Send + Sync {
    /// Stores a new key durably.
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError>;

    /// The key with this fingerprint. Revoked and expired keys are found until they are dropped.
    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError>;

    /// All keys in the order of issue. Revoked and expired keys are among them until they are dropped.
    async fn list(&self) -> Result<PageStream<KeyRecord>, StoreError>;

    /// Revokes a key durably and returns whether it existed and was not revoked before.
    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError>;

    /// Whether the store takes writes, as far as it knows at once.
    fn check(&self) -> Result<(), StoreError>;
}
