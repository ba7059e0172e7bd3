//! API keys.

use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};

use crate::domain::{KeyName, KeyRecord, Timestamp};
use crate::ports::{KeyIssuer, StoreError};
use crate::usecases::revoke::revoke_key;

use super::operation::{Answer, OperatorError, OperatorRequest};

pub const LIST: &str = "keys list";
pub const CHECK: &str = "keys check";
pub const REVOKE: &str = "keys revoke";

/// A key. Times are in RFC 3339.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeyRow {
    pub id: String,
    pub label: Option<String>,
    /// `active`, `expired` or `revoked`.
    pub state: String,
    pub issued_at: String,
    pub expires_at: String,
    pub revoked_at: Option<String>,
}

impl KeyRow {
    fn of(record: &KeyRecord, now: Timestamp) -> Self {
        Self {
            id: record.id.to_string(),
            label: record.label.as_ref().map(|label| label.as_str().to_owned()),
            state: record.state(now).as_str().to_owned(),
            issued_at: record.issued_at.to_rfc3339(),
            expires_at: record.expires_at.to_rfc3339(),
            revoked_at: record.revoked_at.map(Timestamp::to_rfc3339),
        }
    }
}

pub(super) async fn list(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let now = request.app.clock.now();
    let pages = request.app.keys.list().await?;
    tracing::info!(command = LIST, "operator");
    Answer::rows(pages, move |record| KeyRow::of(record, now))
}

/// Result for an id that no key has.
const UNKNOWN: &str = "unknown";

/// State of one key, or outcome of its revocation.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeyAnswer {
    /// The requested id.
    pub id: String,
    /// `unknown` if there is no key. For a check: `active`, `expired` or `revoked`. For a revocation:
    /// `revoked`, `revoked before` or `expired before`.
    pub result: String,
    /// The key as it is now, if it exists.
    pub key: Option<KeyRow>,
}

impl KeyAnswer {
    fn new(name: &KeyName, result: &str, key: Option<KeyRow>) -> Self {
        Self {
            id: name.id.to_string(),
            result: result.to_owned(),
            key,
        }
    }
}

/// Returns the state of the keys `key`: ids or whole keys.
pub(super) async fn check(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let now = request.app.clock.now();
    let mut answers = Vec::new();
    for name in names(&request)? {
        let found = find(&*request.app.keys, &name).await?;
        let row = found.map(|record| KeyRow::of(&record, now));
        let state = row.as_ref().map(|row| row.state.clone());
        answers.push(KeyAnswer::new(
            &name,
            state.as_deref().unwrap_or(UNKNOWN),
            row,
        ));
    }
    Answer::one(&answers)
}

/// Revokes the keys `key`: ids or whole keys. Only active keys are revoked; others are unchanged.
pub(super) async fn revoke(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let keys = &*request.app.keys;
    let now = request.app.clock.now();
    let mut answers = Vec::new();
    for name in names(&request)? {
        let Some(record) = find(keys, &name).await? else {
            answers.push(KeyAnswer::new(&name, UNKNOWN, None));
            continue;
        };
        let (revocation, record) = revoke_key(keys, record, now).await?;
        let result = revocation.as_str();
        let row = KeyRow::of(&record, now);
        tracing::info!(command = REVOKE, key.id = row.id, result, "operator");
        answers.push(KeyAnswer::new(&name, result, Some(row)));
    }
    Answer::one(&answers)
}

fn names(request: &OperatorRequest) -> Result<Vec<KeyName>, OperatorError> {
    let names = request.params.texts("key").into_iter().map(KeyName::parse);
    names.collect::<Option<_>>().ok_or_else(|| {
        OperatorError::Input(
            "not a key: give the 8 characters after lak_, or the whole key".to_owned(),
        )
    })
}

/// The key that `name` refers to. A whole key is looked up; for an id all keys may be read.
async fn find(keys: &dyn KeyIssuer, name: &KeyName) -> Result<Option<KeyRecord>, StoreError> {
    if let Some(fingerprint) = &name.fingerprint {
        return keys.find(fingerprint).await;
    }
    let mut pages = keys.list().await?;
    while let Some(page) = pages.next().await {
        let found = page?.into_iter().find(|record| name.is_of(record));
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
