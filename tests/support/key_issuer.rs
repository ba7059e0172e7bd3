//! Keys in a list.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use async_trait::async_trait;

use landing_api::domain::credential::{Fingerprint, KeyRecord};
use landing_api::domain::time::Timestamp;
use landing_api::ports::{KeyIssuer, PageStream, StoreError};

use super::fault::Fault;
use super::{lock, pages};

/// Keys in the order of issue. It can be set to fail.
#[derive(Debug, Default)]
pub(crate) struct MemoryKeyIssuer {
    keys: Mutex<Vec<KeyRecord>>,
    fault: Fault,
    look_ups: AtomicUsize,
}

impl MemoryKeyIssuer {
    /// From now on every call fails with `failure`, or works again.
    pub(crate) fn fail_with(&self, failure: Option<StoreError>) {
        self.fault.set(failure);
    }

    /// How often a key was looked up.
    pub(crate) fn look_ups(&self) -> usize {
        self.look_ups.load(Relaxed)
    }
}

#[async_trait]
impl KeyIssuer for MemoryKeyIssuer {
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError> {
        self.fault.check()?;
        let mut keys = lock(&self.keys);
        keys.retain(|key| key.fingerprint != record.fingerprint);
        keys.push(record);
        Ok(())
    }

    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError> {
        self.look_ups.fetch_add(1, Relaxed);
        self.fault.check()?;
        let keys = lock(&self.keys);
        let found = keys.iter().find(|key| key.fingerprint == *fingerprint);
        Ok(found.cloned())
    }

    async fn list(&self) -> Result<PageStream<KeyRecord>, StoreError> {
        self.fault.check()?;
        Ok(pages(lock(&self.keys).clone()))
    }

    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError> {
        self.fault.check()?;
        let mut keys = lock(&self.keys);
        let found = keys.iter_mut().find(|key| key.fingerprint == *fingerprint);
        match found {
            Some(record) if record.revoked_at.is_none() => {
                record.revoked_at = Some(now);
                Ok(true)
            }
            Some(_) | None => Ok(false),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        self.fault.check()
    }
}
