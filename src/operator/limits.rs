//! Rate limits: their heaviest clients, remaining quotas, and resets.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::{
    AccessToken, ApiKey, CountedBy, EmailAddress, Fingerprint, LimitKey, Network, PolicyName,
    Pseudonym, Registration, SecretKeys, Standing, Subject, Timestamp,
};
use crate::ports::{LimiterError, WindowSet};
use crate::usecases::meter::Meter;

use super::operation::{Answer, OperatorError, OperatorRequest, Params};

pub const SHOW: &str = "limits show";
pub const RESET: &str = "limits reset";

/// Default number of clients shown per policy.
const TOP: usize = 5;

/// A policy, or a client's remaining quota.
#[derive(Debug, Serialize, Deserialize)]
pub struct PolicyRow {
    pub policy: String,
    /// Such as `8/15m`; `None` if it is off.
    pub limit: Option<String>,
    /// The unit it counts by.
    pub counts: String,
    /// The heaviest first.
    pub clients: Vec<ClientRow>,
}

/// A client's use of a policy.
#[derive(Debug, Serialize, Deserialize)]
pub struct ClientRow {
    /// The client, as a keyed hash.
    pub client: String,
    /// Its name in today's log; `None` unless the policy counts networks.
    pub name: Option<String>,
    pub used: u32,
    pub remaining: u32,
    /// Seconds until more is available; the window's length if nothing is used.
    pub reset_s: u64,
}

impl PolicyRow {
    fn new(policy: PolicyName, meter: &Meter<'_>) -> Self {
        Self {
            policy: policy.as_str().to_owned(),
            limit: meter.policies.quota(policy).map(|quota| quota.to_string()),
            counts: policy.counted_by().as_str().to_owned(),
            clients: Vec::new(),
        }
    }
}

impl ClientRow {
    fn new(key: LimitKey, standing: &Standing, (keys, now): (&SecretKeys, Timestamp)) -> Self {
        let name = Pseudonym::of_key(keys, key, now);
        Self {
            client: key.to_hex(),
            name: name.map(|name| name.to_string()),
            used: standing.used(),
            remaining: standing.remaining(),
            reset_s: standing.reset_s(),
        }
    }
}

/// Shows the remaining quotas of one client, given by `ip`, `ip` and `email`, `email` or `key`; or all policies with
/// their `top` heaviest clients, optionally only `policy` or the policy of `client`.
pub(super) async fn show(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let (app, params) = (&request.app, &request.params);
    let (meter, now) = (app.meter(), app.clock.now());
    let email = email(params)?;
    if let Some(identity) = ClientIdentity::of(params, email.as_ref(), &app.secrets)? {
        return Answer::one(&left(meter, identity, (&app.secrets, now)).await?);
    }
    let client = client(params)?;
    let only = policy(params)?.or_else(|| client?.policy());
    let top = params.number("top").unwrap_or(TOP);
    let mut rows = Vec::new();
    for policy in PolicyName::ALL {
        if only.is_some_and(|only| only != policy) {
            continue;
        }
        let mut row = PolicyRow::new(policy, &meter);
        if let Some(quota) = meter.policies.quota(policy) {
            let windows = meter.limiter.busiest(policy, quota, top, now).await?;
            row.clients.extend(windows.iter().map(|window| {
                let standing = Standing {
                    policy,
                    quota,
                    usage: window.usage,
                    is_violated: window.usage.counted >= quota.count(),
                };
                ClientRow::new(window.key, &standing, (&app.secrets, now))
            }));
        }
        rows.push(row);
    }
    Answer::one(&rows)
}

/// Remaining quota of `identity` under each policy that counts it. Policies that are off are left out.
async fn left(
    meter: Meter<'_>,
    identity: ClientIdentity<'_>,
    (keys, now): (&SecretKeys, Timestamp),
) -> Result<Vec<PolicyRow>, LimiterError> {
    let mut rows = Vec::new();
    for (policy, subject) in identity.subjects() {
        let network = match subject {
            Subject::Network(network) | Subject::SignUp(network, _) | Subject::Prefix(network) => {
                network
            }
            Subject::NetworkHash(_)
            | Subject::Credential(_)
            | Subject::Mailbox(_)
            | Subject::Visitor(_)
            | Subject::Everyone => Network::Unknown,
        };
        for charge in meter.charges(network, &[(policy, subject)]) {
            let decision = meter.limiter.peek(&[charge], now).await?;
            rows.extend(decision.standings().iter().map(|standing| PolicyRow {
                clients: vec![ClientRow::new(charge.key, standing, (keys, now))],
                ..PolicyRow::new(policy, &meter)
            }));
        }
    }
    Ok(rows)
}

