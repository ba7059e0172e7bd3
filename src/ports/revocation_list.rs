//! The registrations of agents that are good no longer.

use async_trait::async_trait;

use crate::domain::agent::Registration;
use crate::domain::time::Timestamp;

use super::StoreError;

/// Keeps which registrations of agents were revoked. Of the others nothing is kept.
#[async_trait]
pub trait RevocationList: Send + Sync {
    /// Revokes a registration, and with it its client secret and every token. When this returns
    /// `Ok` the revocation survives a power cut. Of several racing ones exactly one is told that
    /// it was the first.
    ///
    /// # Errors
    /// [`StoreError`] when the revocation was not kept.
    async fn revoke(&self, registration: &Registration, now: Timestamp)
    -> Result<bool, StoreError>;

    /// Whether a registration was revoked. Once it has expired the answer may be either.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the store cannot be read.
    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError>;
}
