//! The free API keys, and the agents' registrations that were revoked.

use async_trait::async_trait;

use crate::domain::agent::Registration;
use crate::domain::credential::{Fingerprint, KeyRecord};
use crate::domain::text::Label;
use crate::domain::time::Timestamp;
use crate::ports::{KeyIssuer, RevocationList, StoreError};

use super::record::{Event, Identity, Kept};
use super::store::LedgerStore;

#[async_trait]
impl KeyIssuer for LedgerStore {
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError> {
        self.commit(move |draft| draft.record(&Event::issued(&record)))
            .await
    }

    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError> {
        let found = self.look_up(&Identity::key(fingerprint.as_bytes())).await?;
        Ok(found.and_then(|kept| key_record(*fingerprint, kept)))
    }

    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError> {
        let fingerprint = *fingerprint;
        self.commit(move |draft| {
            let found = draft.find(&Identity::key(fingerprint.as_bytes()))?;
            let is_active = found.is_some_and(|kept| kept.last.is_none());
            if is_active {
                draft.record(&Event::revoked(&fingerprint, now))?;
            }
            Ok(is_active)
        })
        .await
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.check_writes().await
    }
}

/// Builds the key from its kept events.
fn key_record(fingerprint: Fingerprint, kept: Kept<Event>) -> Option<KeyRecord> {
    let Event::KeyIssued {
        label,
        at,
        expires_at,
        ..
    } = kept.first
    else {
        return None;
    };
    Some(KeyRecord {
        fingerprint,
        // Every recorded label was parsed when the key was issued.
        label: label.and_then(|label| Label::parse(label).ok()),
        issued_at: at,
        expires_at,
        revoked_at: kept.last.as_ref().map(Event::at),
    })
}

#[async_trait]
impl RevocationList for LedgerStore {
    async fn revoke(
        &self,
        registration: &Registration,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let registration = *registration;
        self.commit(move |draft| {
            let is_new = draft.find(&identity(&registration))?.is_none();
            if is_new {
                draft.record(&Event::token_revoked(&registration, now))?;
            }
            Ok(is_new)
        })
        .await
    }

    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError> {
        Ok(self.look_up(&identity(registration)).await?.is_some())
    }
}

fn identity(registration: &Registration) -> Identity {
    Identity::registration(registration.fingerprint().as_bytes())
}
