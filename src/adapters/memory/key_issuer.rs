//! Keys in a map.

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;

use crate::domain::credential::{Fingerprint, KeyRecord};
use crate::domain::time::Timestamp;
use crate::ports::{KeyIssuer, StoreError};

use super::fault::Fault;
use super::lock;

/// Keys in a map. It can be set to fail.
#[derive(Debug, Default)]
pub struct MemoryKeyIssuer {
    keys: Mutex<HashMap<Fingerprint, KeyRecord>>,
    fault: Fault,
}

impl MemoryKeyIssuer {
    /// From now on every call fails with `failure`, or works again.
    pub fn fail_with(&self, failure: Option<StoreError>) {
        self.fault.set(failure);
    }
}

#[async_trait]
impl KeyIssuer for MemoryKeyIssuer {
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError> {
        self.fault.check()?;
        lock(&self.keys).insert(record.fingerprint, record);
        Ok(())
    }

    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError> {
        self.fault.check()?;
        Ok(lock(&self.keys).get(fingerprint).cloned())
    }

    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError> {
        self.fault.check()?;
        match lock(&self.keys).get_mut(fingerprint) {
            Some(record) if record.revoked_at.is_none() => {
                record.revoked_at = Some(now);
                Ok(true)
            }
            Some(_) | None => Ok(false),
        }
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.fault.check()
    }
}
