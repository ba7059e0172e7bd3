//! The revoked registrations of agents.

use async_trait::async_trait;

use crate::domain::{Registration, RevokedRegistration, Timestamp};

use super::{PageStream, StoreError};

/// Keeps the revoked registrations of agents. Nothing is stored of others.
#[async_trait]
pub trait RevocationList: Send + Sync {
    /// Revokes a registration durably, and with it its client secret and all its tokens. Of
    /// concurrent calls for one registration exactly one returns `true`.
    async fn revoke(&self, registration: &Registration, now: Timestamp)
    -> Result<bool, StoreError>;

    /// Whether a registration was revoked. After it has expired the answer is unspecified.
    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError>;

    /// The revoked registrations in the order of revocation. Expired ones are among them until they are
    /// dropped.
    async fn list(&self) -> Result<PageStream<RevokedRegistration>, StoreError>;
}
