//! Issuing a free API key.

use crate::domain::client::{Client, Subject};
use crate::domain::credential::{ApiKey, KeyRecord};
use crate::domain::decision::Decision;
use crate::domain::policy::PolicyName;
use crate::domain::text::Label;
use crate::domain::time::Timestamp;
use crate::ports::{Entropy, EntropyError, KeyIssuer, StoreError};

use super::meter::{ChargeError, Meter};

/// An issued key.
#[derive(Debug)]
pub struct Issued {
    /// The key. It is shown only once.
    pub key: ApiKey,
    /// Its stored record.
    pub record: KeyRecord,
    /// The standing of the policies on keys.
    pub decision: Decision,
}

/// Why no key was issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueKeyError {
    /// Too many keys, or the limiter cannot decide.
    #[error(transparent)]
    NotCharged(#[from] ChargeError),
    /// The key could not be stored. The charge was refunded.
    #[error("{1}")]
    Store(Decision, StoreError),
    /// No random bytes for the key.
    #[error("{1}")]
    Entropy(Decision, EntropyError),
}

/// Issues a key that expires `lifetime_ms` from now.
///
/// # Errors
/// [`IssueKeyError`] when no key was stored.
pub async fn issue_key(
    keys: &dyn KeyIssuer,
    entropy: &dyn Entropy,
    meter: Meter<'_>,
    now: Timestamp,
    client: &Client,
    lifetime_ms: u64,
    label: Option<Label>,
) -> Result<Issued, IssueKeyError> {
    let subjects = [
        (PolicyName::Keys, Subject::Network(client.network)),
        (PolicyName::KeysAll, Subject::Everyone),
    ];
    let charged = meter.charge(client.network, &subjects, now).await?;
    let key = match ApiKey::mint(|bytes| entropy.fill(bytes)) {
        Ok(key) => key,
        Err(error) => return Err(IssueKeyError::Entropy(charged.decision, error)),
    };
    let record = KeyRecord {
        fingerprint: key.fingerprint(),
        id: Some(key.id()),
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
            let decision = meter.refund_all(charged).await?;
            Err(IssueKeyError::Store(decision, error))
        }
    }
}
