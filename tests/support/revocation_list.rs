//! Revocations in a list.

use async_trait::async_trait;

use landing_api::domain::time::Timestamp;
use landing_api::domain::{Registration, RevokedRegistration};
use landing_api::ports::{PageStream, RevocationList, StoreError};

use super::fault::Faulty;
use super::pages;

/// Revocations in the order in which they came, never dropped.
pub(crate) type MemoryRevocationList = Faulty<Vec<RevokedRegistration>>;

#[async_trait]
impl RevocationList for MemoryRevocationList {
    async fn revoke(
        &self,
        registration: &Registration,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut revoked = self.get()?;
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
        let revoked = self.get()?;
        Ok(revoked.iter().any(|it| it.registration == *registration))
    }

    async fn list(&self) -> Result<PageStream<RevokedRegistration>, StoreError> {
        Ok(pages(self.get()?.clone()))
    }
}
