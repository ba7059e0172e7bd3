//! Revoking a credential before it expires.

use crate::domain::agent::AccessToken;
use crate::domain::credential::ApiKey;
use crate::domain::time::Timestamp;
use crate::ports::StoreError;

use super::admit::Credentials;

/// Revokes a key, or the registration of a token and so all of its tokens. Possession is
/// authorisation. An expired token will do while its registration is active. An invalid credential
/// is ignored (RFC 7009, section 2.2).
///
/// # Errors
/// [`StoreError`] when the key or the registration may still be active.
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
