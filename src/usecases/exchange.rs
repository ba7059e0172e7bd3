//! A fresh access token for a client id and its secret.

use crate::domain::agent::{AccessToken, Registration};
use crate::domain::client::{Client, Subject};
use crate::domain::decision::Decision;
use crate::domain::policy::PolicyName;
use crate::domain::time::Timestamp;
use crate::ports::{LimiterError, StoreError};

use super::admit::Credentials;
use super::meter::Meter;

/// A token was issued.
#[derive(Debug)]
pub struct Exchanged {
    /// The token.
    pub token: AccessToken,
    /// How the `agents` policy stands.
    pub decision: Decision,
}

/// No token was issued.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// The client id or its secret is wrong, expired or revoked: the client is not told which.
    #[error("client is not valid")]
    InvalidClient,
    /// Too many registrations and tokens.
    #[error("rate limited")]
    Refused(Decision),
    /// It could not be looked up whether the registration was revoked.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The limiter cannot decide.
    #[error(transparent)]
    Limiter(#[from] LimiterError),
}

/// Issues a token of the registration that `client_id` names and `client_secret` proves. Only a
/// token that is issued counts: a secret of 256 bits is not found by trying.
///
/// # Errors
/// [`ExchangeError`] when no token was issued.
pub async fn exchange(
    credentials: Credentials<'_>,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
    client_id: &str,
    client_secret: &str,
) -> Result<Exchanged, ExchangeError> {
    let registration = Registration::from_client_id(client_id)
        .filter(|it| it.has_secret(client_secret, &credentials.secrets.client_secret))
        .filter(|it| it.is_active(now))
        .ok_or(ExchangeError::InvalidClient)?;
    if credentials.revocations.is_revoked(&registration).await? {
        return Err(ExchangeError::InvalidClient);
    }
    let charges = meter.charges(
        client.network,
        &[(PolicyName::Agents, Subject::Network(client.network))],
    );
    let decision = meter.limiter.acquire(&charges, now).await?.decision;
    if decision.is_refused() {
        return Err(ExchangeError::Refused(decision));
    }
    Ok(Exchanged {
        token: AccessToken::new(registration, now),
        decision,
    })
}
