//! Revoking a credential before it expires.

use crate::domain::agent::{AccessToken, Registration};
use crate::domain::credential::{ApiKey, KeyRecord};
use crate::domain::time::Timestamp;
use crate::ports::StoreError;

use super::admit::Credentials;

/// What was revoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// An API key.
    Key(KeyRecord),
    /// A registration, with all its tokens.
    Agent(Registration),
    /// There was nothing to revoke.
    Nothing,
}

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
) -> Result<Revoked, StoreError> {
    let Credentials {
        keys,
        revocations,
        secrets,
    } = credentials;
    if let Some(token) = AccessToken::decode(presented, &secrets.access_token) {
        let registration = token.registration();
        let was_active =
            registration.is_active(now) && !revocations.is_revoked(registration).await?;
        let is_first = was_active && revocations.revoke(registration, now).await?;
        return Ok(match is_first {
            true => Revoked::Agent(*registration),
            false => Revoked::Nothing,
        });
    }
    let Ok(key) = ApiKey::parse(presented) else {
        return Ok(Revoked::Nothing);
    };
    let fingerprint = key.fingerprint();
    let record = keys.find(&fingerprint).await?;
    match record.filter(|record| record.is_active(now)) {
        Some(record) if keys.revoke(&fingerprint, now).await? => Ok(Revoked::Key(record)),
        Some(_) | None => Ok(Revoked::Nothing),
    }
}
