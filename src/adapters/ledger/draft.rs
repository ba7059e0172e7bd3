//! A batch while it is decided.

use std::collections::HashMap;

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

    /// What will be kept of `identity`.
    pub(super) fn find(&mut self, identity: &Identity) -> Result<Option<Kept<Event>>, IndexError> {
        let kept = self.take(identity)?;
        let found = kept.as_ref().map(events).transpose();
        self.kept.insert(identity.clone(), kept);
        found
    }

    /// Adds an event to the batch.
    pub(super) fn record(&mut self, event: &Event) -> Result<(), IndexError> {
        let entry = Entry::new(event)?;
        let before = self.take(&entry.identity)?;
        let after = entry.clone().fold(before);
        self.kept.insert(entry.identity.clone(), after);
        self.entries.push(entry);
        Ok(())
    }

    /// The batch.
    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    fn take(&mut self, identity: &Identity) -> Result<Option<Kept<Box<[u8]>>>, IndexError> {
        match self.kept.remove(identity) {
            Some(kept) => Ok(kept),
            None => self.index.find(identity),
        }
    }
}
