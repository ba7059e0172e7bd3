//! What the operator does with API keys.

use futures_util::StreamExt as _;

use crate::domain::credential::{KeyName, KeyRecord, KeyState};
use crate::domain::time::Timestamp;
use crate::ports::{KeyIssuer, StoreError};

/// The key that `name` is of. A key that is given whole is looked up, for anything else all keys may be
/// read.
///
/// # Errors
/// [`StoreError`] when the store cannot be read.
pub async fn find(keys: &dyn KeyIssuer, name: &KeyName) -> Result<Option<KeyRecord>, StoreError> {
    if let KeyName::Whole(key) = name {
        return keys.find(&key.fingerprint()).await;
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

/// A key that the operator wanted to revoke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokedKey {
    /// The key as it is now.
    pub record: KeyRecord,
    /// What it was before. Only an active key is revoked, others are left as they are.
    pub before: KeyState,
}

/// Revokes the key that `name` is of, if there is one.
///
/// # Errors
/// [`StoreError`] when it may still be active.
pub async fn revoke(
    keys: &dyn KeyIssuer,
    name: &KeyName,
    now: Timestamp,
) -> Result<Option<RevokedKey>, StoreError> {
    let Some(mut record) = find(keys, name).await? else {
        return Ok(None);
    };
    let before = record.state(now);
    if before == KeyState::Active && keys.revoke(&record.fingerprint, now).await? {
        record.revoked_at = Some(now);
    }
    Ok(Some(RevokedKey { record, before }))
}
