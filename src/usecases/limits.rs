//! What the operator asks about limits: who uses them up, what somebody has left, and a fresh start.

use crate::domain::agent::{AccessToken, Registration};
use crate::domain::client::{LimitKey, Network, Subject};
use crate::domain::credential::{ApiKey, Fingerprint};
use crate::domain::decision::Standing;
use crate::domain::email::EmailAddress;
use crate::domain::policy::{PolicyName, Quota};
use crate::domain::secret::SecretKeys;
use crate::domain::time::Timestamp;
use crate::ports::{LimiterError, WindowSet};

use super::meter::Meter;

/// A policy as it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyUsage {
    /// The policy.
    pub policy: PolicyName,
    /// Its limit; none if it is off.
    pub quota: Option<Quota>,
    /// The fullest windows, the fullest first.
    pub busiest: Vec<WindowUsage>,
}

/// A window and its standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowUsage {
    /// Who is counted, as a hash.
    pub key: LimitKey,
    /// What is used and left.
    pub standing: Standing,
}

/// Every policy with its `most` fullest windows.
///
/// # Errors
/// [`LimiterError`] when the limiter cannot be read.
pub async fn show_limits(
    meter: Meter<'_>,
    most: usize,
    now: Timestamp,
) -> Result<Vec<PolicyUsage>, LimiterError> {
    let mut policies = Vec::with_capacity(PolicyName::ALL.len());
    for policy in PolicyName::ALL {
        let quota = meter.policies.quota(policy);
        let mut busiest = Vec::new();
        if let Some(quota) = quota {
            let windows = meter.limiter.busiest(policy, quota, most, now).await?;
            busiest.extend(windows.into_iter().map(|window| WindowUsage {
                key: window.key,
                standing: Standing {
                    policy,
                    quota,
                    usage: window.usage,
                    is_violated: window.usage.counted >= quota.count(),
                },
            }));
        }
        policies.push(PolicyUsage {
            policy,
            quota,
            busiest,
        });
    }
    Ok(policies)
}

/// Somebody whom policies count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClientIdentity<'a> {
    /// A network, as far as it presents no credential.
    Network(Network),
    /// An API key, or an agent.
    Credential(Fingerprint),
    /// An address that is signed up from a network.
    SignUp(Network, &'a EmailAddress),
}

impl ClientIdentity<'_> {
    /// The API key, the token or the client id of an agent.
    pub fn from_credential(text: &str, secrets: &SecretKeys) -> Option<Self> {
        let fingerprint = match ApiKey::parse(text) {
            Ok(key) => key.fingerprint(),
            Err(_) => match AccessToken::decode(text, &secrets.access_token) {
                Some(token) => token.registration().fingerprint(),
                None => Registration::from_client_id(text)?.fingerprint(),
            },
        };
        Some(Self::Credential(fingerprint))
    }

    /// The policies that count it, each with the subject that it counts. Visitors of the assistant are
    /// counted by their cookies, which nobody can name.
    fn subjects(&self) -> Vec<(PolicyName, Subject<'_>)> {
        match self {
            Self::Network(network) => {
                let whole = Subject::Network(*network);
                let end_site = Subject::Network(network.end_site());
                vec![
                    (PolicyName::Default, whole),
                    (PolicyName::Ip, whole),
                    (PolicyName::Keys, whole),
                    (PolicyName::Agents, whole),
                    (PolicyName::NewsletterIp, end_site),
                    (PolicyName::Assistant, whole),
                    (PolicyName::AssistantIp, end_site),
                    (PolicyName::NewsletterForm, end_site),
                ]
            }
            Self::Credential(fingerprint) => {
                let credential = Subject::Credential(fingerprint);
                vec![
                    (PolicyName::Default, credential),
                    (PolicyName::Assistant, credential),
                ]
            }
            Self::SignUp(network, email) => {
                vec![(PolicyName::Newsletter, Subject::SignUp(*network, email))]
            }
        }
    }
}

/// What `identity` has left under each policy that counts it. Policies that are off are left out.
///
/// # Errors
/// [`LimiterError`] when the limiter cannot be read.
pub async fn show_identity(
    meter: Meter<'_>,
    identity: ClientIdentity<'_>,
    now: Timestamp,
) -> Result<Vec<WindowUsage>, LimiterError> {
    let mut usages = Vec::new();
    for (policy, subject) in identity.subjects() {
        let network = match subject {
            Subject::Network(network) | Subject::SignUp(network, _) => network,
            Subject::Credential(_) | Subject::Visitor(_) | Subject::Everyone => Network::Unknown,
        };
        for charge in meter.charges(network, &[(policy, subject)]) {
            let decision = meter.limiter.peek(&[charge], now).await?;
            let key = charge.key;
            let standings = decision.standings().iter();
            usages.extend(standings.map(|&standing| WindowUsage { key, standing }));
        }
    }
    Ok(usages)
}

/// Forgets what `identity` has used, under `only` alone if there is one, and returns in how many windows. A
/// window that it shares with its
/// neighbours, because the limiter is full, stays.
///
/// # Errors
/// [`LimiterError`] when some of it may still count.
pub async fn reset_identity(
    meter: Meter<'_>,
    identity: ClientIdentity<'_>,
    only: Option<PolicyName>,
) -> Result<usize, LimiterError> {
    let mut count = 0;
    let mut subjects = identity.subjects();
    subjects.retain(|(policy, _)| only.is_none_or(|only| only == *policy));
    for (policy, subject) in subjects {
        let key = LimitKey::new(meter.key, policy, subject);
        count += meter.limiter.reset(WindowSet::Window(key)).await?;
    }
    Ok(count)
}
