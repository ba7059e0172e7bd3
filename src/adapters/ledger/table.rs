//! The index in memory: the place of each identity's last event, and the deliveries, so that due ones are found without
//! reading the disk. A place takes 8 to 9 bytes per identity, whatever the size of its event, and the same again for the
//! token of a contact.
//!
//! A slot holds 36 bits of a hash and a place, so two identities may share these bits of the hash. A lookup of a
//! place therefore has to compare the identity of the event there.
//!
//! A shard is a sorted array, of about 500 slots with a million contacts. A hash table grows by doubling and would
//! take up to twice the memory.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, RandomState};

use parking_lot::{Mutex, RwLock};

use crate::domain::{
    Channel, ContactStatus, DAY_MS, Delivery, DeliveryId, QueueStanding, StatusCounts, Timestamp,
    Turn,
};

use super::record::{Identity, Place, State};

/// Number of shards. Many keep each one short: an insert moves all slots after it.
const SHARDS: usize = 1 << 12;

/// Places are below 2^40, which is 1 TiB.
const PLACE_MAX: Place = (1 << 40) - 1;

/// The places of identities.
pub(super) struct PlaceTable {
    /// Each is sorted.
    shards: Vec<RwLock<Vec<u64>>>,
    counts: Mutex<TableCounts>,
    deliveries: DeliveryIndex,
    /// Random, so that nobody can choose addresses that all fall into one shard.
    hasher: RandomState,
}

#[derive(Default)]
struct TableCounts {
    identities: u64,
    contacts: u64,
    unsubscribed: u64,
    /// Unconfirmed contacts: the hour from which they have been unconfirmed, and their places.
    pending: BTreeSet<u64>,
    /// True if a contact was removed, whose address is still in the file.
    has_forgotten: bool,
}

impl TableCounts {
    /// Adds the state at `place`, or removes it again.
    fn count(&mut self, (place, state): (Place, &State), is_added: bool) {
        let change = |number: &mut u64| match is_added {
            true => *number += 1,
            false => *number -= 1,
        };
        change(&mut self.identities);
        let State::Contact(contact) = state else {
            return;
        };
        change(&mut self.contacts);
        match (contact.status(), contact.pending_since()) {
            (ContactStatus::Pending, Some(since)) if is_added => {
                self.pending.insert(pending_key(since, place));
            }
            (ContactStatus::Pending, Some(since)) => {
                self.pending.remove(&pending_key(since, place));
            }
            (ContactStatus::Unsubscribed, _) => change(&mut self.unsubscribed),
            (ContactStatus::Pending | ContactStatus::Subscribed, _) => {}
        }
    }
}

/// Sorts by hour: 8 bytes are enough for the hour and a place.
const fn pending_key(since: Timestamp, place: Place) -> u64 {
    ((since.as_ms() / (DAY_MS / 24)) << 40) | place
}