/// Resets counts: of the client given by `ip`, `ip` and `email`, `email` or `key`, optionally only under `policy`; of
/// the hash `client`; of all clients under `policy`; or, with `all`, everything.
pub(super) async fn reset(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let (app, params) = (&request.app, &request.params);
    let policy = policy(params)?;
    let email = email(params)?;
    let identity = ClientIdentity::of(params, email.as_ref(), &app.secrets)?;
    let windows = match (identity, client(params)?, policy) {
        (Some(identity), None, only) => reset_identity(app.meter(), identity, only).await?,
        (None, Some(client), None) => app.limiter.reset(WindowSet::Window(client)).await?,
        (None, None, Some(policy)) => app.limiter.reset(WindowSet::Policy(policy)).await?,
        (None, None, None) if params.is_set("all") => app.limiter.reset(WindowSet::All).await?,
        _ => {
            let whose = "say whose limits to reset".to_owned();
            return Err(OperatorError::Input(whose));
        }
    };
    tracing::info!(command = RESET, windows, "operator");
    Answer::one(&json!({"windows": windows}))
}

/// A window that `identity` shares with its neighbours stays: because the limiter is full, or, unless its
/// policy is requested explicitly, because it is that of a prefix.
async fn reset_identity(
    meter: Meter<'_>,
    identity: ClientIdentity<'_>,
    only: Option<PolicyName>,
) -> Result<usize, LimiterError> {
    let mut count = 0;
    for (policy, subject) in identity.subjects() {
        let is_shared = policy.counted_by() == CountedBy::Prefix;
        if only.map_or(!is_shared, |only| only == policy) {
            let key = LimitKey::new(meter.key, policy, subject);
            count += meter.limiter.reset(WindowSet::Window(key)).await?;
        }
    }
    Ok(count)
}

fn policy(params: &Params) -> Result<Option<PolicyName>, OperatorError> {
    let parse = |name: &str| PolicyName::from_name(name).ok_or("no policy has this name");
    params.parsed("policy", parse)
}

fn client(params: &Params) -> Result<Option<LimitKey>, OperatorError> {
    let parse =
        |hash: &str| LimitKey::from_hex(hash).ok_or("--client must be a hash from `limits show`");
    params.parsed("client", parse)
}

fn email(params: &Params) -> Result<Option<EmailAddress>, OperatorError> {
    let parse =
        |email: &str| EmailAddress::parse(email).map_err(|error| format!("the address {error}"));
    params.parsed("email", parse)
}

/// A client that policies count.
enum ClientIdentity<'a> {
    /// A network without a credential.
    Network(Network),
    /// An API key, or an agent.
    Credential(Fingerprint),
    /// An address signed up from a network.
    SignUp(Network, &'a EmailAddress),
    /// An address, over all networks.
    Address(&'a EmailAddress),
}

impl<'a> ClientIdentity<'a> {
    fn of(
        params: &Params,
        email: Option<&'a EmailAddress>,
        secrets: &SecretKeys,
    ) -> Result<Option<Self>, OperatorError> {
        let parse = |ip: &str| {
            let ip = ip.parse::<IpAddr>();
            ip.map_err(|_no_address| "ip must be an IP address")
        };
        if let Some(ip) = params.parsed("ip", parse)? {
            let network = Network::from(ip);
            return Ok(Some(match email {
                Some(email) => Self::SignUp(network, email),
                None => Self::Network(network),
            }));
        }
        let credential = params.parsed("key", |key| {
            Self::of_credential(key, secrets).ok_or(
                "--key must be a whole API key, a token or a client id; the id of a key is not enough",
            )
        })?;
        Ok(credential.or_else(|| email.map(Self::Address)))
    }

    /// The API key, the token or the client id of an agent.
    fn of_credential(text: &str, secrets: &SecretKeys) -> Option<Self> {
        let fingerprint = match ApiKey::parse(text) {
            Some(key) => key.fingerprint(),
            None => match AccessToken::decode(text, &secrets.access_token) {
                Some(token) => token.registration().fingerprint(),
                None => Registration::from_client_id(text)?.fingerprint(),
            },
        };
        Some(Self::Credential(fingerprint))
    }

    /// The policies that count it, each with the subject it counts. Visitors of the assistant are counted by
    /// their cookies, which nobody can specify here.
    fn subjects(&self) -> Vec<(PolicyName, Subject<'_>)> {
        let subject = |policy: PolicyName| {
            let subject = match (self, policy.counted_by()) {
                (
                    Self::Network(network),
                    CountedBy::Client | CountedBy::Visitor | CountedBy::Network,
                ) => Subject::Network(*network),
                (Self::Network(network), CountedBy::Prefix) => Subject::Prefix(*network),
                (Self::Credential(fingerprint), CountedBy::Client | CountedBy::Visitor) => {
                    Subject::Credential(fingerprint)
                }
                (Self::SignUp(network, email), CountedBy::SignUp) => {
                    Subject::SignUp(*network, email)
                }
                (Self::SignUp(_, email) | Self::Address(email), CountedBy::Address) => {
                    Subject::Mailbox(email)
                }
                _ => return None,
            };
            Some((policy, subject))
        };
        PolicyName::ALL.into_iter().filter_map(subject).collect()
    }
}
