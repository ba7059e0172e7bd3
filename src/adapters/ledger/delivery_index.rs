//! An index of the ledger's deliveries in memory, which finds due ones without reading the disk.

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
}

/// The deliveries that are being attempted. Only this process takes deliveries, from whatever generation is current.
pub(super) type TakenDeliveries = HashMap<DeliveryId, Channel>;

impl DeliveryIndex {
    /// Replaces the last state of an identity, which may not be a delivery.
    pub(super) fn replace(&self, before: Option<&State>, now: Option<(Place, &State)>) {
        if let Some((place, State::Delivery(delivery))) = now {
            let entry = self.entry(place, delivery);
            self.entries.lock().insert(delivery.id, entry);
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
        let is_due = |id: &DeliveryId, entry: &IndexEntry| {
            entry.channel == channel
                && !taken.contains_key(id)
                && entry.dead_at.is_none()
                && delivery::is_due(entry.due_at, now)
        };
        let due = entries.iter().filter(|(id, entry)| is_due(id, entry));
        let due = due.filter_map(|(id, entry)| {
            let rank = turn.rank(entry.network)?;
            Some((rank, entry.due_at, entry.place, *id))
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
