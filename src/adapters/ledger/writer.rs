//! The only writer. It decides the changes of a batch in order, appends their events to the ledger, syncs once,
//! shows them to lookups, and only then replies.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::vec::IntoIter;

use tokio::time::Instant;

use crate::domain::Timestamp;
use crate::metrics::Metrics;
use crate::ports::{Compaction, StoreError};

use super::copy::Copy;
use super::draft::Draft;
use super::generation::Generation;
use super::mark::Mark;
use super::record::{Flaw, Ledger};
use super::shared_state::SharedState;

/// Decides one change. A change that cannot be decided fails on its own. Dropping it, or its reply, means to the
/// caller that nothing was stored.
pub(super) type PendingChange = Box<dyn FnOnce(&mut Draft<'_>) -> Option<ChangeReply> + Send>;

/// Replies to one decided change.
pub(super) type ChangeReply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// The state of the writer.
pub(super) struct LedgerWriter {
    pub(super) ledger: Ledger,
    pub(super) shared: Arc<SharedState>,
    /// Fewer superfluous lines than this are never worth a compaction.
    pub(super) superfluous_min: u64,
    /// After a failed compaction: none is begun with fewer superfluous lines than this.
    pub(super) put_off: u64,
    pub(super) metrics: Arc<Metrics>,
    /// Time of this process's last event. Nothing expires before the first one.
    pub(super) now: Timestamp,
    /// Records the durable length of the ledger.
    pub(super) mark: Mark,
}

impl LedgerWriter {
    /// Commits `changes` as one batch and replies to them. A panic fails the batch, not the writer.
    pub(super) fn commit(&mut self, changes: Vec<PendingChange>) {
        let (began, sequence) = (Instant::now(), self.ledger.sequence);
        let mut replies = Vec::with_capacity(changes.len());
        let mut changes = changes.into_iter();
        let outcome = caught(|| {
            self.repair()?;
            self.record(&mut changes, &mut replies)
        });
        match &outcome {
            // Nothing was recorded.
            Ok(()) if self.ledger.sequence == sequence => {}
            Ok(()) => self.metrics.record_commit(replies.len(), began.elapsed()),
            Err(_) => self.metrics.ledger.failed.increase(),
        }
        self.metrics.ledger.bytes.set(self.ledger.length);
        self.shared.set_write_error(outcome.as_ref().err().cloned());
        // Dropping them replies with this error.
        drop(changes);
        for reply in replies {
            reply(outcome.clone());
        }
    }

    /// Checks whether changes can be stored, while none are waiting.
    pub(super) fn look_after(&mut self) -> Result<(), StoreError> {
        let repaired = caught(|| self.repair());
        self.shared.set_write_error(repaired.clone().err());
        repaired
    }

    /// Makes an opened or compacted ledger ready, and marks its end.
    pub(super) fn make_ready(&mut self) -> Result<(), StoreError> {
        let ready = self.look_after();
        if ready.is_ok() {
            self.mark.note(&self.ledger);
        }
        self.metrics.ledger.bytes.set(self.ledger.length);
        ready
    }

    /// Decides, appends, shows. After an error nothing was recorded.
    fn record(
        &mut self,
        changes: &mut IntoIter<PendingChange>,
        replies: &mut Vec<ChangeReply>,
    ) -> Result<(), StoreError> {
        let generation = self.shared.generation();
        let mut draft = Draft::new(&generation);
        for change in changes {
            replies.extend(change(&mut draft));
        }
        if draft.is_empty() {
            return Ok(());
        }
        let at = draft.at;
        let written = draft.write(&mut self.ledger);
        written.map_err(|error| match self.check_place() {
            Err(displaced) => displaced,
            Ok(()) => Flaw::Io(error).into(),
        })?;
        self.now = at.unwrap_or(self.now);
        self.mark.note(&self.ledger);
        Ok(())
    }

    /// Makes the ledger and the lookups ready for the next batch, or returns the reason why it cannot.
    pub(super) fn repair(&mut self) -> Result<(), StoreError> {
        self.check_place()?;
        self.ledger.repair().map_err(Flaw::Io)?;
        // After a panic right after a sync, the last batch was not shown.
        if self.shared.generation().end() != self.ledger.length {
            let generation = Generation::of(&self.ledger)?;
            self.shared.set_generation(Arc::new(generation));
        }
        Ok(())
    }

    fn check_place(&self) -> Result<(), StoreError> {
        self.ledger
            .check_place()
            .map_err(|error| StoreError::Displaced(error.to_string()))
    }

    /// True if a compaction is worthwhile.
    pub(super) fn is_compaction_due(&self) -> bool {
        let least = self.live().max(self.superfluous_min).max(self.put_off);
        self.superfluous() > least && self.shared.is_sound()
    }

    /// Number of lines that a compaction keeps.
    fn live(&self) -> u64 {
        self.shared.generation().table().len()
    }

    fn superfluous(&self) -> u64 {
        self.ledger.sequence.saturating_sub(self.live())
    }

    /// True if a contact was removed, whose address is still in a file.
    pub(super) fn has_forgotten(&self) -> bool {
        self.shared.generation().table().has_forgotten()
    }

    /// Switches to the copy. After a failure, the next one begins by itself no earlier than with twice as many
    /// superfluous lines.
    pub(super) fn end_compaction(
        &mut self,
        copied: Result<Copy, StoreError>,
    ) -> Result<Compaction, StoreError> {
        let (entries_before, bytes_before) = (self.ledger.sequence, self.ledger.length);
        let switched = copied.and_then(|copy| caught(|| Ok(self.switch_to(copy)?)));
        // The rename of the new generation may not be durable yet.
        let ready = self.make_ready();
        let compacted = switched.and(ready).map(|()| Compaction {
            entries_before,
            entries_after: self.ledger.sequence,
            bytes_before,
            bytes_after: self.ledger.length,
        });
        self.put_off = match &compacted {
            Ok(compaction) => {
                tracing::info!(
                    ledger.generation = self.ledger.head.generation,
                    ledger.events = compaction.entries_after,
                    "the ledger was compacted"
                );
                0
            }
            Err(error) => {
                tracing::warn!(%error, "the ledger cannot be compacted");
                self.superfluous().saturating_mul(2)
            }
        };
        compacted
    }

    /// Switches to `copy`. The ledger must be repaired before it accepts events.
    pub(super) fn switch_to(&mut self, copy: Copy) -> Result<(), Flaw> {
        let running = self.shared.generation();
        if !copy.is_of(&running) {
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
        let (ledger, generation) = copy.publish(|| self.ledger.check_place())?;
        self.shared.set_generation(Arc::new(generation));
        let before = (std::mem::replace(&mut self.ledger, ledger), running);
        // Freeing a large file takes a while. If no thread can be started, it is freed here.
        let thread = thread::Builder::new().name("freed".to_owned());
        let _ = thread.spawn(move || drop(before));
        Ok(())
    }

    /// Marks the end of the ledger for the last time.
    pub(super) fn finish(&mut self) -> Result<(), StoreError> {
        self.repair()?;
        Ok(self.mark.write(&self.ledger).map_err(Flaw::Io)?)
    }
}

/// Runs it, and turns a panic into a failure of the store.
pub(super) fn caught<T>(run: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_panic| Err(StoreError::Unavailable("panic".to_owned())))
}

/// The error of a change after the last one.
pub(super) fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}
