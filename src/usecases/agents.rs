//! What the operator does with agents' registrations.

use crate::domain::agent::Registration;
use crate::domain::time::Timestamp;
use crate::ports::{RevocationList, StoreError};

/// What the revocation of a registration did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentRevocation {
    /// Its client secret and all its tokens are refused from now on.
    Revoked,
    /// They were refused already.
    AlreadyRevoked,
    /// Its time is over, so they are refused without a revocation.
    Expired,
}

/// Revokes a registration, which the operator names by its client id ([`Registration::from_client_id`]).
/// Registrations are not stored, so one that was never made can be revoked, too.
///
/// # Errors
/// [`StoreError`] when it may still be active.
pub async fn revoke(
    revocations: &dyn RevocationList,
    registration: &Registration,
    now: Timestamp,
) -> Result<AgentRevocation, StoreError> {
    if !registration.is_active(now) {
        return Ok(AgentRevocation::Expired);
    }
    let is_first = !revocations.is_revoked(registration).await?
        && revocations.revoke(registration, now).await?;
    Ok(match is_first {
        true => AgentRevocation::Revoked,
        false => AgentRevocation::AlreadyRevoked,
    })
}
