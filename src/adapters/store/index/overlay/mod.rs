//! The index as it will be after some events: new ones that are not recorded yet, or recorded ones
//! that the index lacks.

use std::collections::BTreeMap;

use crate::adapters::store::ledger::Event;
use crate::domain::contact::Origin;
use crate::domain::credential::Fingerprint;
use crate::domain::email::EmailAddress;
use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;

use super::Tally;
use super::bucket::{Bucket, BucketId, bucket_id};
use super::entry::{
    ContactEntry, KeyEntry, RevocationEntry, contact_name, expiry, key_name, revocation_name,
};
use super::sled_index::{Index, IndexError};

/// Buckets that may be other than in the index.
pub(crate) type Buckets = BTreeMap<BucketId, Bucket>;

/// Changes on top of an index.
#[derive(Debug)]
pub(crate) struct Overlay<'a> {
    index: &'a Index,
    hash_key: &'a MacKey,
    buckets: Buckets,
    tally: Tally,
}

impl<'a> Overlay<'a> {
    pub(crate) fn new(index: &'a Index, hash_key: &'a MacKey, tally: Tally) -> Self {
        Self {
            index,
            hash_key,
            buckets: Buckets::new(),
            tally,
        }
    }

    /// The contact as it will be.
    pub(crate) fn contact(
        &mut self,
        email: &EmailAddress,
    ) -> Result<Option<ContactEntry>, IndexError> {
        let name = contact_name(email.as_str());
        Ok(find_contact(self.bucket(&name)?, &name))
    }

    /// The key as it will be.
    pub(crate) fn key(
        &mut self,
        fingerprint: &Fingerprint,
    ) -> Result<Option<KeyEntry>, IndexError> {
        let name = key_name(fingerprint.as_bytes());
        Ok(find_key(self.bucket(&name)?, &name))
    }

    /// What will be kept of a registration whose tokens are revoked.
    pub(crate) fn revocation(
        &mut self,
        fingerprint: &Fingerprint,
    ) -> Result<Option<RevocationEntry>, IndexError> {
        let name = revocation_name(fingerprint.as_bytes());
        Ok(find_revocation(self.bucket(&name)?, &name))
    }

    /// Takes out the buckets that changed or were looked at, and what all events add up to. It
    /// goes on from there, once they are in the index.
    pub(crate) fn take(&mut self) -> (Buckets, Tally) {
        (std::mem::take(&mut self.buckets), self.tally)
    }

    /// Changes the index as it will be.
    pub(crate) fn apply(&mut self, event: &Event) -> Result<(), IndexError> {
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
            Event::TokenRevoked {
                registration,
                at,
                expires_at,
            } => {
                let entry = RevocationEntry {
                    expires_at: *expires_at,
                };
                self.token_revoked(&registration.0, entry, *at)
            }
        }
    }

    fn subscribed(&mut self, email: &str, origin: Origin, at: Timestamp) -> Result<(), IndexError> {
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

    fn seen(&mut self, email: &str, at: Timestamp) -> Result<(), IndexError> {
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
        // Names spread evenly, so each new one sweeping its own bucket keeps expired ones few.
        let swept = sweep(bucket, entry.issued_at);
        // One that is issued again starts afresh.
        let replaced = find_key(bucket, &name).map_or(0, |key| key.lines());
        bucket.put(&name, &entry.to_bytes());
        self.tally.live = self.tally.live.saturating_sub(swept + replaced) + 1;
        Ok(())
    }

    fn revoked(&mut self, fingerprint: &[u8; 32], at: Timestamp) -> Result<(), IndexError> {
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

    fn token_revoked(
        &mut self,
        fingerprint: &[u8; 32],
        entry: RevocationEntry,
        at: Timestamp,
    ) -> Result<(), IndexError> {
        let name = revocation_name(fingerprint);
        let bucket = self.bucket(&name)?;
        let swept = sweep(bucket, at);
        let replaced = u64::from(find_revocation(bucket, &name).is_some());
        bucket.put(&name, &entry.to_bytes());
        self.tally.live = self.tally.live.saturating_sub(swept + replaced) + 1;
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

fn find_revocation(bucket: &Bucket, name: &[u8]) -> Option<RevocationEntry> {
    bucket.find(name).and_then(RevocationEntry::from_bytes)
}

/// Removes what has expired, and says how many lines of the ledger no longer count.
fn sweep(bucket: &mut Bucket, now: Timestamp) -> u64 {
    let mut swept = 0;
    bucket.retain(|name, value| match expiry(name, value) {
        Some((expires_at, lines)) if expires_at <= now => {
            swept += lines;
            false
        }
        Some(_) | None => true,
    });
    swept
}

#[cfg(test)]
mod tests;
