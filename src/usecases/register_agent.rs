//! Registering an agent. Nothing is stored: registrations and tokens carry a MAC.

use crate::domain::{AccessToken, Client, PolicyName, Registration, Timestamp};
use crate::ports::{Entropy, random};

use super::issue_token::TokenIssued;
use super::meter::{ChargeError, Meter};

/// Registers an agent and issues its first token.
pub async fn register_agent(
    entropy: &dyn Entropy,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
) -> Result<TokenIssued, ChargeError> {
    let subjects = [(PolicyName::Agents, client.network_subject())];
    let charged = meter.charge(client.network, &subjects, now).await?;
    meter.metrics.agents.increase();
    let registration = Registration::new(random(entropy), now);
    Ok(TokenIssued {
        token: AccessToken::new(registration, now),
        decision: charged.decision,
    })
}
