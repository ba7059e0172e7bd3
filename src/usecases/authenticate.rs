//! Authenticating a client by its token or key.

use crate::domain::{AccessToken, ApiKey, Fingerprint, KeyState, SecretKeys, Timestamp};
use crate::ports::{KeyIssuer, RevocationList, StoreError};

/// The sources for checking credentials.
#[derive(Clone, Copy)]
pub struct Credentials<'a> {
    /// The API keys.
    pub keys: &'a dyn KeyIssuer,
    /// The revoked registrations.
    pub revocations: &'a dyn RevocationList,
    /// The keys for tokens and client secrets.
    pub secrets: &'a SecretKeys,
}

/// Authenticates a token or a key, and returns the fingerprint its client is counted under; `None` if it is
/// malformed, unknown, expired or revoked. All tokens of a registration count as one client, so another token
/// gives no extra quota. The MAC or the check digits are verified first, so that garbage costs no look-up.
pub async fn authenticate(
    credentials: Credentials<'_>,
    now: Timestamp,
    presented: &str,
) -> Result<Option<Fingerprint>, StoreError> {
    if let Some(token) = AccessToken::decode(presented, &credentials.secrets.access_token) {
        let registration = &token.registration;
        let is_good =
            token.is_active(now) && !credentials.revocations.is_revoked(registration).await?;
        return Ok(is_good.then(|| registration.fingerprint()));
    }
    let Some(key) = ApiKey::parse(presented) else {
        return Ok(None);
    };
    let found = credentials.keys.find(&key.fingerprint()).await?;
    let active = found.filter(|record| record.state(now) == KeyState::Active);
    Ok(active.map(|record| record.fingerprint))
}
