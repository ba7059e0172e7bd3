//! Where the last event of each identity is, in memory: 11 to 13 bytes an identity, whatever its event takes, and as
//! much for the token of a contact.
//!
//! A slot holds 40 bits of a hash and a place, so two identities may share what a slot shows of them. Whoever
//! looks a place up has to compare the identity of the event that is there.
//!
//! A shard is an array with open addressing: an entry stands at the first free slot behind its home, the slot
//! that its hash names. hashbrown's tables double, and would take up to twice as much memory.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use crate::domain::{Contact, ContactStatus, DAY_MS, StatusCounts, Timestamp};

use super::delivery_index::DeliveryIndex;
use super::record::{Event, Identity, Place};

/// How many parts the table has: one that grows holds up only the look-ups in it.
const SHARDS: usize = 256;

/// Places are below 2^40, which is 1 TiB.
const PLACE_MAX: Place = (1 << 40) - 1;

/// The places of identities.
pub(super) struct PlaceTable {
    shards: Vec<RwLock<PlaceShard>>,
    /// How many entries they have.
    len: AtomicU64,
    /// How many of these are of contacts.
    contacts: AtomicU64,
    /// Those that are to be confirmed: the hour since which they are, and their places.
    pending: Mutex<BTreeSet<u64>>,
    /// How many of those have left.
    left: AtomicU64,
    deliveries: DeliveryIndex,
    /// Whether an identity of which nothing is left was in it.
    has_removed: AtomicBool,
    /// One of these was a contact, whose address is still in the file.
    has_forgotten: AtomicBool,
    /// Random, so that nobody can choose addresses that all fall into one shard.
    hasher: RandomState,
}

/// 32 bits of a hash, and one more than a place below 2^40, which is 1 TiB. An empty slot has zeros.
#[derive(Clone, Copy, Default)]
struct PlaceSlot([u8; 9]);

impl PlaceSlot {
    fn new(hash: u32, place: Place) -> Self {
        let [a, b, c, d] = hash.to_le_bytes();
        let [e, f, g, h, i, ..] = (place + 1).to_le_bytes();
        Self([a, b, c, d, e, f, g, h, i])
    }

    fn hash(&self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_le_bytes([a, b, c, d])
    }

    /// `None` if it is empty.
    fn place(&self) -> Option<Place> {
        let [_, _, _, _, e, f, g, h, i] = self.0;
        Place::from_le_bytes([e, f, g, h, i, 0, 0, 0]).checked_sub(1)
    }
}

#[derive(Default)]
struct PlaceShard {
    slots: Vec<PlaceSlot>,
    len: usize,
}

#[expect(
    clippy::indexing_slicing,
    reason = "numbers of slots are below their count"
)]
impl PlaceShard {
    /// The places of the entries with this hash, and the numbers of their slots.
    fn with_hash(&self, hash: u32) -> impl Iterator<Item = (usize, Place)> {
        let home = self.home(hash);
        let numbers = (home..self.slots.len()).chain(0..home);
        let entries = numbers.map_while(|number| {
            let slot = self.slots[number];
            slot.place().map(|place| (number, slot.hash(), place))
        });
        entries
            .filter(move |(_, of, _)| *of == hash)
            .map(|(number, _, place)| (number, place))
    }

    /// The number of the slot with this entry.
    fn find(&self, hash: u32, place: Place) -> Option<usize> {
        let mut entries = self.with_hash(hash);
        let found = entries.find(|(_, found)| *found == place);
        found.map(|(number, _)| number)
    }

    /// Adds an entry that is not there.
    fn insert(&mut self, slot: PlaceSlot) {
        // A seventh of the slots stays free, so that few entries are far from their home.
        if self.len + self.len / 6 >= self.slots.len() {
            self.grow();
        }
        let mut number = self.home(slot.hash());
        while self.slots[number].place().is_some() {
            number = self.next(number);
        }
        self.slots[number] = slot;
        self.len += 1;
    }

    /// By a quarter.
    fn grow(&mut self) {
        let count = self.slots.len() + self.slots.len() / 4 + 8;
        let before = std::mem::replace(&mut self.slots, vec![PlaceSlot::default(); count]);
        self.len = 0;
        for slot in before.into_iter().filter(|slot| slot.place().is_some()) {
            self.insert(slot);
        }
    }

