//! A batch while it is being decided.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::domain::{DeliveryId, Timestamp};
use crate::ports::StoreError;

use super::generation::{Generation, ledger_failed, log_unreadable, unreadable};
use super::record::{EVENT_BYTES_MAX, Event, Flaw, Identity, Place};

/// The events of a batch so far. Changes of one batch see each other.
pub(super) struct Draft<'a> {
    generation: &'a Generation,
    /// Identities that were looked up.
    known: HashMap<Identity, Known>,
    events: Vec<Event>,
    /// The events as JSON.
    lines: Vec<Vec<u8>>,
    /// For each event, the index of the previous event of its identity in this batch.
    replaced: Vec<Option<usize>>,
    /// The deliveries among the events, by the address that they contain.
    named: HashMap<String, Vec<DeliveryId>>,
}

/// Longest delivery that is queued, as JSON: its outcome needs some room.
const QUEUED_BYTES_MAX: usize = EVENT_BYTES_MAX - 3 * 1024;

/// The known state of an identity.
struct Known {
    /// The last event before this batch, and its place.
    before: Option<(Place, Event)>,
    /// Index of its last event in this batch.
    now: Option<usize>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(generation: &'a Generation) -> Self {
        Self {
            generation,
            known: HashMap::new(),
            events: Vec::new(),
            lines: Vec::new(),
            replaced: Vec::new(),
            named: HashMap::new(),
        }
    }

    /// Decides a change. After an error the batch is unchanged.
    pub(super) fn attempt<T>(
        &mut self,
        decide: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let begin = self.events.len();
        let decided = decide(self);
        while decided.is_err() && self.events.len() > begin {
            self.lines.pop();
            let (event, replaced) = (self.events.pop(), self.replaced.pop().flatten());
            let identity = event.map(|event| event.identity());
            if let Some(known) = identity.and_then(|identity| self.known.get_mut(&identity)) {
                known.now = replaced;
            }
        }
        decided
    }

    /// Decides a change that needs the last event of `identity`. If its line cannot be read, it is left unchanged
    /// and logged, so that others do not wait for it.
    pub(super) fn attempt_unless_damaged(
        &mut self,
        identity: &Identity,
        decide: impl FnOnce(&mut Self) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        let decided = self.attempt(decide);
        if decided.is_err()
            && let Err(Flaw::Unreadable(place)) = self.generation.find(identity)
        {
            log_unreadable(place);
            return Ok(false);
        }
        decided
    }

    /// The last event of `identity`, unless it was removed.
    pub(super) fn find(&mut self, identity: &Identity) -> Result<Option<&Event>, StoreError> {
        let generation = self.generation;
        let known = match self.known.entry(identity.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(Known {
                before: generation.find(identity).map_err(unreadable)?,
                now: None,
            }),
        };
        Ok(match known.now {
            Some(number) => self.events.get(number).filter(|event| !event.is_removal()),
            None => known.before.as_ref().map(|(_place, event)| event),
        })
    }

    /// Adds an event to the batch.
    ///
    /// # Errors
    /// [`StoreError`] when it is longer than a reader accepts.
    pub(super) fn record(&mut self, event: Event) -> Result<(), StoreError> {
        let line = serde_json::to_vec(&event).map_err(|error| ledger_failed(error.into()))?;
        let bytes_max = match matches!(event, Event::DeliveryQueued(_)) {
            true => QUEUED_BYTES_MAX,
            false => EVENT_BYTES_MAX,
        };
        if line.len() > bytes_max {
            let length = line.len();
            return Err(StoreError::Unavailable(format!(
                "an entry of {length} bytes is too long for the ledger, whose limit is {bytes_max}"
            )));
        }
        let identity = event.identity();
        self.find(&identity)?;
        let known = self.known.get_mut(&identity);
        let number = self.events.len();
        let replaced = known.and_then(|known| known.now.replace(number));
        if let Some(delivery) = event.delivery()
            && let Some(email) = &delivery.email
        {
            let named = self.named.entry(email.clone()).or_default();
            named.push(delivery.id());
        }
        self.events.push(event);
        self.lines.push(line);
        self.replaced.push(replaced);
        Ok(())
    }

    /// All deliveries that contain this address, and possibly others.
    pub(super) fn naming(&self, email: &str) -> Vec<DeliveryId> {
        let mut naming = self.generation.table().deliveries().naming(email);
        naming.extend(self.named.get(email).into_iter().flatten());
        naming
    }

    /// The events as JSON.
    pub(super) fn lines(&self) -> &[Vec<u8>] {
        &self.lines
    }

    /// Time of the last of its events.
    pub(super) fn at(&self) -> Option<Timestamp> {
        self.events.iter().rev().find_map(Event::at)
    }

    /// Shows the batch to lookups. Its events are at `places` and end at `end`.
    pub(super) fn publish(self, places: &[Place], end: Place) {
        for (identity, known) in &self.known {
            let Some(number) = known.now else { continue };
            let event = self.events.get(number).filter(|event| !event.is_removal());
            let now = places.get(number).copied().zip(event);
            let before = known.before.as_ref().map(|(place, event)| (*place, event));
            self.generation.table().replace(identity, before, now);
        }
        self.generation.set_end(end);
    }
}
