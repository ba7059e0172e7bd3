//! Revocations in a list.

use std::sync::Mutex;

use async_trait::async_trait;

use landing_api::domain::time::Timestamp;
use landing_api::domain::{Registration, RevokedRegistration};
use landing_api::ports::{PageStream, RevocationList, StoreError};

use super::fault::Fault;
use super::{lock, pages};

/// Revocations in the order in which they came, never dropped. It can be set to fail.
#[derive(Debug, Default)]
pub(crate) struct MemoryRevocationList {
    revoked: Mutex<Vec<RevokedRegistration>>,
    fault: Fault,
}

impl MemoryRevocationList {
    /// From now on every call fails with `failure`, or works again.
    pub(crate) fn fail_with(&self, failure: Option<StoreError>) {
        self.fault.set(failure);
    }
}

#[async_trait]
impl RevocationList for MemoryRevocationList {
    async fn revoke(
        &self,
        registration: &Registration,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.fault.check()?;
        let mut revoked = lock(&self.revoked);
        let is_new = revoked.iter().all(|it| it.registration != *registration);
        if is_new {
            revoked.push(RevokedRegistration {
                registration: *registration,
                revoked_at: now,
            });
        }
        Ok(is_new)
    }

    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError> {
        self.fault.check()?;
        let revoked = lock(&self.revoked);
        Ok(revoked.iter().any(|it| it.registration == *registration))
    }

    async fn list(&self) -> Result<PageStream<RevokedRegistration>, StoreError> {
        self.fault.check()?;
        Ok(pages(lock(&self.revoked).clone()))
    }
}
