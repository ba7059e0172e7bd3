//! Ending a credential before its time.

use crate::domain::agent::AccessToken;
use crate::domain::credential::ApiKey;
use crate::domain::time::Timestamp;
use crate::ports::StoreError;

use super::admit::Credentials;

/// Revokes a key, or a token's registration and with it all that it was given. Whoever presents it
/// may: there is nobody else whom it could belong to. A token that has expired will do, as long as
/// its registration is good. What is good no longer, or never was, needs no revocation.
///
/// # Errors
/// [`StoreError`] when the key or the registration may still be good.
pub async fn revoke(
    credentials: Credentials<'_>,
    now: Timestamp,
    presented: &str,
) -> Result<(), StoreError> {
    let Credentials {
        keys,
        revocations,
        secrets,
    } = credentials;
    if let Some(token) = AccessToken::decode(presented, &secrets.access_token) {
        let registration = token.registration();
        if registration.is_active(now) && !revocations.is_revoked(registration).await? {
            revocations.revoke(registration, now).await?;
        }
        return Ok(());
    }
    let Ok(key) = ApiKey::parse(presented) else {
        return Ok(());
    };
    let fingerprint = key.fingerprint();
    let record = keys.find(&fingerprint).await?;
    if record.is_some_and(|record| record.is_active(now)) {
        keys.revoke(&fingerprint, now).await?;
    }
    Ok(())
}
