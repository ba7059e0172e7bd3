//! A batch while it is decided.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::domain::Timestamp;
use crate::ports::StoreError;

use super::generation::{Generation, unreadable};
use super::record::{Event, Identity, Place};

/// The events of a batch so far. Changes of one batch see each other.
pub(super) struct Draft<'a> {
    generation: &'a Generation,
    /// The identities that were looked at.
    known: HashMap<Identity, Known>,
    events: Vec<Event>,
}

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
        }
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
    pub(super) fn record(&mut self, event: Event) -> Result<(), StoreError> {
        let identity = event.identity();
        self.find(&identity)?;
        if let Some(known) = self.known.get_mut(&identity) {
            known.now = Some(self.events.len());
        }
        self.events.push(event);
        Ok(())
    }

    /// What is known before this batch.
    pub(super) const fn generation(&self) -> &'a Generation {
        self.generation
    }

    pub(super) fn events(&self) -> &[Event] {
        &self.events
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
