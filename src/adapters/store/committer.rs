//! The one writer. It takes all changes that are waiting, decides them in order, writes what they
//! record as one batch, syncs once, changes the index, and only then lets them be answered.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::runtime::Handle;

use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;
use crate::ports::StoreError;

use super::change::Change;
use super::draft::Draft;
use super::index::{self, Index, IndexError, Meta, marker, rebuild};
use super::ledger::{self, Event, Ledger};

/// The answers to a batch of decided changes, given when this is dropped.
#[must_use]
pub(super) struct Answers {
    changes: Vec<Box<dyn Change>>,
    outcome: Result<(), StoreError>,
}

impl Answers {
    /// Gives them, if there are several through a task of `runtime`, where those wait who asked:
    /// to wake many of its tasks costs less from inside than from another thread.
    pub(super) fn give(self, runtime: Option<&Handle>) {
        match runtime {
            // Where none runs any more they are given at once.
            Some(runtime) if self.changes.len() > 1 => {
                runtime.spawn(async move { drop(self) });
            }
            Some(_) | None => drop(self),
        }
    }

    fn none() -> Self {
        Self {
            changes: Vec::new(),
            outcome: Ok(()),
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        for change in self.changes.drain(..) {
            change.answer(self.outcome.clone());
        }
    }
}

/// What readers share with the committer.
#[derive(Default)]
pub(super) struct Shared {
    /// Nothing while it has to be made again, and after the close.
    index: RwLock<Option<Index>>,
    /// Why writes fail, if they do.
    trouble: Mutex<Option<String>>,
    /// There is a committer with an index and without trouble: what health asks all the time.
    is_sound: AtomicBool,
}

impl Shared {
    pub(super) fn index(&self) -> RwLockReadGuard<'_, Option<Index>> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_mut(&self) -> RwLockWriteGuard<'_, Option<Index>> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing stands in the way of writes, as far as is known.
    pub(super) fn is_sound(&self) -> bool {
        self.is_sound.load(Ordering::Acquire)
    }

    /// Nobody is left to write.
    pub(super) fn set_unsound(&self) {
        self.is_sound.store(false, Ordering::Release);
    }

    /// Takes note of what has changed.
    fn look_again(&self) {
        // Held to the end, so that who looks last writes last.
        let trouble = self.trouble_mut();
        let is_sound = trouble.is_none() && self.index().is_some();
        self.is_sound.store(is_sound, Ordering::Release);
    }

    /// Puts an index there, or takes it away.
    pub(super) fn replace_index(&self, index: Option<Index>) -> Option<Index> {
        let before = std::mem::replace(&mut *self.index_mut(), index);
        self.look_again();
        before
    }

    /// Gives the index up, if there is one.
    pub(super) fn abandon_index(&self) {
        let index = self.replace_index(None);
        if let Some(index) = index {
            index.abandon();
        }
    }

    fn trouble(&self) -> Option<String> {
        self.trouble_mut().clone()
    }

    /// The answer when nothing better is known.
    pub(super) fn unavailable(&self) -> StoreError {
        StoreError::Unavailable(
            self.trouble()
                .unwrap_or_else(|| "the change was given up".to_owned()),
        )
    }

