//! The store's lists, page by page. A generation is read in order, up to its end at the time of the request; a
//! compaction may replace it meanwhile. Of an identity with several events the last counts, at the position of
//! the event that created it.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::stream;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::ports::{PageStream, StoreError};

use super::generation::{Generation, unreadable};
use super::record::{Event, Flaw};
use super::store::LedgerStore;

/// Values per page.
const PAGE_LEN: usize = 1000;
/// Most pages that wait for their reader.
const PAGES_MAX: usize = 2;

impl LedgerStore {
    /// Lists the result of `build` for the last event of every identity that a wanted event created, in the order
    /// of the creating events. A blocking thread reads; it ends when the stream is dropped.
    pub(super) fn pages<T: Send + 'static>(
        &self,
        is_wanted: impl Fn(&Event) -> bool + Send + 'static,
        build: impl Fn(Event) -> Option<T> + Send + 'static,
    ) -> PageStream<T> {
        let shared = Arc::clone(&self.shared);
        let (sender, mut receiver) = mpsc::channel(PAGES_MAX);
        spawn_blocking(move || {
            if let Err(flaw) = send_pages(&shared.generation(), &sender, is_wanted, build) {
                let error = unreadable(flaw);
                shared.count_failure(&error);
                // Fails if nobody reads any more.
                let _ = sender.blocking_send(Err(error));
            }
        });
        Box::pin(stream::poll_fn(move |context| receiver.poll_recv(context)))
    }
}

/// Sends every page. Ends early when nobody reads any more.
fn send_pages<T>(
    generation: &Generation,
    sender: &mpsc::Sender<Result<Vec<T>, StoreError>>,
    is_wanted: impl Fn(&Event) -> bool,
    build: impl Fn(Event) -> Option<T>,
) -> Result<(), Flaw> {
    let mut page = Vec::new();
    // After removals, an identity may be found twice.
    let (has_removed, mut found) = (generation.table().has_removed(), HashSet::new());
    for event in generation.events(generation.begin(), generation.end()) {
        let (place, event) = event?;
        if !is_wanted(&event) {
            continue;
        }
        let last = generation.last_of(place, event)?;
        let last = last.filter(|(place, _)| !has_removed || found.insert(*place));
        page.extend(last.and_then(|(_, event)| build(event)));
        if page.len() == PAGE_LEN && sender.blocking_send(Ok(std::mem::take(&mut page))).is_err() {
            return Ok(());
        }
    }
    if !page.is_empty() {
        // Fails if nobody reads any more.
        let _ = sender.blocking_send(Ok(page));
    }
    Ok(())
}
