//! What the operator does with API keys.

use futures_util::StreamExt as _;

use crate::domain::credential::{KeyName, KeyRecord, KeyState};
use crate::domain::time::Timestamp;
use crate::ports::{KeyIssuer, KeyStream, StoreError};

/// All keys, page by page, in the order of issue.
///
/// # Errors
/// [`StoreError`] when the store cannot be read.
pub async fn list(keys: &dyn KeyIssuer) -> Result<KeyStream, StoreError> {
    keys.list().await
}

/// The keys that `name` is of: none, one, or several that happen to have the same id. A key that is given
/// whole is looked up, for anything else all keys are read.
///
/// # Errors
/// [`StoreError`] when the store cannot be read.
pub async fn find(keys: &dyn KeyIssuer, name: &KeyName) -> Result<Vec<KeyRecord>, StoreError> {
    if let KeyName::Whole(key) = name {
        let found = keys.find(&key.fingerprint()).await?;
        return Ok(found.into_iter().collect());
    }
    let mut found = Vec::new();
    let mut pages = keys.list().await?;
    while let Some(page) = pages.next().await {
        found.extend(page?.into_iter().filter(|record| name.is_of(record)));
    }
    Ok(found)
}

/// A key that the operator wanted to revoke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokedKey {
    /// The key as it is now.
    pub record: KeyRecord,
    /// What it was before. Only an active key is revoked, others are left as they are.
    pub before: KeyState,
}

/// Why no key was revoked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RevokeKeyError {
    /// No key has this name.
    #[error("no key has this name")]
    Unknown,
    /// Several keys happen to have the same id.
    #[error("several keys have this id: name one by `fp:` and 12 digits, or give it whole")]
    Ambiguous(Vec<KeyRecord>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Revokes the key that `name` is of.
///
/// # Errors
/// [`RevokeKeyError`] when it may still be active.
pub async fn revoke(
    keys: &dyn KeyIssuer,
    name: &KeyName,
    now: Timestamp,
) -> Result<RevokedKey, RevokeKeyError> {
    let mut found = find(keys, name).await?;
    let Some(mut record) = found.pop() else {
        return Err(RevokeKeyError::Unknown);
    };
    if !found.is_empty() {
        found.push(record);
        return Err(RevokeKeyError::Ambiguous(found));
    }
    let before = record.state(now);
    if before == KeyState::Active && keys.revoke(&record.fingerprint, now).await? {
        record.revoked_at = Some(now);
    }
    Ok(RevokedKey { record, before })
}
