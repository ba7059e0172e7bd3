//! The store behind the ports.

use std::collections::HashSet;
use std::fs::File;
use std::iter;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures_util::stream;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::adapters::files::data_dir::{DataDir, held};
use crate::adapters::files::{Files, OpenError};
use crate::domain::{Channel, MacKey, Settled, Timestamp};
use crate::ports::{Compaction, ERASED_MAX, PageStream, StoreError};

use super::compaction::Compactor;
use super::draft::Draft;
use super::generation::CurrentGeneration;
use super::health::WriterHealth;
use super::open::{Tuning, open};
use super::record::{Content, Flaw, Identity, Place, State};
use super::table::TakenDeliveries;
use super::writer::{ChangeReply, LedgerWriter, PendingChange, closed};

/// Values per page of a list.
const PAGE_LEN: usize = 1000;
/// Most pages that wait for their reader.
const PAGES_MAX: usize = 2;

/// Most changes in one batch.
const BATCH_CHANGES_MAX: usize = 1024;

/// Contacts, deliveries, keys and revocations in a data directory.
#[derive(Debug)]
pub struct LedgerStore {
    /// The queue of the writer, and its thread. `None` once closed.
    queue: Mutex<Option<(Sender<Waiting>, JoinHandle<()>)>>,
    /// The free slots of the queue: a bounded channel would allocate all of them at once.
    slots: Arc<Semaphore>,
    writer: Arc<Mutex<LedgerWriter>>,
    compactor: Arc<Compactor>,
    pub(super) current: Arc<CurrentGeneration>,
    pub(super) health: Arc<WriterHealth>,
    pub(super) files: Arc<dyn Files>,
    /// The data directory.
    pub(super) directory: PathBuf,
    /// The channels whose deliveries are held by a file.
    pub(super) held: Mutex<HashSet<Channel>>,
    /// The deliveries that are being attempted, of all generations.
    pub(super) taken: Mutex<TakenDeliveries>,
    /// Outcomes of deliveries that are not stored yet.
    pub(super) unsettled: Mutex<Vec<Settled>>,
    /// Hashes forgotten addresses.
    pub(super) tombstone_key: MacKey,
    /// Held until the writer is gone, which [`Drop`] waits for.
    _lock: Arc<[File; 2]>,
}

/// A change, when it was queued, and its slot.
type Waiting = (PendingChange, Instant, OwnedSemaphorePermit);

impl LedgerStore {
    /// Opens the ledger in `data_dir` and starts the writer. Blocks as long as the disk takes.
    ///
    /// # Errors
    /// [`OpenError`] when the ledger is not trustworthy or not writable.
    pub fn open(data_dir: &DataDir) -> Result<Self, OpenError> {
        Self::open_with(data_dir, &Tuning::default())
    }

    /// Opens the store with other limits or files than the default ones.
    ///
    /// # Errors
    /// As [`LedgerStore::open`].
    pub fn open_with(data_dir: &DataDir, tuning: &Tuning) -> Result<Self, OpenError> {
        let writer = open(data_dir, tuning)?;
        let (current, health) = (Arc::clone(&writer.current), Arc::clone(&writer.health));
        let channels = Channel::ALL.into_iter();
        let held = channels.filter(|channel| held(data_dir.path(), *channel).exists());
        let writer = Arc::new(Mutex::new(writer));
        let compactor = Arc::new(Compactor::new(Arc::clone(&writer)));
        let (queue, receiver) = channel();
        let thread = thread::Builder::new()
            .name("ledger".to_owned())
            .spawn({
                let (writer, compactor) = (Arc::clone(&writer), Arc::clone(&compactor));
                let look_interval = tuning.look_interval;
                move || run(&writer, &compactor, &receiver, look_interval)
            })
            .map_err(OpenError::io("start a thread for", data_dir.path()))?;
        Ok(Self {
            queue: Mutex::new(Some((queue, thread))),
            slots: Arc::new(Semaphore::new(tuning.waiting_changes_max)),
            writer,
            compactor,
            current,
            health,
            files: Arc::clone(&tuning.files),
            directory: data_dir.path().to_path_buf(),
            held: Mutex::new(held.collect()),
            taken: Mutex::default(),
            unsettled: Mutex::default(),
            tombstone_key: data_dir.secret().keys().tombstone,
            _lock: data_dir.lock(),
        })
    }

    /// Commits waiting changes and marks the end of the ledger. Later calls do nothing. Blocks as long as the disk
    /// takes.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the end cannot be marked; no change is lost.
    /// [`StoreError::Displaced`] when the next start would not find the recorded changes.
    pub fn close(&self) -> Result<(), StoreError> {
        if !self.stop() {
            return Ok(());
        }
        self.health.set_write_error(Some(closed()));
        self.writer.lock().finish()
    }

    /// Refuses further changes, and waits for those in the queue and for a compaction. False if already closed.
    fn stop(&self) -> bool {
        self.compactor.stop();
        let Some((queue, thread)) = self.queue.lock().take() else {
            return false;
        };
        drop(queue);
        // It catches its panics.
        let _ = thread.join();
        self.compactor.wait();
        true
    }

