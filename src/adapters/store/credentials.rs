//! The free API keys, and the agents' tokens that were revoked.

use async_trait::async_trait;

use crate::domain::agent::Registration;
use crate::domain::credential::{Fingerprint, KeyRecord};
use crate::domain::time::Timestamp;
use crate::ports::{KeyIssuer, RevocationList, StoreError};

use super::SledStore;
use super::index::{KeyEntry, RevocationEntry, key_name, revocation_name};
use super::ledger::Event;

#[async_trait]
impl KeyIssuer for SledStore {
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError> {
        self.commit(move |draft| draft.record(Event::issued(&record)))
            .await
    }

    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError> {
        let entry = self.look_up(&key_name(fingerprint.as_bytes()), KeyEntry::from_bytes)?;
        Ok(entry.map(|entry| entry.into_record(*fingerprint)))
    }

    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError> {
        let fingerprint = *fingerprint;
        self.commit(move |draft| {
            let is_active = draft
                .key(&fingerprint)?
                .is_some_and(|key| key.revoked_at.is_none());
            if is_active {
                draft.record(Event::revoked(&fingerprint, now))?;
            }
            Ok(is_active)
        })
        .await
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.check_writes().await
    }
}

#[async_trait]
impl RevocationList for SledStore {
    async fn revoke(
        &self,
        registration: &Registration,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let registration = *registration;
        self.commit(move |draft| {
            if draft.revocation(&registration.fingerprint())?.is_some() {
                return Ok(false);
            }
            draft.record(Event::token_revoked(&registration, now))?;
            Ok(true)
        })
        .await
    }

    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError> {
        let name = revocation_name(registration.fingerprint().as_bytes());
        let entry = self.look_up(&name, RevocationEntry::from_bytes)?;
        Ok(entry.is_some())
    }
}
