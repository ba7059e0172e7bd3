//! Keys in a list.

use async_trait::async_trait;

use landing_api::domain::credential::{Fingerprint, KeyRecord};
use landing_api::domain::time::Timestamp;
use landing_api::ports::{KeyIssuer, PageStream, StoreError};

use super::fault::Faulty;
use super::pages;

/// Keys in the order of issue.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    issued: Vec<KeyRecord>,
    look_ups: usize,
}

pub(crate) type MemoryKeyIssuer = Faulty<Keys>;

impl MemoryKeyIssuer {
    /// How often a key was looked up.
    pub(crate) fn look_ups(&self) -> usize {
        self.kept().look_ups
    }
}

#[async_trait]
impl KeyIssuer for MemoryKeyIssuer {
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError> {
        let keys = &mut self.get()?.issued;
        keys.retain(|key| key.fingerprint != record.fingerprint);
        keys.push(record);
        Ok(())
    }

    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError> {
        self.kept().look_ups += 1;
        let keys = &self.get()?.issued;
        let found = keys.iter().find(|key| key.fingerprint == *fingerprint);
        Ok(found.cloned())
    }

    async fn list(&self) -> Result<PageStream<KeyRecord>, StoreError> {
        Ok(pages(self.get()?.issued.clone()))
    }

    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError> {
        let keys = &mut self.get()?.issued;
        let found = keys.iter_mut().find(|key| key.fingerprint == *fingerprint);
        match found {
            Some(record) if record.revoked_at.is_none() => {
                record.revoked_at = Some(now);
                Ok(true)
            }
            Some(_) | None => Ok(false),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        self.fault()
    }
}
