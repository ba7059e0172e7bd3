//! The free API keys.

use async_trait::async_trait;

use crate::domain::credential::{Fingerprint, KeyRecord};
use crate::domain::time::Timestamp;
use crate::ports::{KeyIssuer, StoreError};

use super::SledStore;
use super::index::{KeyEntry, key_name};
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
