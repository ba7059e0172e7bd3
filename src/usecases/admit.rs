//! Authentication, and the limits that count every request.

use crate::domain::{
    AccessToken, ApiKey, Client, Decision, Fingerprint, KeyState, PolicyName, SecretKeys, Timestamp,
};
use crate::ports::{Admission, KeyIssuer, RevocationList, StoreError};

use super::meter::{Charges, Meter};

/// The sources for checking credentials.
#[derive(Clone, Copy)]
pub struct Credentials<'a> {
    /// The API keys.
    pub keys: &'a dyn KeyIssuer,
    /// The revoked registrations.
    pub revocations: &'a dyn RevocationList,
    /// The keys for tokens and client secrets.
    pub secrets: &'a SecretKeys,
}

/// Authenticates a token or a key, and returns the fingerprint its client is counted under; `None` if it is
/// malformed, unknown, expired or revoked. All tokens of a registration count as one client, so another token
/// gives no extra quota. The MAC or the check digits are verified first, so that garbage costs no look-up.
pub async fn authenticate(
    credentials: Credentials<'_>,
    now: Timestamp,
    presented: &str,
) -> Result<Option<Fingerprint>, StoreError> {
    if let Some(token) = AccessToken::decode(presented, &credentials.secrets.access_token) {
        let registration = &token.registration;
        let is_good =
            token.is_active(now) && !credentials.revocations.is_revoked(registration).await?;
        return Ok(is_good.then(|| registration.fingerprint()));
    }
    let Some(key) = ApiKey::parse(presented) else {
        return Ok(None);
    };
    let found = credentials.keys.find(&key.fingerprint()).await?;
    let active = found.filter(|record| record.state(now) == KeyState::Active);
    Ok(active.map(|record| record.fingerprint))
}

/// The policies that count every request.
pub const EVERY_REQUEST: [PolicyName; 2] = [PolicyName::Default, PolicyName::Ip];

/// Counts a request under the policies of [`EVERY_REQUEST`], if the limiter is in this process; false if it is not.
/// Writes to `decision`.
pub fn admit_now(
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
    decision: &mut Decision,
) -> bool {
    let charges = door_charges(meter, client);
    let mut admission = Admission::default();
    let is_decided = meter.acquire_now(&charges, now, &mut admission);
    *decision = admission.decision;
    is_decided
}

/// The charges of a request to the policies of [`EVERY_REQUEST`].
pub fn door_charges<'a>(meter: Meter<'a>, client: &Client) -> Charges<'a> {
    let [default, ip] = EVERY_REQUEST;
    let subjects = [(default, client.subject()), (ip, client.network_subject())];
    meter.charges(client.network, &subjects)
}

/// The refusal that awaits any request from the client's network, as far as it is known at once. Checked
/// before a credential is looked up, so that a networked store isn't queried for endless made-up ones.
pub fn known_refusal(meter: Meter<'_>, now: Timestamp, client: &Client) -> Option<Decision> {
    let charges = network_charges(meter, client);
    let peeked = meter.limiter.peek_now(&charges, now)?;
    let mut standing = *peeked.standings().first()?;
    standing.is_violated = standing.remaining() == 0;
    let mut decision = Decision::default();
    decision.push(standing);
    decision.is_refused().then_some(decision)
}

/// The charges of a request to the client's network alone.
pub fn network_charges<'a>(meter: Meter<'a>, client: &Client) -> Charges<'a> {
    let subjects = [(PolicyName::Ip, client.network_subject())];
    meter.charges(client.network, &subjects)
}
