//! The store's lists, page by page. A generation is read in order, up to its end at the time of the request; a
//! compaction may replace it meanwhile. Of an identity with several events the last counts, at the position of
//! the event that created it.

use std::sync::Arc;

use futures_util::stream;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::ports::{PageStream, StoreError};

use super::record::{Flaw, State};
use super::store::LedgerStore;

/// Values per page.
const PAGE_LEN: usize = 1000;
/// Most pages that wait for their reader.
const PAGES_MAX: usize = 2;

impl LedgerStore {
    /// Lists the result of `build` for the last state of every identity that was created in a wanted one, in the
    /// order of creation. A blocking thread reads; it ends when the stream is dropped.
    pub(super) fn pages<T: Send + 'static>(
        &self,
        is_wanted: impl Fn(&State) -> bool + Send + 'static,
        build: impl Fn(State) -> Option<T> + Send + 'static,
    ) -> PageStream<T> {
        let shared = Arc::clone(&self.shared);
        let (sender, mut receiver) = mpsc::channel(PAGES_MAX);
        spawn_blocking(move || {
            let generation = shared.generation();
            let states = generation.states(generation.end(), is_wanted);
            if let Err(flaw) = send_pages(states, &sender, build) {
                let error = StoreError::from(flaw);
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
    states: impl Iterator<Item = Result<State, Flaw>>,
    sender: &mpsc::Sender<Result<Vec<T>, StoreError>>,
    build: impl Fn(State) -> Option<T>,
) -> Result<(), Flaw> {
    let mut page = Vec::new();
    for state in states {
        page.extend(build(state?));
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
