//! A generation of the ledger, for lookups: its file, and the place of each identity's last event in it.
//!
//! Places refer to one file. A lookup of more than one event therefore holds the generation, which stays
//! readable after a compaction has replaced it.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

use crate::adapters::files::store_error;
use crate::domain::{Confirmation, Contact, Timestamp, macros::hidden};
use crate::ports::StoreError;

use super::record::{
    Content as _, Event, FIRST_PLACE, Flaw, Identity, Ledger, Place, State, event_at, events,
};
use super::table::PlaceTable;

/// The generation that lookups read. A compaction replaces it, and so does a repair after a panic.
pub(super) struct CurrentGeneration(RwLock<Arc<Generation>>);

impl CurrentGeneration {
    pub(super) fn new(generation: Generation) -> Self {
        Self(RwLock::new(Arc::new(generation)))
    }

    pub(super) fn generation(&self) -> Arc<Generation> {
        Arc::clone(&self.0.read())
    }

    pub(super) fn replace(&self, generation: Generation) {
        *self.0.write() = Arc::new(generation);
    }
}

hidden!(CurrentGeneration);

/// A readable generation.
pub(super) struct Generation {
    file: File,
    table: PlaceTable,
    /// End of its acknowledged events.
    end: AtomicU64,
}

impl Generation {
    /// The generation in `file`, before any of its events are known.
    pub(super) fn empty(file: File) -> Self {
        Self {
            file,
            table: PlaceTable::new(),
            end: AtomicU64::new(FIRST_PLACE),
        }
    }

    /// The acknowledged events of `ledger`.
    pub(super) fn of(ledger: &Ledger) -> Result<Self, Flaw> {
        Self::read(ledger.file.as_file().try_clone()?, ledger.length)
    }

    /// The events of `file` up to `end`.
    pub(super) fn read(file: File, end: Place) -> Result<Self, Flaw> {
        let generation = Self::empty(file);
        for event in generation.events(FIRST_PLACE, end) {
            let (place, event) = event?;
            let identity = event.identity();
            let before = generation.find(&identity)?;
            let before = before.as_ref().map(|(place, state)| (*place, state));
            let now = event.state().map(|state| (place, state));
            generation.table.replace(&identity, before, now);
        }
        generation.set_end(end);
        Ok(generation)
    }

    /// The events from the place `from` on and before `until`, and their places.
    pub(super) fn events(
        &self,
        from: Place,
        until: Place,
    ) -> impl Iterator<Item = Result<(Place, Event), Flaw>> {
        events(&self.file, from, until)
    }

    /// The result of `build` for the last state of each identity that was created before the place `until` in a state
    /// that has one, and the place of that state, in the order of creation. An identity that was created, removed and
    /// created again may come twice.
    pub(super) fn states<T>(
        &self,
        until: Place,
        build: impl Fn(State) -> Option<T>,
    ) -> impl Iterator<Item = Result<(Place, T), Flaw>> {
        let events = self.events(FIRST_PLACE, until);
        events.filter_map(move |event| {
            let last = event.and_then(|(place, event)| self.last_of(place, event, &build));
            last.transpose()
        })
    }

    /// The last state of the identity that the event at `place` created, and its place.
    fn last_of<T>(
        &self,
        place: Place,
        event: Event,
        build: &impl Fn(State) -> Option<T>,
    ) -> Result<Option<(Place, T)>, Flaw> {
        let Event::Created(state) = event else {
            return Ok(None);
        };
        let (identity, subscribed_at) = (state.identity(), state.subscribed_at());
        let Some(created) = build(state) else {
            return Ok(None);
        };
        if self.table.has(&identity, place) {
            return Ok(Some((place, created)));
        }
        let last = self.find(&identity)?;
        // A contact may have been forgotten and created again since.
        let last = last.filter(|(_, last)| last.subscribed_at() == subscribed_at);
        Ok(last.and_then(|(place, last)| Some((place, build(last)?))))
    }

    /// The last state of `identity` and its place, unless it was removed. Reads the disk only if there is one.
    pub(super) fn find(&self, identity: &Identity) -> Result<Option<(Place, State)>, Flaw> {
        for place in self.table.places(identity) {
            let Some(state) = event_at(&self.file, place)?.into_state() else {
                continue;
            };
            if state.identity() == *identity || state.token().as_ref() == Some(identity) {
                return Ok(Some((place, state)));
            }
        }
        Ok(None)
    }

    /// Reads its first event, if there is one, so that a miss takes as long as a hit.
    pub(super) fn read_any(&self) {
        if self.end() > FIRST_PLACE {
            let _ = event_at(&self.file, FIRST_PLACE);
        }
    }

    /// Up to `count` contacts whose confirmation period began at `before` or earlier; with `is_mailed`, only
    /// those whose email needs no further attempt.
    pub(super) fn overdue(
        &self,
        before: Timestamp,
        is_mailed: bool,
        count: usize,
    ) -> Result<Vec<Contact>, Flaw> {
        let is_overdue = |contact: &Contact| {
            let confirmation = contact.confirmation.as_ref();
            let mail_ended_at = confirmation.and_then(Confirmation::mail_ended_at);
            let is_late = contact.pending_since().is_some_and(|since| since <= before);
            is_late && (mail_ended_at.is_some() || !is_mailed)
        };
        let mut overdue = Vec::new();
        for place in self.table.pending_until(before) {
            let contact = match event_at(&self.file, place) {
                Err(Flaw::Unreadable(place)) => {
                    log_unreadable(place);
                    continue;
                }
                event => event?.into_state().and_then(Contact::of),
            };
            overdue.extend(contact.filter(is_overdue));
            if overdue.len() == count {
                break;
            }
        }
        Ok(overdue)
    }

    pub(super) fn table(&self) -> &PlaceTable {
        &self.table
    }

    pub(super) fn end(&self) -> Place {
        self.end.load(Ordering::Acquire)
    }

    pub(super) fn set_end(&self, end: Place) {
        self.end.store(end, Ordering::Release);
    }
}

/// Logs an entry that is skipped, so that others do not wait for it.
pub(super) fn log_unreadable(place: Place) {
    tracing::error!(
        place,
        "an entry of the ledger cannot be read: see `landing-api ledger verify`"
    );
}

/// The error for a caller of the store when the ledger cannot be read or written.
impl From<Flaw> for StoreError {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            Flaw::Io(error) => store_error("ledger", &error),
            Flaw::Foreign(_) | Flaw::Damaged { .. } | Flaw::Unreadable(_) => {
                Self::Unavailable(format!("ledger: {flaw}"))
            }
        }
    }
}
