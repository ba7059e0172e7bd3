//! The one writer. It decides the changes of a batch in order, appends what they record to the
//! ledger, syncs once, changes the index, and only then answers.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::vec::IntoIter;

use tokio::time::Instant;

use crate::adapters::files::is_full;
use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;
use crate::metrics::Metrics;
use crate::ports::StoreError;

use super::draft::Draft;
use super::index::{
    CredentialMap, Index, IndexError, RebuildError, clean_stop, rebuild, renew, wipe,
};
use super::record::{self, Entry, Flaw, Ledger, Stamp};
use super::shared_state::SharedState;

/// Decides one change. Dropping it, or its reply, tells the caller that nothing was kept.
pub(super) type PendingChange =
    Box<dyn FnOnce(&mut Draft<'_>) -> Result<ChangeReply, IndexError> + Send>;

/// Answers one decided change.
type ChangeReply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A change. `reply` is told what was decided once that is durable, or why nothing of it was kept.
pub(super) fn pending<T: Send + 'static>(
    decide: impl FnOnce(&mut Draft<'_>) -> Result<T, IndexError> + Send + 'static,
    reply: impl FnOnce(Result<T, StoreError>) + Send + 'static,
) -> PendingChange {
    Box::new(move |draft| {
        let decided = decide(draft)?;
        let reply: ChangeReply = Box::new(move |outcome| reply(outcome.map(|()| decided)));
        Ok(reply)
    })
}

/// After an index could not be built, the pause before the next try is this many times as long as the
/// try took: each try may fill the disk meanwhile.
const PAUSE_FACTOR: u32 = 10;

/// What the writer works on.
pub(super) struct LedgerWriter {
    pub(super) ledger: Ledger,
    pub(super) index_root: PathBuf,
    pub(super) hash_key: MacKey,
    pub(super) shared: Arc<SharedState>,
    pub(super) metrics: Arc<Metrics>,
    /// When to try again to build an index, and why the last try failed.
    pub(super) index_failure: Option<(Instant, StoreError)>,
    /// Fewer new lines than this are never worth a compaction.
    pub(super) growth_min: u64,
    /// After a compaction that failed: none is tried with less growth than this.
    pub(super) put_off: u64,
    /// When the last event of this process happened.
    pub(super) now: Timestamp,
    /// Whether the index's files may hold addresses that were forgotten.
    pub(super) is_index_stale: bool,
}

impl LedgerWriter {
    /// Commits `changes` as one batch and answers them. A panic fails the batch, not the writer.
    pub(super) fn commit(&mut self, changes: Vec<PendingChange>) {
        let (began, sequence) = (Instant::now(), self.ledger.sequence());
        let mut replies = Vec::with_capacity(changes.len());
        let mut changes = changes.into_iter();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            self.repair()?;
            self.record(&mut changes, &mut replies)
        }));
        let outcome = outcome.unwrap_or_else(|_panic| {
            // The batch is in the record, but not all of it may be in the index.
            if self.ledger.sequence() > sequence {
                self.shared.abandon_index();
            }
            Err(StoreError::Unavailable("panic".to_owned()))
        });
        match &outcome {
            // An empty change only asks whether the store takes writes.
            Ok(()) if self.ledger.sequence() == sequence => {}
            Ok(()) => self.metrics.record_commit(replies.len(), began.elapsed()),
            Err(_) => self.metrics.ledger.failed.increase(),
        }
        self.metrics.ledger.set_bytes(self.ledger.length());
        self.shared.set_write_error(outcome.as_ref().err().cloned());
        // Changes that were not decided are answered with this error.
        drop(changes);
        for reply in replies {
            reply(outcome.clone());
        }
    }

    /// Commits one change alone.
    pub(super) fn commit_one<T: Send + 'static>(
        &mut self,
        decide: impl FnOnce(&mut Draft<'_>) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, answer) = mpsc::channel();
        // The answer is read below.
        let reply = move |outcome| drop(sender.send(outcome));
        self.commit(vec![pending(decide, reply)]);
        answer
            .recv()
            .unwrap_or_else(|_given_up| Err(self.shared.unavailable()))
    }

    /// Decides, appends, indexes. After an error nothing was recorded.
    fn record(
        &mut self,
        changes: &mut IntoIter<PendingChange>,
        replies: &mut Vec<ChangeReply>,
    ) -> Result<(), StoreError> {
        let index = self.shared.index();
        let index = index.ok_or_else(|| IndexError::new("given up"))?;
        let entries = match decide(&index, changes, replies) {
            Ok(entries) => entries,
            Err(error) => {
                self.shared.fail_index(&error);
                return Err(error.into());
            }
        };
        if entries.is_empty() {
            return Ok(());
        }
        let last = entries.iter().rev().find_map(|entry| entry.at);
        let events: Vec<_> = entries.iter().map(|entry| &entry.json).collect();
        let appended = self.ledger.append(&events);
        appended.map_err(|error| match self.check_place() {
            Err(displaced) => displaced,
            Ok(()) => ledger_failed(error),
        })?;
        self.now = last.unwrap_or(self.now);
        // The batch is in the record: it counts, whatever becomes of the index.
        if let Err(error) = index.apply(entries) {
            self.shared.fail_index(&error);
        }
        Ok(())
    }

    /// Makes ledger and index ready for the next batch, or returns why that is impossible.
    pub(super) fn repair(&mut self) -> Result<(), StoreError> {
        // First, because lines that were never acknowledged may follow the acknowledged end.
        let repaired = self.repair_ledger();
        if self.shared.index().is_some() {
            return repaired;
        }
        let made = repaired.and_then(|()| match &self.index_failure {
            Some((due, error)) if Instant::now() < *due => Err(error.clone()),
            Some(_) | None => self.build_index().map_err(|error| (&error).into()),
        });
        // A file that replaced the ledger is not read.
        let is_displaced = matches!(made, Err(StoreError::Displaced(_)));
        if made.is_err() && !is_displaced && !self.shared.has_credentials() {
            match CredentialMap::read(self.ledger.path()) {
                Ok(credentials) => self.shared.set_credentials(credentials),
                Err(error) => tracing::error!(%error, "credentials cannot be looked up"),
            }
        }
        made
    }

    /// Builds an index from the ledger.
    pub(super) fn build_index(&mut self) -> Result<(), RebuildError> {
        let began = Instant::now();
        match rebuild(&self.index_root, &self.hash_key, &self.ledger) {
            Ok(index) => {
                self.index_failure = None;
                self.shared.set_index(index);
                Ok(())
            }
            Err(error) => {
                let due = Instant::now() + PAUSE_FACTOR * began.elapsed();
                self.index_failure = Some((due, (&error).into()));
                Err(error)
            }
        }
    }

    fn repair_ledger(&mut self) -> Result<(), StoreError> {
        self.check_place()?;
        self.ledger.repair().map_err(ledger_failed)
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
        // The outcome is logged.
        let _ = self.compact_now();
    }

    /// Compacts the ledger. After a failure it is as it was, or was compacted but a power cut could undo
    /// that.
    pub(super) fn compact_now(&mut self) -> Result<(), StoreError> {
        let secret = self.ledger.head().secret.clone();
        let compacted = catch_unwind(AssertUnwindSafe(|| self.compact(&secret)));
        let compacted = match compacted {
            Ok(compacted) => compacted.map_err(|flaw| match flaw {
                Flaw::Io(error) => ledger_failed(error),
                Flaw::Foreign(_) | Flaw::Damaged { .. } => {
                    StoreError::Unavailable(format!("ledger: {flaw}"))
                }
            }),
            Err(_panic) => Err(StoreError::Unavailable("panic".to_owned())),
        };
        match &compacted {
            Ok(()) => {
                self.put_off = 0;
                tracing::info!(
                    ledger.generation = self.ledger.head().generation,
                    ledger.events = self.ledger.sequence(),
                    "the ledger was compacted"
                );
            }
            Err(error) => {
                self.put_off = self.ledger.growth().saturating_mul(2);
                tracing::warn!(%error, "the ledger cannot be compacted");
            }
        }
        // The new generation may not have its name for good.
        let repaired = self.repair();
        self.shared
            .set_write_error(repaired.as_ref().err().cloned());
        compacted.and(repaired)
    }

    /// Makes the index anew in a new directory, and removes the present one, which answers look-ups until
    /// then. After a failure it stays. The ledger has been rid of addresses that were forgotten.
    pub(super) fn renew_index(&mut self) -> Result<(), StoreError> {
        self.is_index_stale = true;
        let Some(old) = self.shared.index() else {
            let built = self.build_index();
            built.map_err(|error| StoreError::from(&error))?;
            self.is_index_stale = false;
            return Ok(());
        };
        let renewed = renew(&self.index_root, &self.hash_key, &self.ledger);
        let new = renewed.map_err(|error| StoreError::from(&error))?;
        let directory = new.directory().to_path_buf();
        self.shared.set_index(new);
        // It is removed, whatever state it is in.
        let _ = old.close();
        wipe(&self.index_root, Some(&directory)).map_err(IndexError::from)?;
        self.is_index_stale = false;
        Ok(())
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
            self.shared.fail_index(&error);
        }
        Ok(())
    }

    /// Leaves a good index for the next start.
    pub(super) fn finish(mut self) -> Result<(), StoreError> {
        self.repair_ledger()?;
        if self.is_index_stale {
            return Err(IndexError::new("it may hold addresses that were forgotten").into());
        }
        let index = self.shared.take_index();
        let index = index.ok_or_else(|| IndexError::new("not there"))?;
        let directory = index.close()?;
        clean_stop::write(&self.index_root, &directory, stamp(&self.ledger))
            .map_err(|error| IndexError::from(error).into())
    }
}

pub(super) fn ledger_failed(error: io::Error) -> StoreError {
    let is_full = is_full(&error);
    let reason = format!("ledger: {error}");
    match is_full {
        true => StoreError::Full(reason),
        false => StoreError::Unavailable(reason),
    }
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
    changes: &mut IntoIter<PendingChange>,
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
