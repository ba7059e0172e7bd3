//! A batch while it is decided: the index as it will be, and the events that make it so.

use crate::domain::credential::Fingerprint;
use crate::domain::email::EmailAddress;
use crate::domain::secret::MacKey;

use super::index::{
    Buckets, ContactEntry, Index, IndexError, KeyEntry, Overlay, RevocationEntry, Tally,
};
use super::ledger::Event;

/// What the changes of a batch have come to so far.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    overlay: Overlay<'a>,
    events: Vec<Event>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(index: &'a Index, hash_key: &'a MacKey, tally: Tally) -> Self {
        Self {
            overlay: Overlay::new(index, hash_key, tally),
            events: Vec::new(),
        }
    }

    /// The contact as it will be.
    pub(super) fn contact(
        &mut self,
        email: &EmailAddress,
    ) -> Result<Option<ContactEntry>, IndexError> {
        self.overlay.contact(email)
    }

    /// The key as it will be.
    pub(super) fn key(
        &mut self,
        fingerprint: &Fingerprint,
    ) -> Result<Option<KeyEntry>, IndexError> {
        self.overlay.key(fingerprint)
    }

    /// What will be kept of a registration whose tokens are revoked.
    pub(super) fn revocation(
        &mut self,
        fingerprint: &Fingerprint,
    ) -> Result<Option<RevocationEntry>, IndexError> {
        self.overlay.revocation(fingerprint)
    }

    /// Adds an event to the batch.
    pub(super) fn record(&mut self, event: Event) -> Result<(), IndexError> {
        self.overlay.apply(&event)?;
        self.events.push(event);
        Ok(())
    }

    /// The batch.
    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    /// What the index becomes with the batch, and what all events add up to then.
    pub(super) fn finish(mut self) -> (Buckets, Tally) {
        self.overlay.take()
    }
}
