//! An index of the ledger's deliveries in memory, which finds due ones without reading the disk.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, RandomState};

use parking_lot::Mutex;

use crate::domain::{Channel, Delivery, DeliveryId, QueueStanding, Timestamp, Turn};

use super::record::{Place, State};

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
