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
use super::entry::{ContactEntry, KeyEntry, contact_name, is_key_name, key_name};
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
        // Keys spread evenly, so each new one sweeping its own bucket keeps expired ones few.
        let swept = sweep(bucket, entry.issued_at);
        // One that is issued again starts afresh.
        let replaced = find_key(bucket, &name).map_or(0, |key| lines_of(&key));
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

/// How many lines of the ledger count for a key.
fn lines_of(key: &KeyEntry) -> u64 {
    1 + u64::from(key.revoked_at.is_some())
}

/// Removes the keys that have expired, and says how many lines of the ledger no longer count.
fn sweep(bucket: &mut Bucket, now: Timestamp) -> u64 {
    let mut lines = 0;
    bucket.retain(|name, value| {
        if !is_key_name(name) {
            return true;
        }
        let expired = KeyEntry::from_bytes(value).filter(|key| key.expires_at <= now);
        if let Some(key) = &expired {
            lines += lines_of(key);
        }
        expired.is_none()
    });
    lines
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use crate::adapters::store::ledger::{self, Files, SystemFiles};
    use crate::domain::contact::SignUp;
    use crate::domain::credential::KeyRecord;
    use crate::domain::secret::Secret;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Subscribe(usize),
        See(usize),
        Forget(usize),
        Issue { key: usize, lifetime_ms: u64 },
        Revoke(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0_usize..3).prop_map(Step::Subscribe),
            (0_usize..3).prop_map(Step::See),
            (0_usize..3).prop_map(Step::Forget),
            (0_usize..4, 0_u64..1500)
                .prop_map(|(key, lifetime_ms)| Step::Issue { key, lifetime_ms }),
            (0_usize..4).prop_map(Step::Revoke),
        ]
    }

    fn event(step: Step, at: Timestamp, emails: &[EmailAddress], keys: &[Fingerprint]) -> Event {
        let origin = Origin {
            network: [1; 16],
            credential: None,
        };
        match step {
            Step::Subscribe(email) => Event::subscribed(&SignUp {
                email: emails[email].clone(),
                origin,
                at,
            }),
            Step::See(email) => Event::seen(&emails[email], at),
            Step::Forget(email) => Event::forgotten(&emails[email], at),
            Step::Issue { key, lifetime_ms } => Event::issued(&KeyRecord {
                fingerprint: keys[key],
                label: None,
                issued_at: at,
                expires_at: at.plus_ms(lifetime_ms),
                revoked_at: None,
            }),
            Step::Revoke(key) => Event::revoked(&keys[key], at),
        }
    }

    /// Three keys that share a bucket, so that each sweeps the others, and one elsewhere.
    fn keys(hash_key: &MacKey) -> Vec<Fingerprint> {
        let mut buckets: BTreeMap<BucketId, Vec<Fingerprint>> = BTreeMap::new();
        let elsewhere = Fingerprint::from_bytes([0xff; 32]);
        for number in 0_u64.. {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&number.to_be_bytes());
            let bucket = buckets
                .entry(bucket_id(hash_key, &key_name(&bytes)))
                .or_default();
            bucket.push(Fingerprint::from_bytes(bytes));
            if bucket.len() == 3 {
                return [bucket.as_slice(), &[elsewhere]].concat();
            }
        }
        unreachable!("there are more keys than buckets")
    }

    /// What an overlay says of everybody, without the keys that have expired; and how many lines
    /// of the ledger it counts for those.
    fn content(
        overlay: &mut Overlay<'_>,
        emails: &[EmailAddress],
        keys: &[Fingerprint],
        now: Timestamp,
    ) -> (Vec<Option<ContactEntry>>, Vec<Option<KeyEntry>>, u64) {
        let contacts = emails.iter().map(|email| overlay.contact(email).unwrap());
        let contacts = contacts.collect();
        let found: Vec<_> = keys.iter().map(|key| overlay.key(key).unwrap()).collect();
        let is_expired = |key: &KeyEntry| key.expires_at <= now;
        let expired = found.iter().flatten().filter(|key| is_expired(key));
        let lines = expired.map(lines_of).sum();
        let keys = found
            .into_iter()
            .map(|key| key.filter(|key| !is_expired(key)));
        (contacts, keys.collect(), lines)
    }

    #[test]
    fn compaction_keeps_exactly_what_the_index_counts() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(ledger::LEDGER);
        let files: Arc<dyn Files> = Arc::new(SystemFiles);
        // Nothing is ever written to it.
        let index = Index::fresh(&root.path().join("index")).unwrap();
        let hash_key = Secret::new([7; 32]).keys().index;
        let keys = keys(&hash_key);
        let emails = ["ada", "bob", "cy"]
            .map(|name| EmailAddress::parse(&format!("{name}@example.com")).unwrap());
        // The clock may run back between two events; compaction comes after all of them.
        let steps = vec((step(), 0_u64..1000), 0..60);
        proptest!(|(steps in steps, now_ms in 1000_u64..2000)| {
            let now = Timestamp::from_ms(now_ms);
            let events: Vec<Event> = steps
                .into_iter()
                .map(|(step, at_ms)| event(step, Timestamp::from_ms(at_ms), &emails, &keys))
                .collect();
            let mut before = Overlay::new(&index, &hash_key, Tally::default());
            for event in &events {
                before.apply(event).unwrap();
            }
            let mut written = ledger::create(&files, &path, "secret").unwrap();
            written.append(&events).unwrap();
            let compacted = ledger::compact(&files, &path, 2, "secret", now).unwrap();

            let mut after = Overlay::new(&index, &hash_key, Tally::default());
            ledger::each_event(&path, |_place, event| {
                after.apply(&event).unwrap();
                Ok::<_, ledger::Flaw>(())
            })
            .unwrap();
            let (contacts, live_keys, expired_lines) = content(&mut before, &emails, &keys, now);
            let (contacts_after, keys_after, none) = content(&mut after, &emails, &keys, now);
            prop_assert_eq!(contacts_after, contacts);
            prop_assert_eq!(keys_after, live_keys);
            prop_assert_eq!(none, 0);
            let lines = compacted.position().sequence;
            prop_assert_eq!(lines, before.tally.live - expired_lines);
            prop_assert_eq!(lines, after.tally.live);
            prop_assert_eq!(after.tally.contacts, before.tally.contacts);
        });
    }
}
