//! A batch while it is decided: the index as it will be, and the events that make it so.
//!
//! The same code applies new events and, when the index is rebuilt, recorded ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::contact::Origin;
use crate::domain::credential::Fingerprint;
use crate::domain::email::EmailAddress;
use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;

use super::bucket::{Bucket, BucketId, bucket_id};
use super::entry::{ContactEntry, KeyEntry, contact_name, is_key_name, key_name};
use super::event::Event;
use super::index::{Index, IndexError};

/// What the ledger's events add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    /// Contacts there are.
    pub(super) contacts: u64,
    /// Lines that still count, keys that expired but were not swept yet included. It only decides
    /// when a compaction is worth while, and is exact after each.
    pub(super) live: u64,
    /// Contacts forgotten since the ledger was last written anew: their addresses are in it still.
    pub(super) forgotten: u64,
}

/// Changes on top of an index.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    index: &'a Index,
    hash_key: &'a MacKey,
    buckets: BTreeMap<BucketId, Bucket>,
    tally: Tally,
    events: Vec<Event>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(index: &'a Index, hash_key: &'a MacKey, tally: Tally) -> Self {
        Self {
            index,
            hash_key,
            buckets: BTreeMap::new(),
            tally,
            events: Vec::new(),
        }
    }

    /// The contact as it will be.
    pub(super) fn contact(
        &mut self,
        email: &EmailAddress,
    ) -> Result<Option<ContactEntry>, IndexError> {
        let name = contact_name(email.as_str());
        Ok(find_contact(self.bucket(&name)?, &name))
    }

    /// The key as it will be.
    pub(super) fn key(
        &mut self,
        fingerprint: &Fingerprint,
    ) -> Result<Option<KeyEntry>, IndexError> {
        let name = key_name(fingerprint.as_bytes());
        Ok(find_key(self.bucket(&name)?, &name))
    }

    /// Adds an event to the batch.
    pub(super) fn record(&mut self, event: Event) -> Result<(), IndexError> {
        self.apply(&event)?;
        self.events.push(event);
        Ok(())
    }

    /// The batch.
    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    /// Takes out the buckets that changed or were looked at, and what all events add up to. The
    /// draft goes on from there, once they are in the index.
    pub(super) fn take(&mut self) -> (BTreeMap<BucketId, Bucket>, Tally) {
        self.events.clear();
        (std::mem::take(&mut self.buckets), self.tally)
    }

    /// Changes the index as it will be, without adding to the batch.
    pub(super) fn apply(&mut self, event: &Event) -> Result<(), IndexError> {
        match event {
            Event::ContactSubscribed {
                email,
                network,
                credential,
                at,
            } => {
                let origin = Origin {
                    network: network.0,
                    credential: credential.map(|credential| credential.0),
                };
                self.subscribed(email, origin, *at)
            }
            Event::ContactSeen { email, at } => self.seen(email, *at),
            Event::ContactForgotten { email, .. } => self.forgotten(email),
            Event::KeyIssued {
                key,
                label,
                at,
                expires_at,
            } => {
                let entry = KeyEntry {
                    label: label.clone(),
                    issued_at: *at,
                    expires_at: *expires_at,
                    revoked_at: None,
                };
                self.issued(&key.0, &entry)
            }
            Event::KeyRevoked { key, at } => self.revoked(&key.0, *at),
        }
    }

    fn subscribed(&mut self, email: &str, origin: Origin, at: u64) -> Result<(), IndexError> {
        let name = contact_name(email);
        let bucket = self.bucket(&name)?;
        if bucket.find(&name).is_none() {
            let entry = ContactEntry {
                origin,
                subscribed_at: at,
                last_seen_at: at,
                has_seen_line: false,
            };
            bucket.put(&name, &entry.to_bytes());
            self.tally.contacts += 1;
            self.tally.live += 1;
        }
        Ok(())
    }

    fn seen(&mut self, email: &str, at: u64) -> Result<(), IndexError> {
        let name = contact_name(email);
        let bucket = self.bucket(&name)?;
        if let Some(mut entry) = find_contact(bucket, &name) {
            let is_first_sighting = !entry.has_seen_line;
            entry.last_seen_at = at;
            entry.has_seen_line = true;
            bucket.put(&name, &entry.to_bytes());
            self.tally.live += u64::from(is_first_sighting);
        }
        Ok(())
    }

    fn forgotten(&mut self, email: &str) -> Result<(), IndexError> {
        let name = contact_name(email);
        let bucket = self.bucket(&name)?;
        if let Some(entry) = find_contact(bucket, &name) {
            bucket.remove(&name);
            self.tally.contacts = self.tally.contacts.saturating_sub(1);
            self.tally.live = (self.tally.live).saturating_sub(1 + u64::from(entry.has_seen_line));
            self.tally.forgotten += 1;
        }
        Ok(())
    }

    fn issued(&mut self, fingerprint: &[u8; 32], entry: &KeyEntry) -> Result<(), IndexError> {
        let name = key_name(fingerprint);
        let bucket = self.bucket(&name)?;
        // Keys spread evenly, so each new one sweeping its own bucket keeps expired ones few.
        let swept = sweep(bucket, Timestamp::from_ms(entry.issued_at));
        bucket.put(&name, &entry.to_bytes());
        self.tally.live = self.tally.live.saturating_sub(swept) + 1;
        Ok(())
    }

    fn revoked(&mut self, fingerprint: &[u8; 32], at: u64) -> Result<(), IndexError> {
        let name = key_name(fingerprint);
        let bucket = self.bucket(&name)?;
        if let Some(mut entry) = find_key(bucket, &name)
            && entry.revoked_at.is_none()
        {
            entry.revoked_at = Some(at);
            bucket.put(&name, &entry.to_bytes());
            self.tally.live += 1;
        }
        Ok(())
    }

    /// The bucket of the entry called `name`, from the index if it was not needed before.
    fn bucket(&mut self, name: &[u8]) -> Result<&mut Bucket, IndexError> {
        use std::collections::btree_map::Entry;
        match self.buckets.entry(bucket_id(self.hash_key, name)) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let bucket = self.index.bucket(*entry.key())?;
                Ok(entry.insert(bucket))
            }
        }
    }
}

fn find_contact(bucket: &Bucket, name: &[u8]) -> Option<ContactEntry> {
    bucket.find(name).and_then(ContactEntry::from_bytes)
}

fn find_key(bucket: &Bucket, name: &[u8]) -> Option<KeyEntry> {
    bucket.find(name).and_then(KeyEntry::from_bytes)
}

/// Removes the keys that have expired, and says how many lines of the ledger no longer count.
fn sweep(bucket: &mut Bucket, now: Timestamp) -> u64 {
    let mut lines = 0;
    bucket.retain(|name, value| {
        if !is_key_name(name) {
            return true;
        }
        let expired = KeyEntry::from_bytes(value).filter(|key| key.expires_at <= now.as_ms());
        if let Some(key) = &expired {
            lines += 1 + u64::from(key.revoked_at.is_some());
        }
        expired.is_none()
    });
    lines
}
