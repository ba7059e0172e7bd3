//! The free API keys, and the agents' registrations that were revoked.

use async_trait::async_trait;

use crate::domain::agent::{Registration, RevokedRegistration};
use crate::domain::credential::{Fingerprint, KeyId, KeyRecord};
use crate::domain::text::Label;
use crate::domain::time::Timestamp;
use crate::ports::{KeyIssuer, PageStream, RevocationList, StoreError};

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
        Ok(found.and_then(key_record))
    }

    async fn list(&self) -> Result<PageStream<KeyRecord>, StoreError> {
        let is_wanted = |event: &Event| matches!(event, Event::KeyIssued { .. });
        self.pages(is_wanted, key_record).await
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
fn key_record(kept: Kept<Event>) -> Option<KeyRecord> {
    let Event::KeyIssued {
        key,
        id,
        label,
        at,
        expires_at,
    } = kept.first
    else {
        return None;
    };
    Some(KeyRecord {
        fingerprint: Fingerprint::from_bytes(key.0),
        id: KeyId::parse(&id)?,
        // Every recorded label was parsed when the key was issued.
        label: label.and_then(|label| Label::parse(label).ok()),
        issued_at: at,
        expires_at,
        revoked_at: kept.last.as_ref().and_then(Event::at),
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

    async fn list(&self) -> Result<PageStream<RevokedRegistration>, StoreError> {
        let is_wanted = |event: &Event| matches!(event, Event::TokenRevoked { .. });
        self.pages(is_wanted, revoked_registration).await
    }
}

/// Builds the revoked registration from its kept event.
fn revoked_registration(kept: Kept<Event>) -> Option<RevokedRegistration> {
    let Event::TokenRevoked { client_id, at, .. } = kept.first else {
        return None;
    };
    Some(RevokedRegistration {
        registration: Registration::from_client_id(&client_id)?,
        revoked_at: at,
    })
}

fn identity(registration: &Registration) -> Identity {
    Identity::registration(registration.fingerprint().as_bytes())
}
