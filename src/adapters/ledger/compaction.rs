//! Compactions: a thread copies the current state of the ledger in parallel with the writer. The writer waits while
//! the events since are added, and the copy replaces the ledger.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use parking_lot::Mutex;

use crate::domain::macros::hidden;
use crate::ports::{Compaction, StoreError};

use super::copy::Copy;
use super::writer::{LedgerWriter, caught, closed};

/// Compacts the ledger of a writer, once at a time.
pub(super) struct Compactor {
    pub(super) writer: Mutex<LedgerWriter>,
    /// Locked while a compaction is running.
    running: Mutex<()>,
    is_stopped: AtomicBool,
}

impl Compactor {
    pub(super) fn new(writer: LedgerWriter) -> Self {
        Self {
            writer: Mutex::new(writer),
            running: Mutex::default(),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Compacts the ledger if it is still `needed` when no other compaction is running.
    pub(super) fn compact_if(
        &self,
        needed: fn(&LedgerWriter) -> bool,
    ) -> Result<Option<Compaction>, StoreError> {
        let _running = self.running.lock();
        // The files may belong to another process by now.
        if self.is_stopped.load(SeqCst) {
            return Err(closed());
        }
        if !needed(&self.writer.lock()) {
            return Ok(None);
        }
        let copied = caught(|| {
            let mut writer = self.writer.lock();
            writer.repair()?;
            let copy = Copy::begin(&writer, &writer.ledger.head.secret)?;
            let now = writer.now;
            drop(writer);
            Ok(copy.run(now, &self.is_stopped)?)
        });
        match copied {
            Err(_) if self.is_stopped.load(SeqCst) => Err(closed()),
            copied => caught(|| self.writer.lock().end_compaction(copied)).map(Some),
        }
    }

    /// Begins a compaction if it is worthwhile. A failure affects nobody.
    pub(super) fn compact_if_due(self: &Arc<Self>) {
        if self.running.is_locked() || !self.writer.lock().is_compaction_due() {
            return;
        }
        let compactor = Arc::clone(self);
        let thread = thread::Builder::new().name("compaction".to_owned());
        let begun = thread.spawn(move || compactor.compact_if(LedgerWriter::is_compaction_due));
        if let Err(error) = begun {
            tracing::warn!(%error, "the ledger cannot be compacted");
        }
    }

    /// Lets the running compaction, and those that wait for it, end without effect.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, SeqCst);
    }

    /// Waits for their end. The ledger is complete without them.
    pub(super) fn wait(&self) {
        drop(self.running.lock());
    }
}

hidden!(Compactor);
