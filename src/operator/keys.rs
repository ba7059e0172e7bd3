//! API keys.

use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::domain::{ApiKey, Fingerprint, KeyId, KeyRecord, Label, Timestamp};
use crate::ports::{KeyIssuer, StoreError};
use crate::usecases::revoke::revoke_key;

use super::operation::{Answer, OperatorError, OperatorRequest};

pub const LIST: &str = "keys list";
pub const CHECK: &str = "keys check";
pub const REVOKE: &str = "keys revoke";

/// A key, whose state is `active`, `expired` or `revoked`. Times are in RFC 3339.
fn row(record: &KeyRecord, now: Timestamp) -> Value {
    json!({
        "id": record.id.to_string(),
        "label": record.label.as_ref().map(Label::as_str),
        "state": record.state(now).as_str(),
        "issued_at": record.issued_at.to_rfc3339(),
        "expires_at": record.expires_at.to_rfc3339(),
        "revoked_at": record.revoked_at.map(Timestamp::to_rfc3339),
    })
}

pub(super) async fn list(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let now = request.app.clock.now();
    let pages = request.app.keys.list().await?;
    tracing::info!(command = LIST, "operator");
    Answer::rows(pages, move |record| row(record, now))
}

/// Result for an id that no key has.
const UNKNOWN: &str = "unknown";

/// The result for a requested id, and the key as it is now, if it exists.
fn outcome(id: KeyId, result: &str, key: Option<KeyRecord>, now: Timestamp) -> Value {
    let key = key.map(|record| row(&record, now));
    json!({ "id": id.to_string(), "result": result, "key": key })
}

/// Returns the state of the keys `key`: ids or whole keys.
pub(super) async fn check(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let now = request.app.clock.now();
    let mut answers = Vec::new();
    for (id, whole) in named(&request)? {
        let key = find(&*request.app.keys, id, whole).await?;
        let state = key.as_ref().map(|record| record.state(now).as_str());
        answers.push(outcome(id, state.unwrap_or(UNKNOWN), key, now));
    }
    Answer::one(&answers)
}

/// Revokes the keys `key`: ids or whole keys. Only active keys are revoked; the result for others is `revoked
/// before` or `expired before`.
pub(super) async fn revoke(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let keys = &*request.app.keys;
    let now = request.app.clock.now();
    let mut answers = Vec::new();
    for (id, whole) in named(&request)? {
        let Some(record) = find(keys, id, whole).await? else {
            answers.push(outcome(id, UNKNOWN, None, now));
            continue;
        };
        let (revocation, record) = revoke_key(keys, record, now).await?;
        let result = revocation.as_str();
        tracing::info!(
            command = REVOKE,
            key.id = record.id.to_string(),
            result,
            "operator"
        );
        answers.push(outcome(id, result, Some(record), now));
    }
    Answer::one(&answers)
}

/// The ids of the requested keys, and the fingerprints of those that are whole.
fn named(request: &OperatorRequest) -> Result<Vec<(KeyId, Option<Fingerprint>)>, OperatorError> {
    let texts = request.params.texts("key").into_iter();
    let named = texts.map(|text| match ApiKey::parse(text) {
        Some(key) => Some((key.id(), Some(key.fingerprint()))),
        None => Some((KeyId::parse(text)?, None)),
    });
    named.collect::<Option<_>>().ok_or_else(|| {
        OperatorError::Input(
            "not a key: give the 8 characters after lak_, or the whole key".to_owned(),
        )
    })
}

/// The key with this fingerprint, or without one, with this id: then all keys may be read.
async fn find(
    keys: &dyn KeyIssuer,
    id: KeyId,
    whole: Option<Fingerprint>,
) -> Result<Option<KeyRecord>, StoreError> {
    if let Some(fingerprint) = whole {
        return keys.find(&fingerprint).await;
    }
    let mut pages = keys.list().await?;
    while let Some(page) = pages.next().await {
        let found = page?.into_iter().find(|record| record.id == id);
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
