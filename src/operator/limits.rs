//! Rate limits: their heaviest clients, remaining quotas, and resets.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::domain::{
    AccessToken, ApiKey, CountedBy, EmailAddress, Fingerprint, LimitKey, MacKey, Network,
    PolicyName, Pseudonym, Registration, SecretKeys, Standing, Subject,
};
use crate::ports::WindowSet;

use super::operation::{Answer, OperatorError, OperatorRequest, Params};

pub const SHOW: &str = "limits show";
pub const RESET: &str = "limits reset";

/// Default number of clients shown per policy.
const TOP: usize = 5;

/// Shows the remaining quotas of one client, given by `ip`, `ip` and `email`, `email` or `key`, under each policy that
/// counts it and is not off; or all policies with their `top` heaviest clients, optionally only `policy` or the
/// policy of `client`.
pub(super) async fn show(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let (app, params) = (&request.app, &request.params);
    let (meter, now) = (app.meter(), app.clock.now());
    // `name` is the one in today's log, if the policy counts networks. `reset_s` are the seconds until more is available.
    let client_row = |key: LimitKey, standing: &Standing| {
        json!({
            "client": key.to_hex(),
            "is_everyone": key.policy().map(PolicyName::counted_by) == Some(CountedBy::Everyone),
            "name": Pseudonym::of_key(&app.secrets, key, now).map(|name| name.to_string()),
            "used": standing.used(),
            "remaining": standing.remaining(),
            "reset_s": standing.reset_s(),
        })
    };
    let policy_row = |policy: PolicyName, clients: Vec<Value>| {
        json!({
            "policy": policy.as_str(),
            // Such as `8/15m`; null if it is off.
            "limit": meter.policies.quota(policy).map(|quota| quota.to_string()),
            "counts": policy.counted_by().as_str(),
            "clients": clients,
        })
    };
    let mut rows = Vec::new();
    if let Some(identity) = Identity::of(params, &app.secrets)? {
        let network = identity.network.unwrap_or(Network::Unknown);
        for (policy, subject) in identity.subjects(&app.secrets.limiter) {
            for charge in meter.charges(network, &[(policy, subject)]) {
                let decision = meter.limiter.peek(&[charge], now).await?;
                let standings = decision.standings().iter();
                let clients = standings.map(|standing| client_row(charge.key, standing));
                rows.push(policy_row(policy, clients.collect()));
            }
        }
        return Answer::one(&rows);
    }
    let client = client(params)?;
    let only = policy(params)?.or_else(|| client?.policy());
    let top = params.number("top").unwrap_or(TOP);
    let shown = PolicyName::ALL.into_iter();
    for policy in shown.filter(|policy| only.is_none_or(|only| only == *policy)) {
        let mut clients = Vec::new();
        if let Some(quota) = meter.policies.quota(policy) {
            let windows = meter.limiter.busiest(policy, quota, top, now).await?;
            clients.extend(windows.iter().map(|window| {
                let standing = Standing {
                    policy,
                    quota,
                    usage: window.usage,
                    is_violated: window.usage.counted >= quota.count(),
                };
                client_row(window.key, &standing)
            }));
        }
        rows.push(policy_row(policy, clients));
    }
    Answer::one(&rows)
}

/// Resets counts: of the client given by `ip`, `ip` and `email`, `email` or `key`, optionally only under `policy`; of
/// the hash `client`; of all clients under `policy`; or, with `all`, everything.
///
/// A client's window that it shares with its neighbours stays: because the limiter is full, or, unless its policy is
/// requested explicitly, because it is that of a prefix.
pub(super) async fn reset(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let (app, params) = (&request.app, &request.params);
    let only = policy(params)?;
    let identity = Identity::of(params, &app.secrets)?;
    let sets = match (&identity, client(params)?, only) {
        (Some(identity), None, only) => {
            let key = &app.secrets.limiter;
            let subjects = identity.subjects(key).into_iter();
            let own = subjects.filter(|(policy, _)| match only {
                Some(only) => only == *policy,
                None => policy.counted_by() != CountedBy::Prefix,
            });
            own.map(|(policy, subject)| WindowSet::Window(LimitKey::new(key, policy, subject)))
                .collect()
        }
        (None, Some(client), None) => vec![WindowSet::Window(client)],
        (None, None, Some(policy)) => vec![WindowSet::Policy(policy)],
        (None, None, None) if params.is_set("all") => vec![WindowSet::All],
        _ => {
            let whose = "specify whose limits to reset".to_owned();
            return Err(OperatorError::Input(whose));
        }
    };
    let mut windows = 0;
    for set in sets {
        windows += app.limiter.reset(set).await?;
    }
    tracing::info!(command = RESET, windows, "operator");
    Answer::one(&json!({"windows": windows}))
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

/// A client that policies count: a network, a credential, an address over all networks, or an address signed up from
/// a network.
struct Identity {
    network: Option<Network>,
    email: Option<EmailAddress>,
    /// An API key, or an agent.
    credential: Option<Fingerprint>,
}

impl Identity {
    /// That of `ip`, `email` and `key`; `None` without any of them.
    fn of(params: &Params, secrets: &SecretKeys) -> Result<Option<Self>, OperatorError> {
        let email = params.emails("email")?.pop();
        let network = params.parsed("ip", |ip| {
            let ip = ip.parse::<IpAddr>().map(Network::from);
            ip.map_err(|_no_address| "ip must be an IP address")
        })?;
        let credential = params.parsed("key", |key| {
            credential(key, secrets).ok_or(
                "--key must be a whole API key, a token or a client ID; the ID of a key is not enough",
            )
        })?;
        let is_named = email.is_some() || network.is_some() || credential.is_some();
        Ok(is_named.then_some(Self {
            network,
            email,
            credential,
        }))
    }

    /// The policies that count it, each with the subject it counts. Visitors of the assistant are counted by
    /// their cookies, which nobody can specify here.
    fn subjects(&self, key: &MacKey) -> Vec<(PolicyName, Subject<'_>)> {
        let email = self.email.as_ref();
        // With an address, only its policies are meant.
        let network = self.network.filter(|_| email.is_none());
        let of_network = network.map(|network| Subject::Network(network.hashed(key)));
        let subject = |policy: PolicyName| {
            let subject = match policy.counted_by() {
                CountedBy::SignUp => Subject::SignUp(self.network?, email?),
                CountedBy::Address => Subject::Mailbox(email?),
                CountedBy::Network => of_network?,
                CountedBy::Prefix => Subject::Prefix(network?),
                CountedBy::Client | CountedBy::Visitor => match &self.credential {
                    Some(credential) => Subject::Credential(credential),
                    None => of_network?,
                },
                CountedBy::Everyone => return None,
            };
            Some((policy, subject))
        };
        PolicyName::ALL.into_iter().filter_map(subject).collect()
    }
}

/// The API key, the token or the client id of an agent.
fn credential(text: &str, secrets: &SecretKeys) -> Option<Fingerprint> {
    if let Some(key) = ApiKey::parse(text) {
        return Some(key.fingerprint());
    }
    if let Some(token) = AccessToken::decode(text, &secrets.access_token) {
        return Some(token.registration.fingerprint());
    }
    Some(Registration::from_client_id(text)?.fingerprint())
}
