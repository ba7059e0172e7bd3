//! Revoking a credential before it expires.

use crate::domain::agent::{AccessToken, Registration};
use crate::domain::credential::{ApiKey, KeyName, KeyRecord, KeyState};
use crate::domain::time::Timestamp;
use crate::ports::StoreError;

use super::admit::Credentials;
use super::agents::{self, AgentRevocation};
use super::keys;

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
        keys: key_issuer,
        revocations,
        secrets,
    } = credentials;
    if let Some(token) = AccessToken::decode(presented, &secrets.access_token) {
        let registration = token.registration();
        return Ok(
            match agents::revoke(revocations, registration, now).await? {
                AgentRevocation::Revoked => Revoked::Agent(*registration),
                AgentRevocation::AlreadyRevoked | AgentRevocation::Expired => Revoked::Nothing,
            },
        );
    }
    let Ok(key) = ApiKey::parse(presented) else {
        return Ok(Revoked::Nothing);
    };
    let revoked = keys::revoke(key_issuer, &KeyName::Whole(key), now).await?;
    let revoked = revoked.filter(|revoked| revoked.before == KeyState::Active);
    Ok(revoked.map_or(Revoked::Nothing, |revoked| Revoked::Key(revoked.record)))
}
