//! Which deliveries the ledger has, in memory: what is due is found without a look at the disk.

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
    /// Those that name an address, by its hash. Locked after `entries`.
    named: Mutex<HashMap<u64, Vec<DeliveryId>>>,
    /// Hashes addresses.
    hasher: RandomState,
}

#[derive(Clone, Copy)]
struct IndexEntry {
    place: Place,
    /// `None` if it is of a later version.
    channel: Option<Channel>,
    /// The hash of the address that it names.
    email: Option<u64>,
    network: Option<LimitKey>,
    queued_at: Timestamp,
    due_at: Timestamp,
    dead_at: Option<Timestamp>,
}

impl DeliveryIndex {
    /// Replaces the last event of an identity, which may be no delivery at all.
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
            email: state.email.as_deref().map(|it| self.hasher.hash_one(it)),
            network: state.network(),
            queued_at: Timestamp::from_ms(state.at),
            due_at: Timestamp::from_ms(state.due_at),
            dead_at: state.dead_at.map(Timestamp::from_ms),
        }
    }

    /// Up to `count` that are due, in the order of turns, without those that are not `wanted`.
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
        // The writer needs them meanwhile.
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

    /// Those that were given up, the oldest first, with the time when they were.
    pub(super) fn dead(&self) -> Vec<(Timestamp, DeliveryId)> {
        let entries = self.entries.lock();
        let dead = entries
            .iter()
            .filter_map(|(id, it)| Some((it.dead_at?, *id)));
        let mut dead: Vec<_> = dead.collect();
        dead.sort_unstable();
        dead
    }

    /// Those that may name this address, and surely all that do.
    pub(super) fn naming(&self, email: &str) -> Vec<DeliveryId> {
        let hash = self.hasher.hash_one(email);
        self.named.lock().get(&hash).cloned().unwrap_or_default()
    }

    /// How a channel stands, which may be held.
    pub(super) fn standing(&self, channel: Channel) -> QueueStanding {
        let mut standing = QueueStanding::default();
        for it in self.entries.lock().values() {
            if it.channel != Some(channel) {
                continue;
            }
            if it.dead_at.is_some() {
                standing.dead += 1;
            } else {
                standing.waiting += 1;
                let oldest = standing.oldest.get_or_insert(it.queued_at);
                *oldest = it.queued_at.min(*oldest);
            }
        }
        standing
    }
}
