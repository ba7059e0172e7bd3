//! The only writer. It decides the changes of a batch in order, appends their events to the ledger, syncs once,
//! shows them to lookups, and only then replies.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::vec::IntoIter;

use tokio::time::Instant;

use crate::adapters::files::secret_file::SecretFile;
use crate::domain::Timestamp;
use crate::metrics::Metrics;
use crate::ports::{Compaction, StoreError};

use super::compaction::{CompactionReply, Compactions};
use super::copy::{Copy, CopyPlan};
use super::draft::Draft;
use super::generation::{Generation, ledger_failed, unreadable};
use super::mark::Mark;
use super::record::{Flaw, Ledger, Stamp};
use super::shared_state::SharedState;

/// Decides one change. A change that cannot be decided fails on its own. Dropping it, or its reply, means to the
/// caller that nothing was stored.
pub(super) type PendingChange = Box<dyn FnOnce(&mut Draft<'_>) -> Option<ChangeReply> + Send>;

/// Replies to one decided change.
type ChangeReply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A change. `reply` receives the decision once it is durable, or the reason why nothing was stored.
pub(super) fn pending<T: Send + 'static>(
    decide: impl FnOnce(&mut Draft<'_>) -> Result<T, StoreError> + Send + 'static,
    reply: impl FnOnce(Result<T, StoreError>) + Send + 'static,
) -> PendingChange {
    Box::new(move |draft| match draft.attempt(decide) {
        Ok(decided) => Some(Box::new(move |outcome| {
            reply(outcome.map(|()| decided));
        })),
        Err(error) => {
            reply(Err(error));
            None
        }
    })
}

/// Work for the writer, and the time from which it has waited.
pub(super) struct Waiting {
    pub(super) since: Instant,
    pub(super) work: Work,
}

pub(super) enum Work {
    Change(PendingChange),
    /// A caller waits for a compaction that has not begun yet.
    Compact(CompactionReply),
    /// The result of a compaction.
    Copied(Box<Result<Copy, StoreError>>),
    /// The last work.
    Close,
}

impl From<Work> for Waiting {
    fn from(work: Work) -> Self {
        let since = Instant::now();
        Self { since, work }
    }
}

/// The state of the writer.
pub(super) struct LedgerWriter {
    pub(super) ledger: Ledger,
    pub(super) shared: Arc<SharedState>,
    pub(super) compactions: Compactions,
    /// The queue of its work. Known after the start.
    pub(super) queue: Option<SyncSender<Waiting>>,
    pub(super) metrics: Arc<Metrics>,
    /// Time of this process's last event. Nothing expires before the first one.
    pub(super) now: Timestamp,
    /// Records the durable length of the ledger.
    pub(super) mark: Mark,
    pub(super) secret: SecretFile,
}

impl LedgerWriter {
    /// Commits `changes` as one batch and replies to them. A panic fails the batch, not the writer.
    pub(super) fn commit(&mut self, changes: Vec<PendingChange>) {
        if changes.is_empty() {
            return;
        }
        let (began, sequence) = (Instant::now(), self.ledger.sequence());
        let mut replies = Vec::with_capacity(changes.len());
        let mut changes = changes.into_iter();
        let outcome = caught(|| {
            self.repair()?;
            self.record(&mut changes, &mut replies)
        });
        match &outcome {
            // Nothing was recorded.
            Ok(()) if self.ledger.sequence() == sequence => {}
            Ok(()) => self.metrics.record_commit(replies.len(), began.elapsed()),
            Err(_) => self.metrics.ledger.failed.increase(),
        }
        self.metrics.ledger.bytes.set(self.ledger.length());
        self.shared.set_write_error(outcome.as_ref().err().cloned());
        // Dropping them replies with this error.
        drop(changes);
        for reply in replies {
            reply(outcome.clone());
        }
    }

    /// Checks whether changes can be stored, while none are waiting.
    pub(super) fn look_after(&mut self) {
        let repaired = caught(|| self.repair());
        self.shared.set_write_error(repaired.err());
    }

    /// Checks the secret now and then, unless the directory was replaced.
    pub(super) fn look_after_secret(&mut self) {
        if self.secret.is_due() && self.check_place().is_ok() {
            self.secret.look_after();
        }
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
        if draft.lines().is_empty() {
            return Ok(());
        }
        let appended = self.ledger.append(draft.lines());
        let places = appended.map_err(|error| match self.check_place() {
            Err(displaced) => displaced,
            Ok(()) => ledger_failed(error),
        })?;
        self.now = draft.at().unwrap_or(self.now);
        draft.publish(&places, self.ledger.length());
        self.mark();
        Ok(())
    }

    /// Makes the ledger and the lookups ready for the next batch, or returns the reason why it cannot.
    pub(super) fn repair(&mut self) -> Result<(), StoreError> {
        self.check_place()?;
        self.ledger.repair().map_err(ledger_failed)?;
        // After a panic right after a sync, the last batch was not shown.
        if self.shared.generation().end() != self.ledger.length() {
            let file = self.ledger.to_read().map_err(ledger_failed)?;
            let generation = Generation::read(file, self.ledger.length()).map_err(unreadable)?;
            self.shared.set_generation(Arc::new(generation));
        }
        Ok(())
    }

    fn check_place(&self) -> Result<(), StoreError> {
        self.ledger
            .check_place()
            .map_err(|error| StoreError::Displaced(error.to_string()))
    }

    /// Begins a compaction if it is worthwhile. A failure affects nobody.
    pub(super) fn compact_if_due(&mut self) {
        let left = self.shared.generation().table().len();
        let is_due = self.compactions.is_due(self.ledger.sequence(), left);
        if is_due && self.shared.is_sound() {
            self.begin_compaction();
        }
    }

    /// Begins a compaction for a caller, or ends one.
    pub(super) fn compact(&mut self, work: Work) {
        match work {
            Work::Compact(reply) => {
                if self.compactions.ask(reply) {
                    self.begin_compaction();
                }
            }
            Work::Copied(copied) => self.end_compaction(*copied),
            Work::Change(_) | Work::Close => {}
        }
    }

    fn begin_compaction(&mut self) {
        if let Err(error) = self.start_copying() {
            self.end_compaction(Err(error));
        }
    }

    fn start_copying(&mut self) -> Result<(), StoreError> {
        self.repair()?;
        let Some(queue) = self.queue.clone() else {
            return Err(StoreError::Unavailable("the store is not open".to_owned()));
        };
        let plan = self.plan(self.ledger.head().secret.clone());
        let begun = self.compactions.begin(move |is_stopped| {
            let copied = Box::new(caught(|| plan.copy(is_stopped).map_err(flawed)));
            // Fails if the writer is gone.
            let _ = queue.send(Work::Copied(copied).into());
        });
        begun.map_err(ledger_failed)
    }

    /// The source of the next generation, under `secret`.
    pub(super) fn plan(&self, secret: String) -> CopyPlan {
        CopyPlan {
            from: self.shared.generation(),
            files: Arc::clone(self.ledger.files()),
            path: self.ledger.path().to_path_buf(),
            lines: self.ledger.sequence(),
            number: self.ledger.head().generation + 1,
            secret,
            now: self.now,
        }
    }

    /// Switches to the copy, and replies to those waiting for it.
    fn end_compaction(&mut self, copied: Result<Copy, StoreError>) {
        let (entries_before, bytes_before) = (self.ledger.sequence(), self.ledger.length());
        let switched = copied.and_then(|copy| caught(|| self.switch_to(copy).map_err(flawed)));
        // The rename of the new generation may not be durable yet.
        let repaired = self.repair();
        self.shared
            .set_write_error(repaired.as_ref().err().cloned());
        if repaired.is_ok() {
            self.mark();
        }
        self.metrics.ledger.bytes.set(self.ledger.length());
        let compacted = switched.and(repaired).map(|()| Compaction {
            entries_before,
            entries_after: self.ledger.sequence(),
            bytes_before,
            bytes_after: self.ledger.length(),
        });
        match &compacted {
            Ok(compaction) => tracing::info!(
                ledger.generation = self.ledger.head().generation,
                ledger.events = compaction.entries_after,
                "the ledger was compacted"
            ),
            Err(error) => tracing::warn!(%error, "the ledger cannot be compacted"),
        }
        let left = self.shared.generation().table().len();
        let superfluous = self.ledger.sequence().saturating_sub(left);
        if self.compactions.end(&compacted, superfluous) {
            self.begin_compaction();
        }
    }

    /// Switches to `copy`. The ledger must be repaired before it accepts events.
    pub(super) fn switch_to(&mut self, copy: Copy) -> Result<(), Flaw> {
        if !copy.is_of(&self.shared.generation()) {
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
        let (ledger, generation) = copy.publish(|| self.ledger.check_place())?;
        let before = (
            std::mem::replace(&mut self.ledger, ledger),
            self.shared.generation(),
        );
        self.shared.set_generation(Arc::new(generation));
        // Freeing a large file takes a while. If no thread can be started, it is freed here.
        let thread = thread::Builder::new().name("freed".to_owned());
        let _ = thread.spawn(move || drop(before));
        Ok(())
    }

    /// Marks the end of the durable ledger.
    pub(super) fn mark(&mut self) {
        self.mark.note(&stamp(&self.ledger));
    }

    /// Marks the end of the ledger for the last time.
    pub(super) fn finish(mut self) -> Result<(), StoreError> {
        self.compactions.stop();
        self.repair()?;
        self.secret.look_after();
        self.mark.write(&stamp(&self.ledger)).map_err(ledger_failed)
    }
}

/// Runs it, and turns a panic into a failure of the store.
fn caught<T>(run: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_panic| Err(StoreError::Unavailable("panic".to_owned())))
}

fn flawed(flaw: Flaw) -> StoreError {
    match flaw {
        Flaw::Io(error) => ledger_failed(error),
        Flaw::Foreign(_) | Flaw::Damaged { .. } | Flaw::Unreadable(_) => unreadable(flaw),
    }
}

/// The present state of `ledger`.
fn stamp(ledger: &Ledger) -> Stamp {
    Stamp {
        secret: ledger.head().secret.clone(),
        generation: ledger.head().generation,
        sequence: ledger.sequence(),
        length: ledger.length(),
    }
}
