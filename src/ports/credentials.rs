//! Free API keys, and the revoked registrations of agents.

use async_trait::async_trait;

use crate::domain::{Fingerprint, KeyRecord, Registration, RevokedRegistration, Timestamp};

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

/// Stores revoked registrations of agents, and nothing of any others.
#[async_trait]
pub trait RevocationList: Send + Sync {
    /// Revokes a registration durably, and with it its client secret and all its tokens. Of several
    /// concurrent calls for one registration exactly one returns `true`.
    async fn revoke(&self, registration: &Registration, now: Timestamp)
    -> Result<bool, StoreError>;

    /// True if a registration was revoked. Unspecified after it has expired.
    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError>;

    /// The revoked registrations in the order of revocation, including expired ones that are not dropped
    /// yet.
    async fn list(&self) -> Result<PageStream<RevokedRegistration>, StoreError>;
}
