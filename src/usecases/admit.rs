//! The door: who is asking, and may they come in?

use crate::domain::agent::{AccessToken, Registration};
use crate::domain::client::{Client, Subject};
use crate::domain::credential::{ApiKey, Fingerprint};
use crate::domain::decision::Decision;
use crate::domain::policy::PolicyName;
use crate::domain::secret::SecretKeys;
use crate::domain::time::Timestamp;
use crate::ports::{KeyIssuer, LimiterError, RevocationList, StoreError};

use super::meter::Meter;

/// What is known of credentials.
#[derive(Clone, Copy)]
pub struct Credentials<'a> {
    /// Keeps the API keys.
    pub keys: &'a dyn KeyIssuer,
    /// Keeps which registrations were revoked.
    pub revocations: &'a dyn RevocationList,
    /// Tells our tokens and client secrets from others.
    pub secrets: &'a SecretKeys,
}

impl std::fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(..)")
    }
}

/// A credential that is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// An API key.
    Key(Fingerprint),
    /// An access token of this registration.
    Token(Registration),
}

impl Credential {
    /// Whom it is counted as. All tokens of a registration are one client, so that a further one
    /// buys nothing.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Key(fingerprint) => *fingerprint,
            Self::Token(registration) => registration.fingerprint(),
        }
    }
}

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

/// Looks a presented credential up: a token or a key. What it says itself is tried first, so that
/// garbage costs no look-up.
///
/// # Errors
/// [`AuthenticateError`] when it is not a credential that is good at `now`.
pub async fn authenticate(
    credentials: Credentials<'_>,
    now: Timestamp,
    presented: &str,
) -> Result<Credential, AuthenticateError> {
    if let Some(token) = AccessToken::decode(presented, &credentials.secrets.access_token) {
        let registration = *token.registration();
        if token.is_active(now) && !credentials.revocations.is_revoked(&registration).await? {
            return Ok(Credential::Token(registration));
        }
        return Err(AuthenticateError::Invalid);
    }
    let key = ApiKey::parse(presented).map_err(|_malformed| AuthenticateError::Invalid)?;
    match credentials.keys.find(&key.fingerprint()).await? {
        Some(record) if record.is_active(now) => Ok(Credential::Key(record.fingerprint)),
        Some(_) | None => Err(AuthenticateError::Invalid),
    }
}

/// The policies that count every request, in the order of their headers.
pub const DOOR: [PolicyName; 2] = [PolicyName::Default, PolicyName::Ip];

/// Counts a request under the policies of [`DOOR`]. A refusal is a decision, not an error.
///
/// # Errors
/// [`LimiterError`] when the limiter cannot decide.
pub async fn admit(
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
) -> Result<Decision, LimiterError> {
    let [default, ip] = DOOR;
    let subjects = [
        (default, client.subject()),
        (ip, Subject::Network(client.network)),
    ];
    let charges = meter.charges(client.network, &subjects);
    Ok(meter.limiter.acquire(&charges, now).await?.decision)
}