impl PlaceTable {
    pub(super) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            counts: Mutex::default(),
            deliveries: DeliveryIndex::default(),
            hasher: RandomState::new(),
        }
    }

    /// Possible places of the last event of `identity`.
    pub(super) fn places(&self, identity: &Identity) -> Vec<Place> {
        let (shard, first) = self.shard(identity);
        let shard = shard.read();
        let begin = shard.partition_point(|slot| *slot < first);
        let slots = shard.iter().skip(begin);
        let slots = slots.take_while(|slot| **slot <= first | PLACE_MAX);
        slots.map(|slot| slot & PLACE_MAX).collect()
    }

    /// True if the last event of `identity` is at `place`, where one of its events is.
    pub(super) fn has(&self, identity: &Identity, place: Place) -> bool {
        let (shard, first) = self.shard(identity);
        shard.read().binary_search(&(first | place)).is_ok()
    }

    /// Replaces the last state of `identity` and its place; `None` means no state. A contact is also found by its
    /// token.
    pub(super) fn replace(
        &self,
        identity: &Identity,
        before: Option<(Place, &State)>,
        now: Option<(Place, &State)>,
    ) {
        let place = |state: Option<(Place, &State)>| state.map(|(place, _)| place);
        self.set(identity, place(before), place(now));
        let token = |state: Option<(Place, &State)>| state.and_then(|(_, state)| state.token());
        // In this order, so that a token that stays is found at any time.
        if let Some(token) = token(now) {
            self.set(&token, None, place(now));
        }
        if let Some(token) = token(before) {
            self.set(&token, place(before), None);
        }
        self.deliveries.replace(before.map(|(_, state)| state), now);
        let mut counts = self.counts.lock();
        if let Some(before) = before {
            counts.count(before, false);
        }
        if let Some(now) = now {
            counts.count(now, true);
        }
        // Even an unknown one: files that were kept may contain it.
        counts.has_forgotten |= now.is_none() && matches!(identity, Identity::Contact(_));
    }

    /// The places of contacts unconfirmed since the hour of `until` or an earlier one, the longest first.
    pub(super) fn pending_until(&self, until: Timestamp) -> Vec<Place> {
        let last = pending_key(until, PLACE_MAX);
        let pending = &self.counts.lock().pending;
        pending.range(..=last).map(|key| key & PLACE_MAX).collect()
    }

    /// Replaces the place of `identity`; `None` means no event.
    fn set(&self, identity: &Identity, before: Option<Place>, now: Option<Place>) {
        let (shard, first) = self.shard(identity);
        let mut shard = shard.write();
        if let Some(place) = before
            && let Ok(number) = shard.binary_search(&(first | place))
        {
            shard.remove(number);
        }
        if let Some(place) = now
            && let Err(number) = shard.binary_search(&(first | place))
        {
            if shard.len() == shard.capacity() {
                // By an eighth: `Vec` would double.
                let more = shard.len() / 8 + 4;
                shard.reserve_exact(more);
            }
            shard.insert(number, first | place);
        }
    }

    /// Number of identities with an event.
    pub(super) fn len(&self) -> u64 {
        self.counts.lock().identities
    }

    /// Number of contacts with an event.
    pub(super) fn contacts(&self) -> u64 {
        self.counts.lock().contacts
    }

    /// Number of contacts per status, of those that get no newsletter.
    pub(super) fn status_counts(&self) -> StatusCounts {
        let counts = self.counts.lock();
        StatusCounts {
            pending: counts.pending.len() as u64,
            unsubscribed: counts.unsubscribed,
        }
    }

    pub(super) const fn deliveries(&self) -> &DeliveryIndex {
        &self.deliveries
    }

    pub(super) fn has_forgotten(&self) -> bool {
        self.counts.lock().has_forgotten
    }

    /// The shard of an identity, and its slot for the place 0: 24 bits of the hash that did not choose the shard.
    #[expect(clippy::indexing_slicing, reason = "a remainder is below the divisor")]
    #[expect(clippy::cast_possible_truncation, reason = "only the last bits count")]
    fn shard(&self, identity: &Identity) -> (&RwLock<Vec<u64>>, u64) {
        let hash = self.hasher.hash_one(identity);
        (&self.shards[hash as usize % SHARDS], hash & !PLACE_MAX)
    }
}

/// The deliveries of a generation.
#[derive(Default)]
pub(super) struct DeliveryIndex {
    /// Each with its place, and without its texts.
    entries: Mutex<HashMap<DeliveryId, (Place, Delivery)>>,
    /// Deliveries by the hash of the address that they contain.
    named: Mutex<BTreeSet<(u64, DeliveryId)>>,
    hasher: RandomState,
}

/// The deliveries that are being attempted. Only this process takes deliveries, from whatever generation is current.
pub(super) type TakenDeliveries = HashMap<DeliveryId, Channel>;

impl DeliveryIndex {
    /// Replaces the last state of an identity, which may not be a delivery.
    pub(super) fn replace(&self, before: Option<&State>, now: Option<(Place, &State)>) {
        let name = |delivery: &Delivery| {
            let email = delivery.email.as_ref()?;
            Some((self.hasher.hash_one(email.as_str()), delivery.id))
        };
        if let Some((place, State::Delivery(delivery))) = now {
            let entry = Delivery {
                email: None,
                body: String::new(),
                last_error: None,
                ..delivery.clone()
            };
            self.entries.lock().insert(delivery.id, (place, entry));
            self.named.lock().extend(name(delivery));
        } else if let Some(State::Delivery(delivery)) = before {
            self.entries.lock().remove(&delivery.id);
            if let Some(name) = name(delivery) {
                self.named.lock().remove(&name);
            }
        }
    }