    fn trouble_mut(&self) -> MutexGuard<'_, Option<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes why writes fail, or that they work, and logs when that changes.
    fn set_trouble(&self, trouble: Option<String>) {
        let mut current = self.trouble_mut();
        match (&*current, &trouble) {
            (None, Some(reason)) => tracing::error!(reason, "the store takes no writes"),
            (Some(_), None) => tracing::info!("the store takes writes again"),
            (None, None) | (Some(_), Some(_)) => {}
        }
        *current = trouble;
        drop(current);
        self.look_again();
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// What the committer works on.
pub(super) struct Committer {
    pub(super) ledger: Ledger,
    /// What the index is of.
    pub(super) meta: Meta,
    pub(super) index_root: PathBuf,
    pub(super) hash_key: MacKey,
    pub(super) shared: Arc<Shared>,
    /// Fewer dead lines than this are never worth a compaction.
    pub(super) dead_lines_min: u64,
    /// When the last event happened.
    pub(super) now: Timestamp,
}

impl Committer {
    /// Leaves a good index for the next start.
    pub(super) fn finish(mut self) -> Result<(), IndexError> {
        self.ledger.repair()?;
        self.ledger.settle()?;
        let index = self.shared.replace_index(None);
        match index {
            Some(index) => {
                let directory = index.close(&self.meta)?;
                Ok(marker::write(&self.index_root, &directory, &self.meta)?)
            }
            None => Err(no_index()),
        }
    }

    /// Takes `changes` to where their answers can be given.
    pub(super) fn commit(&mut self, changes: Vec<Box<dyn Change>>) -> Answers {
        let repaired = catch_unwind(AssertUnwindSafe(|| self.repair()))
            .unwrap_or_else(|_panic| Err("panic".to_owned()));
        if let Err(reason) = repaired {
            // The changes are dropped: whoever waits is told the trouble.
            self.shared.set_trouble(Some(reason));
            return Answers::none();
        }
        self.shared.set_trouble(None);
        let position = self.ledger.position();
        let mut decided = Vec::with_capacity(changes.len());
        // A fault in one change must not end the writer.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.decide(changes, &mut decided)))
            .unwrap_or_else(|_panic| Err(Failure::Index(IndexError("panic".to_owned()))));
        if let Err(failure) = &outcome {
            // First, so that nobody reads what is about to be taken back.
            if matches!(failure, Failure::Index(_)) {
                self.shared.abandon_index();
            }
            self.ledger.roll_back(position);
            self.shared.set_trouble(Some(failure.to_string()));
        }
        let outcome = outcome.map_err(|failure| StoreError::Unavailable(failure.to_string()));
        Answers {
            changes: decided,
            outcome,
        }
    }

    /// Decides, records, indexes. After an error nothing of it may be left.
    fn decide(
        &mut self,
        changes: Vec<Box<dyn Change>>,
        decided: &mut Vec<Box<dyn Change>>,
    ) -> Result<(), Failure> {
        let shared = Arc::clone(&self.shared);
        let index = shared.index();
        let index = index.as_ref().ok_or_else(no_index)?;
        let mut draft = Draft::new(index, &self.hash_key, self.meta.tally);
        for mut change in changes {
            change.decide(&mut draft)?;
            decided.push(change);
        }
        let Some(last) = draft.events().last().map(Event::at) else {
            return Ok(());
        };
        self.ledger
            .append(draft.events())
            .map_err(Failure::Ledger)?;
        let (buckets, tally) = draft.finish();
        index.put(buckets)?;
        self.meta.sequence = self.ledger.position().sequence;
        self.meta.tally = tally;
        self.now = last;
        Ok(())
    }

    /// Makes ledger and index fit for writing, if they are not. Says why they cannot be.
    fn repair(&mut self) -> Result<(), String> {
        self.ledger
            .repair()
            .map_err(|error| format!("ledger: {error}"))?;
        if self.shared.index().is_some() {
            return Ok(());
        }
        let rebuilt = rebuild(
            &self.index_root,
            &self.hash_key,
            self.ledger.path(),
            self.ledger.head(),
            self.ledger.position().sequence,
        );
        let (index, meta) = rebuilt.map_err(|error| error.to_string())?;
        if let Err(error) = index::wipe(&self.index_root, Some(index.directory())) {
            tracing::warn!(%error, "an old index cannot be removed");
        }
        self.meta = meta;
        self.shared.replace_index(Some(index));
        Ok(())
    }

    /// More dead lines than live ones, and enough of them.
    pub(super) fn is_compaction_due(&self) -> bool {
        let dead = self.meta.sequence.saturating_sub(self.meta.tally.live);
        dead > self.meta.tally.live.max(self.dead_lines_min) && self.ledger.is_sound()
    }

    pub(super) fn compact(&mut self) {
        let compacted = catch_unwind(AssertUnwindSafe(|| {
            // What is read has to be what is on disk.
            self.ledger.settle().map_err(|error| error.to_string())?;
            ledger::compact(
                self.ledger.files(),
                self.ledger.path(),
                self.ledger.head().generation + 1,
                &self.ledger.head().secret,
                self.now,
            )
            .map_err(|error| error.to_string())
        }))
        .unwrap_or_else(|_panic| Err("panic".to_owned()));
        match compacted {
            Ok(ledger) => self.adopt(ledger),
            Err(error) => {
                // Not at every batch from now on: when as much again has gathered.
                let dead = self.meta.sequence.saturating_sub(self.meta.tally.live);
                self.dead_lines_min = dead.saturating_mul(2);
                tracing::warn!(error, "the ledger cannot be compacted");
                let trouble = self.repair().err();
                self.shared.set_trouble(trouble);
            }
        }
    }

    /// Goes on with a new generation.
    fn adopt(&mut self, ledger: Ledger) {
        self.ledger = ledger;
        self.meta = compacted_meta(&self.ledger, &self.meta);
        let trouble = self.repair().err();
        self.shared.set_trouble(trouble);
        tracing::info!(
            ledger.generation = self.ledger.head().generation,
            ledger.events = self.meta.sequence,
            "the ledger was compacted"
        );
    }
}

impl fmt::Debug for Committer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committer")
            .field("ledger", &self.ledger)
            .field("meta", &self.meta)
            .finish_non_exhaustive()
    }
}

/// What the index is of, once `ledger` was written without its dead lines.
pub(super) fn compacted_meta(ledger: &Ledger, before: &Meta) -> Meta {
    let sequence = ledger.position().sequence;
    let mut meta = Meta {
        secret: ledger.head().secret.clone(),
        generation: ledger.head().generation,
        sequence,
        tally: before.tally,
    };
    meta.tally.live = sequence;
    meta.tally.forgotten = 0;
    meta
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("ledger: {0}")]
    Ledger(std::io::Error),
    #[error(transparent)]
    Index(#[from] IndexError),
}

fn no_index() -> IndexError {
    IndexError("not there".to_owned())
}
