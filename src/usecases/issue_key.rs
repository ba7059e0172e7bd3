//! Issuing a free API key.

use crate::domain::{ApiKey, Client, Decision, KeyRecord, Label, PolicyName, Subject, Timestamp};
use crate::ports::{Entropy, EntropyError, KeyIssuer, StoreError};

use super::meter::{ChargeError, Meter};

#[derive(Debug)]
pub struct Issued {
    /// The key, shown only once.
    pub key: ApiKey,
    pub record: KeyRecord,
    /// The standing of the policies on keys.
    pub decision: Decision,
}

/// Why no credential was issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error(transparent)]
    NotCharged(#[from] ChargeError),
    /// It couldn't be stored. The charge was refunded.
    #[error("{1}")]
    Store(Decision, StoreError),
    /// There were no random bytes.
    #[error("{1}")]
    Entropy(Decision, EntropyError),
}

/// Issues a key that expires `lifetime_ms` from now.
pub async fn issue_key(
    keys: &dyn KeyIssuer,
    entropy: &dyn Entropy,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
    lifetime_ms: u64,
    label: Option<Label>,
) -> Result<Issued, IssueError> {
    let subjects = [
        (PolicyName::Keys, client.network_subject()),
        (PolicyName::KeysPrefix, Subject::Prefix(client.network)),
        (PolicyName::KeysAll, Subject::Everyone),
    ];
    let charged = meter.charge(client.network, &subjects, now).await?;
    let key = match ApiKey::mint(|bytes| entropy.fill(bytes)) {
        Ok(key) => key,
        Err(error) => {
            let decision = meter.refund_all(charged).await;
            return Err(IssueError::Entropy(decision, error));
        }
    };
    let record = KeyRecord {
        fingerprint: key.fingerprint(),
        id: key.id(),
        label,
        issued_at: now,
        expires_at: now.plus_ms(lifetime_ms),
        revoked_at: None,
    };
    match keys.issue(record.clone()).await {
        Ok(()) => {
            meter.metrics.keys.increase();
            Ok(Issued {
                key,
                record,
                decision: charged.decision,
            })
        }
        Err(error) => {
            let decision = meter.refund_all(charged).await;
            Err(IssueError::Store(decision, error))
        }
    }
}
