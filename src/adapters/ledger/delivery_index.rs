//! An index of the ledger's deliveries in memory, which finds due ones without reading the disk.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher as _, RandomState};

use parking_lot::Mutex;

use crate::domain::{
    Channel, DeliveryId, DeliveryKind, LimitKey, QueueStanding, Timestamp, Turn, delivery,
};

use super::record::{DeliveryEntry, Event, Place};

/// The deliveries of a generation.
#[derive(Default)]
pub(super) struct DeliveryIndex {
    entries: Mutex<HashMap<DeliveryId, IndexEntry>>,
    /// Deliveries by the hash of the address that they contain. Locked after `entries`.
    named: Mutex<HashMap<u64, Vec<DeliveryId>>>,
    hasher: RandomState,
}

#[derive(Clone, Copy)]
struct IndexEntry {
    place: Place,
    /// `None` for a channel of a later version.
    channel: Option<Channel>,
    /// Hash of the address that it contains.
    email: Option<u64>,
    network: Option<LimitKey>,
    queued_at: Timestamp,
    due_at: Timestamp,
    dead_at: Option<Timestamp>,
}

impl DeliveryIndex {
    /// Replaces the last event of an identity, which may not be a delivery.
    pub(super) fn replace(&self, before: Option<&Event>, now: Option<(Place, &Event)>) {
        let now = now.and_then(|(place, event)| Some((place, event.delivery()?)));
        if let Some((place, state)) = now {
            let (id, entry) = (state.id(), self.entry(place, state));
            let mut entries = self.entries.lock();
            if entries.insert(id, entry).is_none()
                && let Some(email) = entry.email
            {
                self.named.lock().entry(email).or_default().push(id);
            }
        } else if let Some(state) = before.and_then(Event::delivery) {
            let (id, mut entries) = (state.id(), self.entries.lock());
            if let Some(email) = entries.remove(&id).and_then(|entry| entry.email)
                && let Entry::Occupied(mut named) = self.named.lock().entry(email)
            {
                named.get_mut().retain(|other| *other != id);
                if named.get().is_empty() {
                    named.remove();
                }
            }
        }
    }

    fn entry(&self, place: Place, state: &DeliveryEntry) -> IndexEntry {
        let kind = DeliveryKind::from_name(&state.kind);
        IndexEntry {
            place,
            channel: kind.map(DeliveryKind::channel),
            email: state.email.as_deref().map(|key| self.hasher.hash_one(key)),
            network: state.network(),
            queued_at: Timestamp::from_ms(state.at),
            due_at: Timestamp::from_ms(state.due_at),
            dead_at: state.dead_at.map(Timestamp::from_ms),
        }
    }

    /// Up to `count` due deliveries that are `wanted`, in the order of turns.
    pub(super) fn due(
        &self,
        channel: Channel,
        count: usize,
        turn: &Turn,
        now: Timestamp,
        wanted: impl Fn(&DeliveryId) -> bool,
    ) -> Vec<DeliveryId> {
        let entries = self.entries.lock();
        let is_due = |it: &IndexEntry| {
            it.channel == Some(channel) && it.dead_at.is_none() && delivery::is_due(it.due_at, now)
        };
        let due = entries.iter().filter(|(id, it)| is_due(it) && wanted(id));
        let due = due.filter_map(|(id, it)| {
            let rank = turn.rank(it.network)?;
            Some((rank, it.due_at, it.place, *id))
        });
        let mut due: Vec<_> = due.collect();
        // The writer needs the lock meanwhile.
        drop(entries);
        due.sort_unstable();
        due.into_iter().map(|(.., id)| id).take(count).collect()
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
        self.named.lock().get(&hash).cloned().unwrap_or_default()
    }

    /// The state of a channel, which may be held.
    pub(super) fn standing(&self, channel: Channel) -> QueueStanding {
        let mut standing = QueueStanding::default();
        for entry in self.entries.lock().values() {
            if entry.channel != Some(channel) {
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
