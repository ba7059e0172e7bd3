//! A batch while it is decided.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::domain::{DeliveryId, Timestamp};
use crate::ports::StoreError;

use super::generation::{Generation, ledger_failed, log_unreadable, unreadable};
use super::record::{EVENT_BYTES_MAX, Event, Flaw, Identity, Place};

/// The events of a batch so far. Changes of one batch see each other.
pub(super) struct Draft<'a> {
    generation: &'a Generation,
    /// The identities that were looked at.
    known: HashMap<Identity, Known>,
    events: Vec<Event>,
    /// The events as JSON.
    lines: Vec<Vec<u8>>,
    /// Of each event, which one was the last of its identity before it.
    replaced: Vec<Option<usize>>,
    /// The deliveries among the events, by the address that they name.
    named: HashMap<String, Vec<DeliveryId>>,
}

/// The longest delivery that is queued, as JSON: room is left for what becomes of it.
const QUEUED_BYTES_MAX: usize = EVENT_BYTES_MAX - 3 * 1024;

/// What is known of an identity.
struct Known {
    /// The last event before this batch, and its place.
    before: Option<(Place, Event)>,
    /// Which of this batch's events is its last.
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

    /// Decides a change. After an error the batch is as it was before.
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

    /// Decides a change that needs the last event of `identity`. One whose line cannot be read is left as it is, and
    /// logged: others must not wait for it.
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

    /// The last event of `identity`, if anything is left of it.
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
    /// [`StoreError`] when it is longer than what is read.
    pub(super) fn record(&mut self, event: Event) -> Result<(), StoreError> {
        let line = serde_json::to_vec(&event).map_err(|error| ledger_failed(error.into()))?;
        let bytes_max = match matches!(event, Event::DeliveryQueued(_)) {
            true => QUEUED_BYTES_MAX,
            false => EVENT_BYTES_MAX,
        };
        if line.len() > bytes_max {
            let length = line.len();
            return Err(StoreError::Unavailable(format!(
                "an entry of {length} bytes is too long for the ledger, which takes {bytes_max}"
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

    /// The deliveries that may name this address, and surely all that do.
    pub(super) fn naming(&self, email: &str) -> Vec<DeliveryId> {
        let mut naming = self.generation.table().deliveries().naming(email);
        naming.extend(self.named.get(email).into_iter().flatten());
        naming
    }

    /// The events as JSON.
    pub(super) fn lines(&self) -> &[Vec<u8>] {
        &self.lines
    }

    /// When the last of its events happened.
    pub(super) fn at(&self) -> Option<Timestamp> {
        self.events.iter().rev().find_map(Event::at)
    }

    /// Shows the batch to look-ups. Its events are in `places`, and end at `end`.
    pub(super) fn publish(self, places: &[Place], end: Place) {
        for (identity, known) in &self.known {
            let Some(number) = known.now else { continue };
            let event = self.events.get(number).filter(|it| !it.is_removal());
            let now = places.get(number).copied().zip(event);
            let before = known.before.as_ref().map(|(place, event)| (*place, event));
            self.generation.table().replace(identity, before, now);
        }
        self.generation.set_end(end);
    }
}
