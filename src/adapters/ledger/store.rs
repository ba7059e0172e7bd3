//! The store that the ports stand for.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;

use crate::adapters::data_dir::DataDir;
use crate::adapters::files::file_id;
use crate::adapters::open_error::OpenError;
use crate::domain::secret::MacKey;
use crate::ports::StoreError;

use super::commit_queue::CommitQueue;
use super::draft::Draft;
use super::index::IndexError;
use super::open::{Tuning, open};
use super::record::{Event, Identity, Kept, LEDGER};
use super::shared_state::SharedState;
use super::writer::LedgerWriter;

/// Contacts, keys and revoked tokens in a data directory.
#[derive(Debug)]
pub struct LedgerStore {
    queue: CommitQueue,
    pub(super) shared: Arc<SharedState>,
    /// Where the ledger should be.
    pub(super) path: PathBuf,
    /// Hashes forgotten addresses.
    pub(super) tombstone_key: MacKey,
    opened: Instant,
    /// When a check last looked there, in seconds since `opened`, counted from 1.
    checked: AtomicU64,
    /// Held until the writer is gone, which [`Drop`] waits for.
    _lock: Arc<[File; 2]>,
}

impl LedgerStore {
    /// Opens the ledger in `data_dir` and its index, and starts the writer. Blocks for as long as
    /// the disk takes.
    ///
    /// # Errors
    /// [`OpenError`] when the ledger cannot be trusted or written.
    pub fn open(data_dir: &DataDir) -> Result<Self, OpenError> {
        Self::open_with(data_dir, &Tuning::default())
    }

    /// Opens the store with other numbers or files than the usual ones.
    ///
    /// # Errors
    /// As [`LedgerStore::open`].
    pub fn open_with(data_dir: &DataDir, tuning: &Tuning) -> Result<Self, OpenError> {
        let writer = open(data_dir, tuning)?;
        let shared = Arc::clone(&writer.shared);
        let queue = CommitQueue::start(writer, tuning.waiting_changes_max)
            .map_err(OpenError::io("start a thread for", data_dir.path()))?;
        Ok(Self {
            queue,
            shared,
            path: data_dir.path().join(LEDGER),
            tombstone_key: data_dir.secret().keys().tombstone,
            opened: Instant::now(),
            checked: AtomicU64::new(0),
            _lock: data_dir.lock(),
        })
    }

    /// Commits the changes that wait and leaves a good index for the next start, which without it
    /// makes the index again. Every call after the first does nothing. Blocks for as long as the
    /// disk takes.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when no good index can be left; no change is lost then.
    /// [`StoreError::Displaced`] when the next start would not find the recorded changes.
    pub fn close(&self) -> Result<(), StoreError> {
        let finished = self.queue.close().map_or(Ok(()), |writer| writer.finish());
        self.shared.abandon_index();
        finished
    }

    /// Whether changes can be kept. The ledger's path is checked once a second at most, so a file that
    /// replaced the ledger is noticed within a second.
    pub(super) async fn check_writes(&self) -> Result<(), StoreError> {
        let second = self.opened.elapsed().as_secs() + 1;
        let was_checked = self.checked.swap(second, Ordering::Relaxed) == second;
        if self.shared.is_sound() && (was_checked || self.is_in_place()) {
            return Ok(());
        }
        let repaired = self.repair().await;
        repaired.inspect_err(|error| self.shared.count_failure(error))
    }

    /// Has the writer repair what it can: cut a failed write off, build an index, or read the credentials.
    /// It does so before each batch, and an empty one is enough.
    pub(super) async fn repair(&self) -> Result<(), StoreError> {
        self.queue.commit(&self.shared, |_draft| Ok(())).await
    }

    fn is_in_place(&self) -> bool {
        let there = fs::metadata(&self.path).ok();
        there.map(|it| file_id(&it)) == self.shared.file()
    }

    /// Has the writer decide a change, and waits until what it recorded is durable.
    pub(super) async fn commit<T: Send + 'static>(
        &self,
        decide: impl FnOnce(&mut Draft<'_>) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let committed = self.queue.commit(&self.shared, decide).await;
        committed.inspect_err(|error| self.shared.count_failure(error))
    }

    /// Has the writer do a task alone, after the changes that came before it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut LedgerWriter) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let done = self.queue.run(&self.shared, task).await;
        done.inspect_err(|error| self.shared.count_failure(error))
    }

    /// The kept events of `identity` after the last answered change.
    pub(super) async fn look_up(
        &self,
        identity: &Identity,
    ) -> Result<Option<Kept<Event>>, StoreError> {
        match self.shared.find(identity) {
            Some(Ok(found)) => return Ok(found),
            Some(Err(error)) => self.shared.fail_index(&error),
            None => {}
        }
        let repaired = self.repair().await;
        let found = match self.shared.find(identity) {
            Some(found) => found.map_err(StoreError::from),
            None => Err(repaired.err().unwrap_or_else(|| self.shared.unavailable())),
        };
        found.inspect_err(|error| self.shared.count_failure(error))
    }
}

impl Drop for LedgerStore {
    fn drop(&mut self) {
        drop(self.queue.close());
        self.shared.abandon_index();
    }
}