    /// Empties a slot, and moves entries behind it that could not be found any more.
    fn remove(&mut self, number: usize) {
        let (mut hole, mut number) = (number, number);
        loop {
            number = self.next(number);
            let slot = self.slots[number];
            if slot.place().is_none() {
                break;
            }
            let home = self.home(slot.hash());
            if self.distance(home, number) >= self.distance(hole, number) {
                self.slots[hole] = slot;
                hole = number;
            }
        }
        self.slots[hole] = PlaceSlot::default();
        self.len -= 1;
    }

    fn home(&self, hash: u32) -> usize {
        let scaled = (u64::from(hash) * self.slots.len() as u64) >> 32;
        usize::try_from(scaled).unwrap_or_default()
    }

    fn next(&self, number: usize) -> usize {
        (number + 1) % self.slots.len()
    }

    /// How many slots `to` is behind `from`.
    fn distance(&self, from: usize, to: usize) -> usize {
        (to + self.slots.len() - from) % self.slots.len()
    }
}

fn pending_since((_, event): (Place, &Event)) -> Option<Timestamp> {
    let contact = event.clone().into_contact();
    contact.as_ref().and_then(Contact::pending_since)
}

/// Sorts by the hour: 8 bytes are enough for it and a place.
const fn pending_key(since: Timestamp, place: Place) -> u64 {
    ((since.as_ms() / (DAY_MS / 24)) << 40) | place
}