    /// Queues a change, and waits until the writer has decided it and its events are durable. `at` is its time by this
    /// service's clock, if known. It is committed even if the caller stops waiting.
    pub(super) async fn submit<T: Send + 'static>(
        &self,
        at: Option<Timestamp>,
        decide: impl FnOnce(&mut Draft<'_>) -> Result<T, Flaw> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, answer) = oneshot::channel();
        let change = move |draft: &mut Draft<'_>| -> Option<ChangeReply> {
            draft.at = at.or(draft.at);
            // In both cases the caller may have been dropped.
            match draft.attempt(decide) {
                Ok(value) => Some(Box::new(move |outcome| {
                    drop(sender.send(outcome.map(|()| value)));
                })),
                Err(flaw) => {
                    drop(sender.send(Err(flaw.into())));
                    None
                }
            }
        };
        let answered = match self.send(Box::new(change)) {
            Ok(()) => answer
                .await
                .unwrap_or_else(|_given_up| Err(self.health.unavailable())),
            Err(error) => Err(error),
        };
        answered.inspect_err(|error| self.health.count_failure(error))
    }

    /// Changes each of many identities, in batches short enough for waiting sign-ups. Returns the number of changed
    /// ones.
    pub(super) async fn for_each<I: Clone + Send + 'static>(
        &self,
        items: Vec<I>,
        now: Timestamp,
        change: impl Fn(&mut Draft<'_>, I) -> Result<bool, Flaw> + Clone + Send + 'static,
    ) -> Result<u64, StoreError> {
        let mut count = 0;
        for items in items.chunks(ERASED_MAX) {
            let (items, change) = (items.to_vec(), change.clone());
            let changed = self.submit(Some(now), move |draft| {
                items.into_iter().try_fold(0, |count, item| {
                    let changed = draft.attempt_unless_damaged(|draft| change(draft, item));
                    Ok(count + u64::from(changed?))
                })
            });
            count += changed.await?;
        }
        Ok(count)
    }

    /// Queues a change, unless the queue is full or closed.
    fn send(&self, change: PendingChange) -> Result<(), StoreError> {
        let queue = self.queue.lock();
        let (queue, _thread) = queue.as_ref().ok_or_else(closed)?;
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        let slot = slot.map_err(|_full| StoreError::Overloaded)?;
        let sent = queue.send((change, Instant::now(), slot));
        sent.map_err(|_disconnected| closed())
    }

    /// Compacts the ledger if it is still `needed` when no other compaction is running. The compaction finishes even if
    /// the caller stops waiting.
    pub(super) async fn compact_if(
        &self,
        needed: fn(&LedgerWriter) -> bool,
    ) -> Result<Option<Compaction>, StoreError> {
        let compactor = Arc::clone(&self.compactor);
        self.blocking(move || compactor.compact_if(needed)).await
    }

    /// Works with the disk in a blocking thread.
    pub(super) async fn blocking<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, StoreError>
    where
        StoreError: From<E>,
    {
        let outcome = match spawn_blocking(work).await {
            Ok(outcome) => outcome.map_err(StoreError::from),
            Err(_panic) => Err(self.health.unavailable()),
        };
        outcome.inspect_err(|error| self.health.count_failure(error))
    }

    /// The state of `identity` after the last acknowledged change, unless it was removed.
    pub(super) async fn look_up<T: Content>(
        &self,
        identity: Identity,
    ) -> Result<Option<T>, StoreError> {
        let generation = self.current.generation();
        if generation.table().places(&identity).is_empty() {
            return Ok(None);
        }
        let found = self.blocking(move || generation.find(&identity)).await?;
        Ok(found.and_then(|(_place, state)| T::of(state)))
    }

    /// Lists the result of `build` for the last state of every identity that has one, in the order of creation. A
    /// blocking thread reads; it ends when the stream is dropped.
    pub(super) fn pages<T: Send + 'static>(
        &self,
        build: impl Fn(State) -> Option<T> + Send + 'static,
    ) -> PageStream<T> {
        let (current, health) = (Arc::clone(&self.current), Arc::clone(&self.health));
        let (sender, mut receiver) = mpsc::channel(PAGES_MAX);
        spawn_blocking(move || {
            let generation = current.generation();
            let states = generation.states(generation.end(), build);
            if let Err(flaw) = send_pages(states, &sender) {
                let error = StoreError::from(flaw);
                health.count_failure(&error);
                // Fails if nobody reads any more.
                let _ = sender.blocking_send(Err(error));
            }
        });
        Box::pin(stream::poll_fn(move |context| receiver.poll_recv(context)))
    }
}

impl Drop for LedgerStore {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Commits all waiting changes as one batch, until the queue is closed. While idle, it checks the ledger's file every
/// `look_interval`.
fn run(
    writer: &Mutex<LedgerWriter>,
    compactor: &Arc<Compactor>,
    receiver: &Receiver<Waiting>,
    look_interval: Duration,
) {
    let health = Arc::clone(&writer.lock().health);
    loop {
        match receiver.recv_timeout(look_interval) {
            Ok((first, since, slot)) => {
                drop(slot);
                health.set_busy_since(Some(since));
                let more = receiver.try_iter().take(BATCH_CHANGES_MAX - 1);
                let more = more.map(|(change, _since, _slot)| change);
                let changes = iter::once(first).chain(more).collect();
                writer.lock().commit(changes);
                compactor.compact_if_due();
            }
            Err(RecvTimeoutError::Timeout) => {
                // A disk that hangs keeps it busy, too.
                health.set_busy_since(Some(Instant::now()));
                // A failure is shown by health.
                let _ = writer.lock().look_after();
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
        health.set_busy_since(None);
    }
}

/// Sends every page. Ends early when nobody reads any more.
fn send_pages<T>(
    states: impl Iterator<Item = Result<(Place, T), Flaw>>,
    sender: &mpsc::Sender<Result<Vec<T>, StoreError>>,
) -> Result<(), Flaw> {
    let (mut page, mut found) = (Vec::new(), HashSet::new());
    for state in states {
        let (place, state) = state?;
        if found.insert(place) {
            page.push(state);
        }
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
