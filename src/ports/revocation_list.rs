//! The revoked registrations of agents.

use async_trait::async_trait;

use crate::domain::{Registration, RevokedRegistration, Timestamp};

use super::{PageStream, StoreError};

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
