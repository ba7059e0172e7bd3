//! A generation of the ledger, for lookups: its file, and the place of each identity's last event in it.
//!
//! Places refer to one file. A lookup of more than one event therefore holds the generation, which stays
//! readable after a compaction has replaced it.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::adapters::files::store_error;
use crate::domain::{Confirmation, Contact, Timestamp};
use crate::ports::StoreError;

use super::record::{Event, EventLines, FIRST_PLACE, Flaw, Identity, Place, event_at};
use super::table::PlaceTable;

/// A readable generation.
pub(super) struct Generation {
    file: File,
    table: PlaceTable,
    /// True if bad lines are skipped.
    is_damaged: bool,
    /// End of its acknowledged events.
    end: AtomicU64,
}

impl Generation {
    /// The generation in `file`, before any of its events are known.
    pub(super) fn empty(file: File) -> Self {
        Self {
            file,
            table: PlaceTable::new(),
            is_damaged: false,
            end: AtomicU64::new(FIRST_PLACE),
        }
    }

    /// The generation in `file`, whose acknowledged events end at `end`.
    pub(super) fn read(file: File, end: Place) -> Result<Self, Flaw> {
        Self::empty(file).filled(end)
    }

    /// The intact lines of the damaged `file`.
    pub(super) fn salvage(file: File) -> Result<Self, Flaw> {
        let end = file.metadata()?.len();
        let mut generation = Self::empty(file);
        generation.is_damaged = true;
        generation.filled(end)
    }

    fn filled(self, end: Place) -> Result<Self, Flaw> {
        for event in self.events(self.begin(), end) {
            let (place, event) = event?;
            let identity = event.identity();
            let before = self.find(&identity)?;
            let before = before.as_ref().map(|(place, event)| (*place, event));
            let now = (!event.is_removal()).then_some((place, &event));
            self.table.replace(&identity, before, now);
        }
        self.set_end(end);
        Ok(self)
    }

    /// The events from the place `from` on and before `until`, and their places. A bad line is
    /// [`Flaw::Unreadable`], unless bad lines are skipped.
    pub(super) fn events(
        &self,
        from: Place,
        until: Place,
    ) -> impl Iterator<Item = Result<(Place, Event), Flaw>> {
        EventLines::new(&self.file, from, until).filter_map(|line| match line {
            Ok((place, Some(event))) => Some(Ok((place, event))),
            Ok((_, None)) if self.is_damaged => None,
            Ok((place, None)) => Some(Err(Flaw::Unreadable(place))),
            Err(flaw) => Some(Err(flaw)),
        })
    }

    /// The last event of `identity` and its place, unless it was removed. Reads the disk only if there is
    /// one.
    pub(super) fn find(&self, identity: &Identity) -> Result<Option<(Place, Event)>, Flaw> {
        for place in self.table.places(identity) {
            let event = event_at(&self.file, place)?;
            let is_found = match identity.is_leave_token() {
                true => event.token_identity().as_ref() == Some(identity),
                false => event.identity() == *identity,
            };
            if is_found {
                return Ok(Some((place, event)));
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
            let mail_ended_at = contact
                .confirmation
                .as_ref()
                .and_then(Confirmation::mail_ended_at);
            let is_late = contact.pending_since().is_some_and(|since| since <= before);
            is_late && (mail_ended_at.is_some() || !is_mailed)
        };
        let places = self.table.pending_until(before).into_iter();
        let contacts = places.filter_map(|place| match event_at(&self.file, place) {
            Err(Flaw::Unreadable(place)) => {
                log_unreadable(place);
                None
            }
            event => Some(event.map(Event::into_contact)),
        });
        let overdue = contacts
            .filter_map(|contact| contact.map(|found| found.filter(is_overdue)).transpose());
        overdue.take(count).collect()
    }

    /// The last event of the identity that `event`, at `place`, created, and its place. `None` if `event` created
    /// none, or if its creation was removed or created again. An identity created again with the time of its
    /// first creation is found for both.
    pub(super) fn last_of(
        &self,
        place: Place,
        event: Event,
    ) -> Result<Option<(Place, Event)>, Flaw> {
        if event.is_removal() {
            return Ok(None);
        }
        let identity = event.identity();
        let is_last = self.table.has(&identity, place);
        if event.is_update() {
            // The line that created it may have been a bad one that was skipped.
            return Ok((is_last && self.is_damaged).then_some((place, event)));
        }
        if is_last {
            return Ok(Some((place, event)));
        }
        let last = self.find(&identity)?;
        Ok(last.filter(|(_, last)| last.is_update_of(&event)))
    }

    /// Earliest possible place of its first event.
    pub(super) fn begin(&self) -> Place {
        // A damaged head may have another length.
        if self.is_damaged { 0 } else { FIRST_PLACE }
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

pub(super) fn ledger_failed(error: io::Error) -> StoreError {
    store_error("ledger", &error)
}

/// Logs an entry that is skipped, so that others do not wait for it.
pub(super) fn log_unreadable(place: Place) {
    tracing::error!(
        place,
        "an entry of the ledger cannot be read: see `landing-api ledger verify`"
    );
}

/// The error for a caller of the store when the ledger cannot be read.
pub(super) fn unreadable(flaw: impl Into<Flaw>) -> StoreError {
    StoreError::Unavailable(format!("ledger: {}", flaw.into()))
}
