//! What the store lists, page by page: the ledger is read in its order from a descriptor that is opened
//! once, so that a compaction may replace the file meanwhile. Most identities have one event. Only the
//! others, which a first pass finds, are looked up in the index: a look-up takes longer than all else.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use futures_util::stream;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::adapters::files::file_id;
use crate::ports::{PageStream, StoreError};

use super::record::{Event, EventReader, Flaw, Identity, Kept};
use super::shared_state::SharedState;
use super::store::LedgerStore;

/// How many values a page has.
const PAGE_LEN: usize = 1000;
/// How many pages wait for their reader.
const PAGES_MAX: usize = 2;
/// How often the file may be replaced while it is opened.
const OPENINGS_MAX: u32 = 3;

impl LedgerStore {
    /// Lists what `build` makes of the kept events of everything that a wanted event created, in the order
    /// of these events. A blocking thread reads; it ends when the stream is dropped.
    pub(super) async fn pages<T: Send + 'static>(
        &self,
        is_wanted: impl Fn(&Event) -> bool + Send + 'static,
        build: impl Fn(Kept<Event>) -> Option<T> + Send + 'static,
    ) -> Result<PageStream<T>, StoreError> {
        let mut events = self.open_events().await?;
        let shared = Arc::clone(&self.shared);
        let (sender, mut receiver) = mpsc::channel(PAGES_MAX);
        spawn_blocking(move || {
            let read = ChangedIdentities::read(&mut events)
                .and_then(|changed| read(events, &changed, &shared, &sender, is_wanted, build));
            if let Err(error) = read {
                shared.count_failure(&error);
                // Fails if nobody reads any more.
                let _ = sender.blocking_send(Err(error));
            }
        });
        let pages = stream::poll_fn(move |context| receiver.poll_recv(context));
        Ok(Box::pin(pages))
    }

    /// Opens the ledger for reading, once it can be and an index is there.
    async fn open_events(&self) -> Result<EventReader, StoreError> {
        for _ in 0..OPENINGS_MAX {
            let file = File::open(&self.path).map_err(unreadable)?;
            let id = file_id(&file.metadata().map_err(unreadable)?);
            if self.shared.index().is_some() && self.shared.file() == Some(id) {
                return EventReader::new(file).map_err(unreadable);
            }
            // A compaction is under way, or an empty change makes the writer repair what it can.
            self.repair().await?;
        }
        Err(self.shared.unavailable())
    }
}

/// The identities whose first event is not the last word about them, by hash. One that is here by chance
/// costs a look-up.
struct ChangedIdentities {
    hashes: HashSet<u64>,
    /// Contacts whose erasure has not ended yet, each with the place of its last removal: what created it
    /// before is no contact, even if the same was imported again.
    removed: HashMap<u64, u64>,
    hasher: RandomState,
}

impl ChangedIdentities {
    fn read(events: &mut EventReader) -> Result<Self, StoreError> {
        let mut changed = Self {
            hashes: HashSet::new(),
            removed: HashMap::new(),
            hasher: RandomState::new(),
        };
        let read = events.each_change(|place, event| {
            let hash = changed.hasher.hash_one(event.identity());
            changed.hashes.insert(hash);
            if let Event::ContactForgotten { .. } = event {
                changed.removed.insert(hash, place);
            }
        });
        read.map_err(unreadable)?;
        Ok(changed)
    }

    fn may_have(&self, identity: &Identity) -> bool {
        self.hashes.contains(&self.hasher.hash_one(identity))
    }

    /// Whether what was created at `place` was removed later.
    fn is_removed(&self, identity: &Identity, place: u64) -> bool {
        !self.removed.is_empty()
            && (self.removed.get(&self.hasher.hash_one(identity)))
                .is_some_and(|removed| place < *removed)
    }
}

/// Sends every page. Ends early when nobody reads them any more.
fn read<T>(
    mut events: EventReader,
    changed: &ChangedIdentities,
    shared: &SharedState,
    sender: &mpsc::Sender<Result<Vec<T>, StoreError>>,
    is_wanted: impl Fn(&Event) -> bool,
    build: impl Fn(Kept<Event>) -> Option<T>,
) -> Result<(), StoreError> {
    let mut page = Vec::new();
    while let Some(event) = events.next().map_err(unreadable)? {
        if !is_wanted(&event) {
            continue;
        }
        if sender.is_closed() {
            return Ok(());
        }
        let identity = event.identity();
        if changed.is_removed(&identity, events.place()) {
            continue;
        }
        let kept = if changed.may_have(&identity) {
            let kept = match shared.find(&identity) {
                Some(Ok(kept)) => kept,
                Some(Err(error)) => {
                    shared.fail_index(&error);
                    return Err(error.into());
                }
                None => return Err(shared.unavailable()),
            };
            // Another event may have created it since.
            kept.filter(|kept| kept.first == event)
        } else {
            Some(Kept {
                first: event,
                last: None,
            })
        };
        page.extend(kept.and_then(&build));
        if page.len() == PAGE_LEN {
            let full = std::mem::take(&mut page);
            if sender.blocking_send(Ok(full)).is_err() {
                return Ok(());
            }
        }
    }
    if !page.is_empty() {
        // Fails if nobody reads any more.
        let _ = sender.blocking_send(Ok(page));
    }
    Ok(())
}

fn unreadable(error: impl Into<Flaw>) -> StoreError {
    StoreError::Unavailable(format!("ledger: {}", error.into()))
}
