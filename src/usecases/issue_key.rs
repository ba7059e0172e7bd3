//! Issuing a free API key.

use crate::domain::{ApiKey, Client, Decision, KeyRecord, Label, PolicyName, Subject, Timestamp};
use crate::ports::{Entropy, KeyIssuer, StoreError};

use super::meter::{ChargeError, Meter};

#[derive(Debug)]
pub struct Issued {
    /// The key, shown only once.
    pub key: ApiKey,
    pub record: KeyRecord,
    /// The standing of the policies on keys.
    pub decision: Decision,
}

/// Why no key was issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error(transparent)]
    NotCharged(#[from] ChargeError),
    /// It couldn't be stored. The charge was refunded.
    #[error("{1}")]
    Store(Decision, StoreError),
}

/// Issues a key.
pub async fn issue_key(
    keys: &dyn KeyIssuer,
    entropy: &dyn Entropy,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
    label: Option<Label>,
) -> Result<Issued, IssueError> {
    let subjects = [
        (PolicyName::Keys, client.network_subject()),
        (PolicyName::KeysPrefix, Subject::Prefix(client.network)),
        (PolicyName::KeysAll, Subject::Everyone),
    ];
    let charged = meter.charge(client.network, &subjects, now).await?;
    let key = ApiKey::mint(|bytes| entropy.fill(bytes));
    let record = KeyRecord {
        fingerprint: key.fingerprint(),
        id: key.id(),
        label,
        issued_at: now,
        expires_at: now.plus_ms(ApiKey::LIFETIME_MS),
        revoked_at: None,
    };
    if let Err(error) = keys.issue(record.clone()).await {
        let decision = meter.refund_all(charged).await;
        return Err(IssueError::Store(decision, error));
    }
    meter.metrics.keys.increase();
    Ok(Issued {
        key,
        record,
        decision: charged.decision,
    })
}
