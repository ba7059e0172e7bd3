//! The free API keys, and the agents' registrations that were revoked.

use async_trait::async_trait;

use crate::domain::{Fingerprint, KeyRecord, Registration, RevokedRegistration, Timestamp};
use crate::ports::{KeyIssuer, PageStream, RevocationList, StoreError};

use super::record::{Event, Identity};
use super::store::LedgerStore;

#[async_trait]
impl KeyIssuer for LedgerStore {
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError> {
        self.commit(move |draft| draft.record(Event::KeyIssued((&record).into())))
            .await
    }

    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError> {
        let found = self.look_up(Identity::key(fingerprint.as_bytes())).await?;
        Ok(found.and_then(Event::into_key))
    }

    async fn list(&self) -> Result<PageStream<KeyRecord>, StoreError> {
        let is_wanted = |event: &Event| matches!(event, Event::KeyIssued(_));
        Ok(self.pages(is_wanted, Event::into_key))
    }

    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError> {
        let fingerprint = *fingerprint;
        self.commit(move |draft| {
            let known = draft.find(&Identity::key(fingerprint.as_bytes()))?.cloned();
            let active = known.and_then(Event::into_key);
            let Some(mut key) = active.filter(|key| key.revoked_at.is_none()) else {
                return Ok(false);
            };
            key.revoked_at = Some(now);
            draft.record(Event::KeyRevoked((&key).into()))?;
            Ok(true)
        })
        .await
    }

    fn check(&self) -> Result<(), StoreError> {
        self.shared.check()
    }
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
                draft.record(Event::token_revoked(&registration, now))?;
            }
            Ok(is_new)
        })
        .await
    }

    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError> {
        Ok(self.look_up(identity(registration)).await?.is_some())
    }

    async fn list(&self) -> Result<PageStream<RevokedRegistration>, StoreError> {
        let is_wanted = |event: &Event| matches!(event, Event::TokenRevoked { .. });
        Ok(self.pages(is_wanted, revoked_registration))
    }
}

fn revoked_registration(event: Event) -> Option<RevokedRegistration> {
    let Event::TokenRevoked { client_id, at, .. } = event else {
        return None;
    };
    Some(RevokedRegistration {
        registration: Registration::from_client_id(&client_id)?,
        revoked_at: Timestamp::from_ms(at),
    })
}

fn identity(registration: &Registration) -> Identity {
    Identity::registration(registration.fingerprint().as_bytes())
}
