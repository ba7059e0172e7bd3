//! Revoking a credential before it expires.

use crate::domain::{
    AccessToken, ApiKey, KeyRecord, KeyState, Registration, Timestamp, macros::names,
};
use crate::ports::{KeyIssuer, RevocationList, StoreError};

use super::authenticate::Credentials;

/// The revoked credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revoked {
    Key(KeyRecord),
    /// A registration, with all its tokens.
    Agent(Registration),
}

/// Revokes an API key, or the registration of an access token with all its tokens. Possessing the
/// credential is sufficient authorisation. An expired token is accepted while its registration is
/// active. An invalid credential is ignored (RFC 7009, section 2.2): `None` if nothing was revoked.
pub async fn revoke(
    credentials: Credentials<'_>,
    now: Timestamp,
    presented: &str,
) -> Result<Option<Revoked>, StoreError> {
    if let Some(token) = AccessToken::decode(presented, &credentials.secrets.access_token) {
        let registration = &token.registration;
        let revocation = revoke_registration(credentials.revocations, registration, now).await?;
        let is_new = revocation == Revocation::Revoked;
        return Ok(is_new.then_some(Revoked::Agent(*registration)));
    }
    let Some(key) = ApiKey::parse(presented) else {
        return Ok(None);
    };
    let Some(record) = credentials.keys.find(&key.fingerprint()).await? else {
        return Ok(None);
    };
    let (revocation, record) = revoke_key(credentials.keys, record, now).await?;
    Ok((revocation == Revocation::Revoked).then_some(Revoked::Key(record)))
}

names! {
    /// Outcome of a revocation. Whatever it is, the credential is refused from now on.
    pub enum Revocation {
        Revoked => "revoked",
        RevokedBefore => "revoked before",
        ExpiredBefore => "expired before",
    }
}

/// Revokes the key of `record`, and returns its new record.
///
/// # Errors
/// [`StoreError`] when it may still be active.
pub async fn revoke_key(
    keys: &dyn KeyIssuer,
    mut record: KeyRecord,
    now: Timestamp,
) -> Result<(Revocation, KeyRecord), StoreError> {
    let revocation = match record.state(now) {
        KeyState::Active => {
            if keys.revoke(&record.fingerprint, now).await? {
                record.revoked_at = Some(now);
            }
            Revocation::Revoked
        }
        KeyState::Revoked => Revocation::RevokedBefore,
        KeyState::Expired => Revocation::ExpiredBefore,
    };
    Ok((revocation, record))
}

/// Revokes a registration. Registrations are not stored, so one that was never made can be revoked, too.
///
/// # Errors
/// [`StoreError`] when it may still be active.
pub async fn revoke_registration(
    revocations: &dyn RevocationList,
    registration: &Registration,
    now: Timestamp,
) -> Result<Revocation, StoreError> {
    if !registration.is_active(now) {
        return Ok(Revocation::ExpiredBefore);
    }
    let is_first = !revocations.is_revoked(registration).await?
        && revocations.revoke(registration, now).await?;
    Ok(if is_first {
        Revocation::Revoked
    } else {
        Revocation::RevokedBefore
    })
}