    /// Takes up to `count` due deliveries that are not `taken`, in the order of turns.
    pub(super) fn take_due(
        &self,
        taken: &mut TakenDeliveries,
        channel: Channel,
        count: usize,
        turn: &Turn,
        now: Timestamp,
    ) -> Vec<DeliveryId> {
        let entries = self.entries.lock();
        // One may have been dropped before it was read.
        taken.retain(|id, _| entries.contains_key(id));
        let is_due = |entry: &Delivery| {
            entry.kind.channel() == channel && !taken.contains_key(&entry.id) && entry.is_due(now)
        };
        let due = entries.values().filter(|(_, entry)| is_due(entry));
        let due = due.filter_map(|(place, entry)| {
            let rank = turn.rank(entry.network)?;
            Some((rank, entry.due_at, *place, entry.id))
        });
        let mut due: Vec<_> = due.collect();
        // The writer needs the lock meanwhile.
        drop(entries);
        due.sort_unstable();
        let due: Vec<_> = due.into_iter().map(|(.., id)| id).take(count).collect();
        taken.extend(due.iter().map(|id| (*id, channel)));
        due
    }

    /// Failed deliveries, and those whose next attempt is not due yet.
    pub(super) fn retryable(&self, now: Timestamp) -> Vec<DeliveryId> {
        let entries = self.entries.lock();
        let is_retryable = |entry: &Delivery| entry.dead_at.is_some() || entry.due_at > now;
        let entries = entries.values().map(|(_, entry)| entry);
        let retryable = entries.filter(|entry| is_retryable(entry));
        retryable.map(|entry| entry.id).collect()
    }

    /// Failed deliveries, oldest first, with the time of failure.
    pub(super) fn dead(&self) -> Vec<(Timestamp, DeliveryId)> {
        let entries = self.entries.lock();
        let entries = entries.values().map(|(_, entry)| entry);
        let dead = entries.filter_map(|entry| Some((entry.dead_at?, entry.id)));
        let mut dead: Vec<_> = dead.collect();
        dead.sort_unstable();
        dead
    }

    /// All deliveries that contain this address, and possibly others.
    pub(super) fn naming(&self, email: &str) -> Vec<DeliveryId> {
        let hash = self.hasher.hash_one(email);
        let [first, last] = [0, u8::MAX].map(|byte| (hash, DeliveryId::from_bytes([byte; 16])));
        let named = self.named.lock();
        named.range(first..=last).map(|(_, id)| *id).collect()
    }

    /// The state of a channel, which may be held.
    pub(super) fn standing(&self, channel: Channel) -> QueueStanding {
        let mut standing = QueueStanding::default();
        for (_, entry) in self.entries.lock().values() {
            if entry.kind.channel() != channel {
                continue;
            }
            if entry.dead_at.is_some() {
                standing.dead += 1;
            } else {
                standing.waiting += 1;
                let oldest = standing.oldest.get_or_insert(entry.queued_at);
                *oldest = entry.queued_at.min(*oldest);
            }
        }
        standing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_identity_has_its_last_place_and_no_other() {
        let table = PlaceTable::new();
        let identity = |number: u64| Identity::Contact(format!("x{number}@example.com"));
        // Places with all five bytes in use.
        let place = |number: u64| number * 1_099_511;
        for number in 0..10_000 {
            table.set(&identity(number), None, Some(place(number)));
        }
        for number in (0..10_000).step_by(2) {
            let moved = (number % 4 == 0).then(|| place(number) + 1);
            table.set(&identity(number), Some(place(number)), moved);
        }
        let lengths = table.shards.iter().map(|shard| shard.read().len());
        assert_eq!(lengths.sum::<usize>(), 7_500);
        let slots = table.shards.iter().map(|shard| shard.read().capacity());
        let bytes = slots.sum::<usize>() * size_of::<u64>();
        assert!(bytes <= 10_000 * 18, "{bytes}");
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
            // A foreign place costs a read: there are next to none.
            assert!(found.len() <= 2, "{found:?}");
        }
        // An entry that does not exist cannot be removed or moved.
        table.set(&identity(1), Some(place(1) + 1), None);
        assert_eq!(table.places(&identity(1)), [place(1)]);
    }
}
