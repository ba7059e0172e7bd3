//! A batch while it is being decided.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;

use smallvec::SmallVec;

use crate::domain::{Contact, ContactStatus, Delivery, EmailAddress, Timestamp};

use super::generation::{Generation, log_unreadable};
use super::record::{Content, EVENT_BYTES_MAX, Event, Flaw, Identity, Ledger, Place, State};

/// Longest delivery that is queued, as JSON: its outcome needs some room.
const QUEUED_BYTES_MAX: usize = EVENT_BYTES_MAX - 3 * 1024;

/// The events of a batch so far. Changes of one batch see each other.
pub(super) struct Draft<'a> {
    generation: &'a Generation,
    /// Identities that were looked up.
    known: HashMap<Identity, Known>,
    /// The events, each with its JSON.
    recorded: Vec<(Event, Vec<u8>)>,
    /// Time of the last change, if this program's clock measured it.
    pub(super) at: Option<Timestamp>,
}

/// The known state of an identity.
struct Known {
    /// The last state before this batch, and its place.
    before: Option<(Place, State)>,
    /// Indexes of its events in this batch.
    events: SmallVec<[usize; 2]>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(generation: &'a Generation) -> Self {
        Self {
            generation,
            known: HashMap::new(),
            recorded: Vec::new(),
            at: None,
        }
    }

    /// Decides a change. After an error the batch is unchanged.
    pub(super) fn attempt<T>(
        &mut self,
        decide: impl FnOnce(&mut Self) -> Result<T, Flaw>,
    ) -> Result<T, Flaw> {
        let begin = self.recorded.len();
        let decided = decide(self);
        if decided.is_err() {
            self.recorded.truncate(begin);
            for known in self.known.values_mut() {
                known.events.retain(|number| *number < begin);
            }
        }
        decided
    }

    /// Decides a change of one identity. If its line cannot be read, it is left unchanged and logged, so that
    /// others do not wait for it.
    pub(super) fn attempt_unless_damaged(
        &mut self,
        decide: impl FnOnce(&mut Self) -> Result<bool, Flaw>,
    ) -> Result<bool, Flaw> {
        match self.attempt(decide) {
            Err(Flaw::Unreadable(place)) => {
                log_unreadable(place);
                Ok(false)
            }
            decided => decided,
        }
    }

    /// The last state of `identity`, unless it was removed.
    pub(super) fn find(&mut self, identity: &Identity) -> Result<Option<&State>, Flaw> {
        let known = match self.known.entry(identity.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(Known {
                before: self.generation.find(identity)?,
                events: SmallVec::new(),
            }),
        };
        Ok(match known.events.last() {
            Some(number) => state_after(&self.recorded, *number),
            None => known.before.as_ref().map(|(_place, state)| state),
        })
    }

    /// The content of that state.
    pub(super) fn get<T: Content>(&mut self, identity: &Identity) -> Result<Option<T>, Flaw> {
        Ok(self.find(identity)?.cloned().and_then(T::of))
    }

    /// Sets the state of its identity.
    ///
    /// # Errors
    /// When the event is longer than a reader accepts.
    pub(super) fn put(&mut self, state: State) -> Result<(), Flaw> {
        let identity = state.identity();
        let event = match self.find(&identity)? {
            None => Event::Created(state),
            Some(_) => Event::Changed(state),
        };
        self.record(identity, event)
    }

    /// Removes an identity. Returns whether it was there.
    pub(super) fn remove(&mut self, identity: Identity) -> Result<bool, Flaw> {
        let was_there = self.find(&identity)?.is_some();
        // An erasure also removes files that may contain an unknown contact.
        if was_there || matches!(identity, Identity::Contact(_)) {
            self.record(identity.clone(), Event::Removed(identity))?;
        }
        Ok(was_there)
    }

    fn record(&mut self, identity: Identity, event: Event) -> Result<(), Flaw> {
        let line = serde_json::to_vec(&event).map_err(io::Error::from)?;
        check_length(line.len(), EVENT_BYTES_MAX)?;
        if let Some(known) = self.known.get_mut(&identity) {
            known.events.push(self.recorded.len());
        }
        self.recorded.push((event, line));
        Ok(())
    }

    /// Applies `change` to a contact, and queues the notice with it. Returns whether there is one, and `change`
    /// returned true.
    pub(super) fn change(
        &mut self,
        known: Option<Contact>,
        notice: Option<Delivery>,
        change: impl FnOnce(&mut Contact) -> bool,
    ) -> Result<bool, Flaw> {
        let Some(mut contact) = known else {
            return Ok(false);
        };
        if !change(&mut contact) {
            return Ok(false);
        }
        if contact.status() == ContactStatus::Unsubscribed {
            // The webhook must not be notified of the sign-up after the unsubscribe.
            self.remove_naming(&contact.email)?;
        }
        self.put(State::Contact(contact))?;
        self.queue(notice)?;
        Ok(true)
    }

    /// Queues deliveries.
    pub(super) fn queue(
        &mut self,
        deliveries: impl IntoIterator<Item = Delivery>,
    ) -> Result<(), Flaw> {
        for delivery in deliveries {
            self.put(State::Delivery(delivery))?;
            check_length(self.last_bytes(), QUEUED_BYTES_MAX)?;
        }
        Ok(())
    }

    /// Removes the deliveries that contain an address.
    pub(super) fn remove_naming(&mut self, email: &EmailAddress) -> Result<(), Flaw> {
        let deliveries = self.generation.table().deliveries();
        let mut naming = deliveries.naming(email.as_str());
        naming.extend(self.recorded.iter().filter_map(|(event, _)| {
            let State::Delivery(delivery) = event.state()? else {
                return None;
            };
            (delivery.email.as_ref() == Some(email)).then_some(delivery.id)
        }));
        for id in naming {
            let identity = Identity::delivery(id);
            if let Some(State::Delivery(delivery)) = self.find(&identity)?
                && delivery.email.as_ref() == Some(email)
            {
                self.remove(identity)?;
            }
        }
        Ok(())
    }

    /// Length of the last event, as JSON.
    pub(super) fn last_bytes(&self) -> usize {
        self.recorded.last().map_or(0, |(_, line)| line.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.recorded.is_empty()
    }

    /// Appends the batch durably to the ledger of its generation, and shows it to lookups. After an error nothing
    /// was recorded.
    pub(super) fn write(self, ledger: &mut Ledger) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let lines = self.recorded.iter().map(|(_, line)| &**line);
        let places = ledger.append(lines)?;
        for (identity, known) in &self.known {
            let Some(number) = known.events.last() else {
                continue;
            };
            let state = state_after(&self.recorded, *number);
            let now = places.get(*number).copied().zip(state);
            let before = known.before.as_ref().map(|(place, state)| (*place, state));
            self.generation.table().replace(identity, before, now);
        }
        self.generation.set_end(ledger.length);
        Ok(())
    }
}

/// The state of its identity after this event, unless it was removed.
fn state_after(recorded: &[(Event, Vec<u8>)], number: usize) -> Option<&State> {
    recorded.get(number).and_then(|(event, _)| event.state())
}

/// Fails if an event of this length, as JSON, is too long.
fn check_length(bytes: usize, bytes_max: usize) -> Result<(), Flaw> {
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(Flaw::Io(io::Error::other(format!(
        "an entry of {bytes} bytes is too long for the ledger, whose limit is {bytes_max}"
    ))))
}
