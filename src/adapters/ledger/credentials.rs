//! The free API keys, and the agents' registrations that were revoked.

use async_trait::async_trait;

use crate::domain::{Fingerprint, KeyRecord, Registration, RevokedRegistration, Timestamp};
use crate::ports::{KeyIssuer, PageStream, RevocationList, StoreError};

use super::record::{Content as _, Identity, State};
use super::store::LedgerStore;

#[async_trait]
impl KeyIssuer for LedgerStore {
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError> {
        self.submit(Some(record.issued_at), move |draft| {
            draft.put(State::Key(record))
        })
        .await
    }

    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError> {
        self.look_up(Identity::key(fingerprint)).await
    }

    async fn list(&self) -> Result<PageStream<KeyRecord>, StoreError> {
        Ok(self.pages(KeyRecord::of))
    }

    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError> {
        let identity = Identity::key(fingerprint);
        self.submit(Some(now), move |draft| {
            let known: Option<KeyRecord> = draft.get(&identity)?;
            let Some(mut key) = known.filter(|key| key.revoked_at.is_none()) else {
                return Ok(false);
            };
            key.revoked_at = Some(now);
            draft.put(State::Key(key))?;
            Ok(true)
        })
        .await
    }

    fn check(&self) -> Result<(), StoreError> {
        self.health.check()
    }
}

#[async_trait]
impl RevocationList for LedgerStore {
    async fn revoke(
        &self,
        registration: &Registration,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let revoked = State::Revocation(RevokedRegistration {
            registration: *registration,
            revoked_at: now,
        });
        self.submit(Some(now), move |draft| {
            let is_new = draft.find(&revoked.identity())?.is_none();
            if is_new {
                draft.put(revoked)?;
            }
            Ok(is_new)
        })
        .await
    }

    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError> {
        let revoked = self.look_up::<RevokedRegistration>(Identity::revocation(registration));
        Ok(revoked.await?.is_some())
    }

    async fn list(&self) -> Result<PageStream<RevokedRegistration>, StoreError> {
        Ok(self.pages(RevokedRegistration::of))
    }
}
