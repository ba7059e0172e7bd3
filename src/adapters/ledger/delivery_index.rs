//! An index of the ledger's deliveries in memory, which finds due ones without reading the disk, and knows which are
//! being attempted. Only this process takes deliveries.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, RandomState};

use parking_lot::Mutex;

use crate::domain::{
    Channel, Delivery, DeliveryId, LimitKey, QueueStanding, Timestamp, Turn, delivery,
};

use super::record::{Place, State};

/// The deliveries of a generation.
#[derive(Default)]
pub(super) struct DeliveryIndex {
    entries: Mutex<HashMap<DeliveryId, IndexEntry>>,
    /// Deliveries by the hash of the address that they contain.
    named: Mutex<BTreeSet<(u64, DeliveryId)>>,
    hasher: RandomState,
}

#[derive(Clone, Copy)]
struct IndexEntry {
    place: Place,
    channel: Channel,
    /// Hash of the address that it contains.
    email: Option<u64>,
    network: Option<LimitKey>,
    queued_at: Timestamp,
    due_at: Timestamp,
    dead_at: Option<Timestamp>,
    /// True while it is being attempted.
    is_taken: bool,
}

impl DeliveryIndex {
    /// Replaces the last state of an identity, which may not be a delivery.
    pub(super) fn replace(&self, before: Option<&State>, now: Option<(Place, &State)>) {
        if let Some((place, State::Delivery(delivery))) = now {
            let mut entry = self.entry(place, delivery);
            let mut entries = self.entries.lock();
            let replaced = entries.get(&delivery.id);
            entry.is_taken = replaced.is_some_and(|replaced| replaced.is_taken);
            entries.insert(delivery.id, entry);
            drop(entries);
            if let Some(email) = entry.email {
                self.named.lock().insert((email, delivery.id));
            }
        } else if let Some(State::Delivery(Delivery { id, .. })) = before {
            let entry = self.entries.lock().remove(id);
            if let Some(email) = entry.and_then(|entry| entry.email) {
                self.named.lock().remove(&(email, *id));
            }
        }
    }

    fn entry(&self, place: Place, delivery: &Delivery) -> IndexEntry {
        let email = delivery.email.as_ref();
        IndexEntry {
            place,
            channel: delivery.kind.channel(),
            email: email.map(|email| self.hasher.hash_one(email.as_str())),
            network: delivery.network,
            queued_at: delivery.queued_at,
            due_at: delivery.due_at,
            dead_at: delivery.dead_at,
            is_taken: false,
        }
    }

    /// Takes up to `count` due deliveries that are not taken, in the order of turns.
    pub(super) fn take_due(
        &self,
        channel: Channel,
        count: usize,
        turn: &Turn,
        now: Timestamp,
    ) -> Vec<DeliveryId> {
        let entries = self.entries.lock();
        let is_due = |entry: &IndexEntry| {
            entry.channel == channel
                && !entry.is_taken
                && entry.dead_at.is_none()
                && delivery::is_due(entry.due_at, now)
        };
        let due = entries.iter().filter(|(_, entry)| is_due(entry));
        let due = due.filter_map(|(id, entry)| {
            let rank = turn.rank(entry.network)?;
            Some((rank, entry.due_at, entry.place, *id))
        });
        let mut due: Vec<_> = due.collect();
        // The writer needs the lock meanwhile.
        drop(entries);
        due.sort_unstable();
        let due: Vec<_> = due.into_iter().map(|(.., id)| id).take(count).collect();
        self.set_taken(&due, true);
        due
    }

    /// Records that these deliveries are taken, or released.
    pub(super) fn set_taken(&self, ids: &[DeliveryId], is_taken: bool) {
        let mut entries = self.entries.lock();
        for id in ids {
            if let Some(entry) = entries.get_mut(id) {
                entry.is_taken = is_taken;
            }
        }
    }

    /// Releases all deliveries of a channel.
    pub(super) fn release(&self, channel: Channel) {
        for entry in self.entries.lock().values_mut() {
            entry.is_taken &= entry.channel != channel;
        }
    }

    /// Number of these deliveries that are taken.
    pub(super) fn count_taken(&self, ids: impl Iterator<Item = DeliveryId>) -> u64 {
        let entries = self.entries.lock();
        let is_taken = |id: &DeliveryId| entries.get(id).is_some_and(|entry| entry.is_taken);
        ids.filter(is_taken).count() as u64
    }

    /// Takes the deliveries that are taken in the generation `before`.
    pub(super) fn take_over(&self, before: &Self) {
        let before = before.entries.lock();
        let taken = before.iter().filter(|(_, entry)| entry.is_taken);
        let taken: Vec<_> = taken.map(|(id, _)| *id).collect();
        self.set_taken(&taken, true);
    }

    /// Failed deliveries, and those whose next attempt is not due yet.
    pub(super) fn retryable(&self, now: Timestamp) -> Vec<DeliveryId> {
        let entries = self.entries.lock();
        let is_retryable = |entry: &IndexEntry| entry.dead_at.is_some() || entry.due_at > now;
        let retryable = entries.iter().filter(|(_, entry)| is_retryable(entry));
        retryable.map(|(id, _)| *id).collect()
    }

    /// Failed deliveries, oldest first, with the time of failure.
    pub(super) fn dead(&self) -> Vec<(Timestamp, DeliveryId)> {
        let entries = self.entries.lock();
        let dead = entries
            .iter()
            .filter_map(|(id, entry)| Some((entry.dead_at?, *id)));
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
        for entry in self.entries.lock().values() {
            if entry.channel != channel {
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
