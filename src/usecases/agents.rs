//! Registering agents, and issuing them access tokens. Nothing is stored: registrations and tokens carry a MAC.

use crate::domain::{AccessToken, Client, Decision, PolicyName, Registration, Timestamp};
use crate::ports::{Entropy, StoreError, random};

use super::authenticate::Credentials;
use super::meter::{ChargeError, Meter};

/// An issued token, and with it its registration.
#[derive(Debug)]
pub struct TokenIssued {
    pub token: AccessToken,
    /// The standing of the `agents` policy.
    pub decision: Decision,
}

/// Why no token was issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueTokenError {
    /// The client id or its secret is wrong, expired or revoked. The response doesn't say which.
    #[error("client is not valid")]
    InvalidClient,
    /// The `agents` policy refuses, or the limiter can't decide.
    #[error(transparent)]
    NotCharged(#[from] ChargeError),
    /// The revocation list could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Registers an agent and issues its first token.
pub async fn register_agent(
    entropy: &dyn Entropy,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
) -> Result<TokenIssued, ChargeError> {
    let issued = issue(meter, client, Registration::new(random(entropy), now), now).await?;
    meter.metrics.agents.increase();
    Ok(issued)
}

/// Issues a token for the registration `client_id`. Failed attempts are not charged to `agents`: a secret of
/// 256 bits can't be guessed.
pub async fn issue_token(
    credentials: Credentials<'_>,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
    client_id: &str,
    client_secret: &str,
) -> Result<TokenIssued, IssueTokenError> {
    let registration = Registration::from_client_id(client_id)
        .filter(|agent| agent.has_secret(client_secret, &credentials.secrets.client_secret))
        .filter(|agent| agent.is_active(now))
        .ok_or(IssueTokenError::InvalidClient)?;
    if credentials.revocations.is_revoked(&registration).await? {
        return Err(IssueTokenError::InvalidClient);
    }
    Ok(issue(meter, client, registration, now).await?)
}

async fn issue(
    meter: Meter<'_>,
    client: &Client,
    registration: Registration,
    now: Timestamp,
) -> Result<TokenIssued, ChargeError> {
    let subjects = [(PolicyName::Agents, client.network_subject())];
    let charged = meter.charge(client.network, &subjects, now).await?;
    Ok(TokenIssued {
        token: AccessToken::new(registration, now),
        decision: charged.decision,
    })
}