impl PlaceTable {
    pub(super) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            len: AtomicU64::new(0),
            contacts: AtomicU64::new(0),
            pending: Mutex::default(),
            left: AtomicU64::new(0),
            deliveries: DeliveryIndex::default(),
            has_removed: AtomicBool::new(false),
            has_forgotten: AtomicBool::new(false),
            hasher: RandomState::new(),
        }
    }

    /// The places where the last event of `identity` may be.
    pub(super) fn places(&self, identity: &Identity) -> Vec<Place> {
        let (shard, hash) = self.shard(identity);
        let shard = shard.read();
        shard.with_hash(hash).map(|(_, place)| place).collect()
    }

    /// Whether the last event of `identity`, one of whose events is at `place`, is there.
    pub(super) fn has(&self, identity: &Identity, place: Place) -> bool {
        let (shard, hash) = self.shard(identity);
        shard.read().find(hash, place).is_some()
    }

    /// Replaces the last event of `identity` and its place; `None` stands for no event. A contact is found by
    /// its token, too.
    pub(super) fn replace(
        &self,
        identity: &Identity,
        before: Option<(Place, &Event)>,
        now: Option<(Place, &Event)>,
    ) {
        let place = |event: Option<(Place, &Event)>| event.map(|(place, _)| place);
        self.set(identity, place(before), place(now));
        self.deliveries.replace(before.map(|(_, event)| event), now);
        let token = |event: Option<(Place, &Event)>| event.and_then(|(_, it)| it.token_identity());
        match (token(before), token(now)) {
            (Some(old), Some(new)) if old == new => self.set(&old, place(before), place(now)),
            (old, new) => {
                if let Some(old) = old {
                    self.set(&old, place(before), None);
                }
                if let Some(new) = new {
                    self.set(&new, None, place(now));
                }
            }
        }
        let status = |event: Option<(Place, &Event)>| event.and_then(|(_, event)| event.status());
        match status(before) {
            Some(ContactStatus::Pending) => self.set_pending(before, |all, key| all.remove(&key)),
            Some(ContactStatus::Unsubscribed) => self.left.fetch_sub(1, Ordering::Relaxed) > 0,
            Some(ContactStatus::Subscribed) | None => false,
        };
        match status(now) {
            Some(ContactStatus::Pending) => self.set_pending(now, |all, key| all.insert(key)),
            Some(ContactStatus::Unsubscribed) => self.left.fetch_add(1, Ordering::Relaxed) > 0,
            Some(ContactStatus::Subscribed) | None => false,
        };
    }

    fn set_pending(
        &self,
        event: Option<(Place, &Event)>,
        set: impl FnOnce(&mut BTreeSet<u64>, u64) -> bool,
    ) -> bool {
        let (Some(since), Some((place, _))) = (event.and_then(pending_since), event) else {
            return false;
        };
        set(&mut self.pending.lock(), pending_key(since, place))
    }

    /// The places of contacts that are to be confirmed since the hour of `until` or an earlier one, the longest first.
    pub(super) fn pending_until(&self, until: Timestamp) -> Vec<Place> {
        let last = pending_key(until, PLACE_MAX);
        let pending = self.pending.lock();
        pending.range(..=last).map(|key| key & PLACE_MAX).collect()
    }

    /// Replaces the place of `identity`; `None` stands for no event.
    fn set(&self, identity: &Identity, before: Option<Place>, now: Option<Place>) {
        let (shard, hash) = self.shard(identity);
        let mut shard = shard.write();
        let contact = u64::from(identity.is_contact());
        // A token is no identity of its own.
        let entry = u64::from(!identity.is_leave_token());
        let found = before.and_then(|place| shard.find(hash, place));
        if let Some(number) = found {
            shard.remove(number);
            self.len.fetch_sub(entry, Ordering::Relaxed);
            self.contacts.fetch_sub(contact, Ordering::Relaxed);
        }
        let is_removed = now.is_none() && entry == 1;
        self.has_removed.fetch_or(is_removed, Ordering::Relaxed);
        let is_forgotten = is_removed && identity.is_contact();
        self.has_forgotten.fetch_or(is_forgotten, Ordering::Relaxed);
        if let Some(place) = now {
            shard.insert(PlaceSlot::new(hash, place));
            self.len.fetch_add(entry, Ordering::Relaxed);
            self.contacts.fetch_add(contact, Ordering::Relaxed);
        }
    }

    /// How many identities have an event.
    pub(super) fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    /// How many contacts have an event.
    pub(super) fn contacts(&self) -> u64 {
        self.contacts.load(Ordering::Relaxed)
    }

    /// How many contacts get no newsletter.
    pub(super) fn status_counts(&self) -> StatusCounts {
        StatusCounts {
            pending: self.pending.lock().len() as u64,
            unsubscribed: self.left.load(Ordering::Relaxed),
        }
    }

    /// What is to be delivered.
    pub(super) const fn deliveries(&self) -> &DeliveryIndex {
        &self.deliveries
    }

    pub(super) fn has_removed(&self) -> bool {
        self.has_removed.load(Ordering::Relaxed)
    }

    pub(super) fn has_forgotten(&self) -> bool {
        self.has_forgotten.load(Ordering::Relaxed)
    }

    /// What it takes of memory.
    pub(super) fn bytes(&self) -> u64 {
        let slots = self.shards.iter().map(|shard| shard.read().slots.len());
        (slots.sum::<usize>() * size_of::<PlaceSlot>()) as u64
    }

    #[expect(clippy::indexing_slicing, reason = "a shard for each byte")]
    fn shard(&self, identity: &Identity) -> (&RwLock<PlaceShard>, u32) {
        let [shard, a, b, c, d, ..] = self.hasher.hash_one(identity).to_le_bytes();
        let hash = u32::from_le_bytes([a, b, c, d]);
        (&self.shards[usize::from(shard)], hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_identity_has_its_last_place_and_no_other() {
        let table = PlaceTable::new();
        let identity = |number: u64| Identity::contact(&format!("x{number}@example.com"));
        // Places of all five bytes.
        let place = |number: u64| number * 1_099_511;
        for number in 0..10_000 {
            table.set(&identity(number), None, Some(place(number)));
        }
        for number in (0..10_000).step_by(2) {
            let moved = (number % 4 == 0).then(|| place(number) + 1);
            table.set(&identity(number), Some(place(number)), moved);
        }
        assert_eq!(table.len(), 7_500);
        assert!(table.bytes() <= 10_000 * 18, "{}", table.bytes());
        for number in 0..10_000 {
            let expected = match number % 4 {
                0 => Some(place(number) + 1),
                2 => None,
                _ => Some(place(number)),
            };
            let found = table.places(&identity(number));
            assert_eq!(
                found.contains(&place(number)),
                expected == Some(place(number))
            );
            assert_eq!(table.has(&identity(number), place(number)), number % 2 == 1);
            assert!(expected.is_none_or(|place| found.contains(&place)));
            // A strange place costs a read: there are next to none.
            assert!(found.len() <= 2, "{found:?}");
        }
        // What is not there is not removed or moved.
        table.set(&identity(1), Some(place(1) + 1), None);
        assert_eq!(table.places(&identity(1)), [place(1)]);
        table.set(&Identity::key(&[7; 32]), None, Some(7));
        assert_eq!((table.len(), table.contacts()), (7_501, 7_500));
    }
}
