//! Revoking a credential before it expires.

use crate::domain::agent::AccessToken;
use crate::domain::credential::ApiKey;
use crate::domain::time::Timestamp;
use crate::ports::StoreError;

use super::admit::Credentials;

/// Revokes an API key, or the registration of an access token with all its tokens. Possessing the
/// credential is sufficient authorisation. An expired token is accepted while its registration is
/// active. An invalid credential is ignored (RFC 7009, section 2.2).
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
