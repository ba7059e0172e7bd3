//! The one writer. It decides the changes of a batch in order, appends what they record to the
//! ledger, syncs once, changes the index, and only then answers.

use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;
use crate::ports::StoreError;

use super::draft::Draft;
use super::index::{self, Index, IndexError, clean_stop, rebuild};
use super::record::{self, Entry, Flaw, Ledger, Stamp};
use super::shared_state::SharedState;

/// Decides one change. Dropping it, or its reply, tells the caller that nothing was kept.
pub(super) type PendingChange =
    Box<dyn FnOnce(&mut Draft<'_>) -> Result<ChangeReply, IndexError> + Send>;

/// Answers one decided change.
pub(super) type ChangeReply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// What the writer works on.
pub(super) struct LedgerWriter {
    pub(super) ledger: Ledger,
    pub(super) index_root: PathBuf,
    pub(super) hash_key: MacKey,
    pub(super) shared: Arc<SharedState>,
    /// Fewer new lines than this are never worth a compaction.
    pub(super) growth_min: u64,
    /// After a compaction that failed: none is tried with less growth than this.
    pub(super) put_off: u64,
    /// When the last event of this process happened.
    pub(super) now: Timestamp,
}

impl LedgerWriter {
    /// Commits `changes` as one batch and answers them. A panic fails the batch, not the writer.
    pub(super) fn commit(&mut self, mut changes: Vec<PendingChange>) {
        let sequence = self.ledger.sequence();
        let mut replies = Vec::with_capacity(changes.len());
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            self.repair()?;
            self.record(mem::take(&mut changes), &mut replies)
        }));
        let outcome = outcome.unwrap_or_else(|_panic| {
            // The batch is in the record, but not all of it may be in the index.
            if self.ledger.sequence() > sequence {
                self.shared.abandon_index();
            }
            Err(unavailable("panic"))
        });
        self.shared.set_trouble(outcome.as_ref().err().cloned());
        // Those that were not decided are told this trouble.
        drop(changes);
        for reply in replies {
            reply(outcome.clone());
        }
    }

    /// Decides, appends, indexes. After an error nothing was recorded.
    fn record(
        &mut self,
        changes: Vec<PendingChange>,
        replies: &mut Vec<ChangeReply>,
    ) -> Result<(), StoreError> {
        let index = self.shared.index();
        let index = index.ok_or_else(|| unavailable("no index"))?;
        let entries = match decide(&index, changes, replies) {
            Ok(entries) => entries,
            Err(error) => {
                self.give_index_up(&error);
                return Err(unavailable(error));
            }
        };
        let Some(last) = entries.last().map(|entry| entry.at) else {
            return Ok(());
        };
        let events: Vec<_> = entries.iter().map(|entry| entry.json.clone()).collect();
        let appended = self.ledger.append(&events);
        appended.map_err(|error| match self.check_place() {
            Err(displaced) => displaced,
            Ok(()) => unavailable(format_args!("ledger: {error}")),
        })?;
        self.now = last;
        // The batch is in the record: it counts, whatever becomes of the index.
        if let Err(error) = index.apply(entries) {
            self.give_index_up(&error);
        }
        Ok(())
    }

    fn give_index_up(&self, error: &IndexError) {
        tracing::error!(%error, "the index failed and has to be made again");
        self.shared.abandon_index();
    }

    /// Makes ledger and index fit for the next batch. Returns why that is impossible.
    pub(super) fn repair(&mut self) -> Result<(), StoreError> {
        self.repair_ledger()?;
        if self.shared.index().is_some() {
            return Ok(());
        }
        let index = rebuild(&self.index_root, &self.hash_key, &self.ledger).map_err(unavailable)?;
        if let Err(error) = index::wipe(&self.index_root, Some(index.directory())) {
            tracing::warn!(%error, "an old index cannot be removed");
        }
        self.shared.set_index(index);
        Ok(())
    }

    fn repair_ledger(&mut self) -> Result<(), StoreError> {
        self.check_place()?;
        self.ledger
            .repair()
            .map_err(|error| unavailable(format_args!("ledger: {error}")))
    }

    fn check_place(&self) -> Result<(), StoreError> {
        self.ledger
            .check_place()
            .map_err(|error| StoreError::Displaced(error.to_string()))
    }

    /// Compacts the ledger if the lines that may have become superfluous since the last time
    /// outnumber those it began with, and are enough. A failure disturbs nobody.
    pub(super) fn compact_if_due(&mut self) {
        let growth_min = self.growth_min.max(self.put_off);
        let is_due = self.ledger.growth() > self.ledger.head().base.max(growth_min);
        if !is_due || !self.shared.is_sound() {
            return;
        }
        let secret = self.ledger.head().secret.clone();
        let compacted = catch_unwind(AssertUnwindSafe(|| self.compact(&secret)));
        match compacted {
            Ok(Ok(())) => {
                self.put_off = 0;
                tracing::info!(
                    ledger.generation = self.ledger.head().generation,
                    ledger.events = self.ledger.sequence(),
                    "the ledger was compacted"
                );
            }
            Ok(Err(error)) => self.put_compaction_off(&error.to_string()),
            Err(_panic) => self.put_compaction_off("panic"),
        }
        // The new generation may not have its name for good.
        let trouble = self.repair().err();
        self.shared.set_trouble(trouble);
    }

    fn put_compaction_off(&mut self, error: &str) {
        self.put_off = self.ledger.growth().saturating_mul(2);
        tracing::warn!(error, "the ledger cannot be compacted");
    }

    /// Writes the next generation of the ledger, under `secret`, and goes on with it. It must be
    /// repaired before it takes events.
    pub(super) fn compact(&mut self, secret: &str) -> Result<(), Flaw> {
        let generation = self.ledger.head().generation + 1;
        let (files, path) = (self.ledger.files(), self.ledger.path());
        let (ledger, expired) = record::compact(files, path, generation, secret, self.now, || {
            self.ledger.check_place()
        })?;
        self.ledger = ledger;
        self.shared.set_file(self.ledger.id().ok());
        if let Some(index) = self.shared.index()
            && let Err(error) = index.remove(expired)
        {
            self.give_index_up(&error);
        }
        Ok(())
    }

    /// Leaves a good index for the next start.
    pub(super) fn finish(mut self) -> Result<(), StoreError> {
        self.repair_ledger()?;
        let index = self.shared.take_index();
        let index = index.ok_or_else(|| unavailable("no index"))?;
        let directory = index.close().map_err(unavailable)?;
        clean_stop::write(&self.index_root, &directory, stamp(&self.ledger)).map_err(unavailable)
    }
}

fn unavailable(reason: impl fmt::Display) -> StoreError {
    StoreError::Unavailable(reason.to_string())
}

/// The state of `ledger` that an index of it is marked with.
pub(super) fn stamp(ledger: &Ledger) -> Stamp {
    Stamp {
        secret: ledger.head().secret.clone(),
        generation: ledger.head().generation,
        sequence: ledger.sequence(),
        length: ledger.length(),
    }
}

fn decide(
    index: &Index,
    changes: Vec<PendingChange>,
    replies: &mut Vec<ChangeReply>,
) -> Result<Vec<Entry>, IndexError> {
    let mut draft = Draft::new(index);
    for change in changes {
        replies.push(change(&mut draft)?);
    }
    Ok(draft.into_entries())
}

impl fmt::Debug for LedgerWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerWriter")
            .field("ledger", &self.ledger)
            .finish_non_exhaustive()
    }
}
