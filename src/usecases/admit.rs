//! The door: who is asking, and may they come in?

use crate::domain::client::{Client, Subject};
use crate::domain::credential::{ApiKey, Fingerprint};
use crate::domain::decision::Decision;
use crate::domain::policy::PolicyName;
use crate::domain::time::Timestamp;
use crate::ports::{KeyIssuer, LimiterError, StoreError};

use super::meter::Meter;

/// Why a presented credential was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticateError {
    /// Malformed, unknown, expired or revoked: the client is not told which.
    #[error("credential is not valid")]
    Invalid,
    /// It could not be looked up.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Looks a presented credential up. Its check digits are tried first, so that garbage costs no
/// look-up.
///
/// # Errors
/// [`AuthenticateError`] when it is not a credential that is good at `now`.
pub async fn authenticate(
    keys: &dyn KeyIssuer,
    now: Timestamp,
    presented: &str,
) -> Result<Fingerprint, AuthenticateError> {
    let key = ApiKey::parse(presented).map_err(|_malformed| AuthenticateError::Invalid)?;
    match keys.find(&key.fingerprint()).await? {
        Some(record) if record.is_active(now) => Ok(record.fingerprint),
        Some(_) | None => Err(AuthenticateError::Invalid),
    }
}

/// Counts a request at the door, under `default` and `ip`.
///
/// # Errors
/// [`LimiterError`] when the limiter cannot decide. A refusal is a decision, not an error.
pub async fn admit(
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
) -> Result<Decision, LimiterError> {
    let who = match &client.credential {
        Some(fingerprint) => Subject::Credential(fingerprint),
        None => Subject::Network(client.network),
    };
    let charges = meter.charges(
        client.network,
        &[
            (PolicyName::Default, who),
            (PolicyName::Ip, Subject::Network(client.network)),
        ],
    );
    Ok(meter.limiter.acquire(&charges, now).await?.decision)
}
