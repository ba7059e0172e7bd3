//! The only writer. It decides the changes of a batch in order, appends their events to the ledger, syncs once,
//! shows them to lookups, and only then replies.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::vec::IntoIter;

use tokio::time::Instant;

use crate::domain::{Timestamp, macros::hidden};
use crate::metrics::Metrics;
use crate::ports::StoreError;

use super::draft::Draft;
use super::generation::{CurrentGeneration, Generation};
use super::health::WriterHealth;
use super::mark::Mark;
use super::record::{Flaw, Ledger};

/// Decides one change. Dropping it, or its reply, means to the caller that nothing was stored. If it cannot be decided,
/// the caller gets that error at once, and there is no reply.
pub(super) type PendingChange = Box<dyn FnOnce(&mut Draft<'_>) -> Option<ChangeReply> + Send>;

/// Replies to one decided change when its batch is stored.
pub(super) type ChangeReply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// The state of the writer.
pub(super) struct LedgerWriter {
    pub(super) ledger: Ledger,
    /// The generation that lookups read.
    pub(super) current: Arc<CurrentGeneration>,
    /// Reports writes that fail or hang.
    pub(super) health: Arc<WriterHealth>,
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

hidden!(LedgerWriter);

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
            Ok(()) => {
                self.metrics.ledger.changes.add(replies.len() as u64);
                self.metrics.ledger.durations.record(began.elapsed());
            }
            Err(_) => self.metrics.ledger.failed.increase(),
        }
        *self.metrics.ledger.bytes.lock() = Some(self.ledger.length);
        self.health.set_write_error(outcome.as_ref().err().cloned());
        // Dropping them replies with this error.
        drop(changes);
        for reply in replies {
            reply(outcome.clone());
        }
    }

    /// Checks whether changes can be stored, while none are waiting.
    pub(super) fn look_after(&mut self) -> Result<(), StoreError> {
        let repaired = caught(|| self.repair());
        self.health.set_write_error(repaired.clone().err());
        repaired
    }

    /// Makes an opened or compacted ledger ready, and marks its end.
    pub(super) fn make_ready(&mut self) -> Result<(), StoreError> {
        let ready = self.look_after();
        if ready.is_ok() {
            self.mark.note(&self.ledger);
        }
        *self.metrics.ledger.bytes.lock() = Some(self.ledger.length);
        ready
    }

    /// Decides, appends, shows. After an error nothing was recorded.
    fn record(
        &mut self,
        changes: &mut IntoIter<PendingChange>,
        replies: &mut Vec<ChangeReply>,
    ) -> Result<(), StoreError> {
        let generation = self.current.generation();
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
        if self.current.generation().end() != self.ledger.length {
            let generation = Generation::of(&self.ledger)?;
            self.current.replace(generation);
        }
        Ok(())
    }

    fn check_place(&self) -> Result<(), StoreError> {
        self.ledger
            .check_place()
            .map_err(|error| StoreError::Displaced(error.to_string()))
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
