//! A batch while it is decided.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;

use super::index::{Index, IndexError, events};
use super::record::{Entry, Event, Identity, Kept};

/// The events of a batch so far, and the index as it will be with them: changes of one batch see
/// each other.
pub(super) struct Draft<'a> {
    index: &'a Index,
    /// What will be kept of the identities that were looked at.
    kept: HashMap<Identity, Option<Kept<Box<[u8]>>>>,
    entries: Vec<Entry>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(index: &'a Index) -> Self {
        Self {
            index,
            kept: HashMap::new(),
            entries: Vec::new(),
        }
    }

    /// Looks `identities` up in the order of the index. One by one in their own order, each of many would
    /// read another page of its files.
    pub(super) fn prefetch(&mut self, mut identities: Vec<Identity>) -> Result<(), IndexError> {
        identities.sort_by_cached_key(|it| self.index.bucket_id(it));
        self.kept.reserve(identities.len());
        for identity in &identities {
            self.look_up(identity)?;
        }
        Ok(())
    }

    /// What will be kept of `identity`.
    pub(super) fn find(&mut self, identity: &Identity) -> Result<Option<Kept<Event>>, IndexError> {
        self.look_up(identity)?.as_ref().map(events).transpose()
    }

    /// Adds an event to the batch.
    pub(super) fn record(&mut self, event: &Event) -> Result<(), IndexError> {
        let entry = Entry::new(event)?;
        let kept = self.look_up(&entry.identity)?;
        *kept = entry.clone().fold(kept.take());
        self.entries.push(entry);
        Ok(())
    }

    /// The batch.
    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    fn look_up(&mut self, identity: &Identity) -> Result<&mut Option<Kept<Box<[u8]>>>, IndexError> {
        let index = self.index;
        match self.kept.entry(identity.clone()) {
            MapEntry::Occupied(known) => Ok(known.into_mut()),
            MapEntry::Vacant(unknown) => Ok(unknown.insert(index.find(identity)?)),
        }
    }
}
