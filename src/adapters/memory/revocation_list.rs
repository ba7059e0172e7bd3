//! Revocations in a set.

use std::collections::HashSet;
use std::sync::Mutex;

use async_trait::async_trait;

use crate::domain::agent::Registration;
use crate::domain::credential::Fingerprint;
use crate::domain::time::Timestamp;
use crate::ports::{RevocationList, StoreError};

use super::fault::Fault;
use super::lock;

/// Revocations in a set, never dropped. It can be set to fail.
#[derive(Debug, Default)]
pub struct MemoryRevocationList {
    revoked: Mutex<HashSet<Fingerprint>>,
    fault: Fault,
}

impl MemoryRevocationList {
    /// From now on every call fails with `failure`, or works again.
    pub fn fail_with(&self, failure: Option<StoreError>) {
        self.fault.set(failure);
    }
}

#[async_trait]
impl RevocationList for MemoryRevocationList {
    async fn revoke(
        &self,
        registration: &Registration,
        _now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.fault.check()?;
        Ok(lock(&self.revoked).insert(registration.fingerprint()))
    }

    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError> {
        self.fault.check()?;
        Ok(lock(&self.revoked).contains(&registration.fingerprint()))
    }
}
