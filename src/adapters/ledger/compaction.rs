//! Compactions: a thread copies the current state of the ledger in parallel with the writer. The writer waits while
//! the events since are added, and the copy replaces the ledger.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::domain::macros::hidden;
use crate::ports::{Compaction, StoreError};

use super::writer::{LedgerWriter, caught, closed};

/// Compacts the ledger of a writer, once at a time.
pub(super) struct Compactor {
    pub(super) writer: Mutex<LedgerWriter>,
    is_stopped: AtomicBool,
    /// Tells those who wait for a compaction that none will come.
    pub(super) stopped: Notify,
    /// Number of compactions that have begun.
    begun: AtomicU64,
    /// The number of the last one, and its result. Locked while one is running.
    last: Mutex<(u64, Result<Compaction, StoreError>)>,
}

impl Compactor {
    pub(super) fn new(writer: LedgerWriter) -> Self {
        Self {
            writer: Mutex::new(writer),
            is_stopped: AtomicBool::new(false),
            stopped: Notify::new(),
            begun: AtomicU64::new(0),
            last: Mutex::new((0, Err(closed()))),
        }
    }

    /// Compacts the ledger. Those who ask while a compaction is running share the next one.
    pub(super) fn compact(&self) -> Result<Compaction, StoreError> {
        let begun = self.begun.load(SeqCst);
        let mut last = self.last.lock();
        // The files may belong to another process by now.
        if self.is_stopped.load(SeqCst) {
            return Err(closed());
        }
        let (number, outcome) = &mut *last;
        if *number <= begun {
            *number = self.begun.fetch_add(1, SeqCst) + 1;
            let copied = caught(|| {
                let plan = self.writer.lock().prepare_compaction()?;
                Ok(plan.copy(&self.is_stopped)?)
            });
            *outcome = match copied {
                Err(_) if self.is_stopped.load(SeqCst) => Err(closed()),
                copied => caught(|| self.writer.lock().end_compaction(copied)),
            };
        }
        outcome.clone()
    }

    /// Begins a compaction if it is worthwhile. A failure affects nobody.
    pub(super) fn compact_if_due(self: &Arc<Self>) {
        if self.last.is_locked() || !self.writer.lock().take_due() {
            return;
        }
        let compactor = Arc::clone(self);
        let thread = thread::Builder::new().name("compaction".to_owned());
        if let Err(error) = thread.spawn(move || compactor.compact()) {
            tracing::warn!(%error, "the ledger cannot be compacted");
        }
    }

    /// Stops the running compaction and waits for its end. The ledger is complete without it.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, SeqCst);
        self.stopped.notify_waiters();
        drop(self.last.lock());
    }
}

hidden!(Compactor);
