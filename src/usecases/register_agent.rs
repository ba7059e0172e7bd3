//! Registering an agent. Nothing is stored: registrations and tokens carry a MAC.

use crate::domain::{AccessToken, Client, Decision, PolicyName, Registration, Timestamp};
use crate::ports::{Entropy, random};

use super::meter::{ChargeError, Meter};

/// A registered agent.
#[derive(Debug)]
pub struct Registered {
    /// Its client id and the expiry of its secret.
    pub registration: Registration,
    /// Its first token.
    pub token: AccessToken,
    /// The standing of the `agents` policy.
    pub decision: Decision,
}

/// Registers an agent and issues its first token.
pub async fn register_agent(
    entropy: &dyn Entropy,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
) -> Result<Registered, ChargeError> {
    let subjects = [(PolicyName::Agents, client.network_subject())];
    let charged = meter.charge(client.network, &subjects, now).await?;
    meter.metrics.agents.increase();
    let registration = Registration::new(random(entropy), now);
    Ok(Registered {
        registration,
        token: AccessToken::new(registration, now),
        decision: charged.decision,
    })
}
