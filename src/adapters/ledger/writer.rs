//! The only writer. It decides the changes of a batch in order, appends their events to the ledger, syncs once,
//! shows them to lookups, and only then replies.

use std::io;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread;
use std::time::Duration;
use std::vec::IntoIter;

use tokio::time::Instant;

use crate::adapters::files::secret_file::SecretFile;
use crate::domain::Timestamp;
use crate::metrics::Metrics;
use crate::ports::{Compaction, StoreError};

use super::compaction::{CompactionReply, Compactions};
use super::copy::{Copy, CopyPlan};
use super::draft::Draft;
use super::generation::Generation;
use super::mark::Mark;
use super::record::{Flaw, Ledger};
use super::shared_state::SharedState;

/// Most changes in one batch.
const BATCH_CHANGES_MAX: usize = 1024;

/// Decides one change. A change that cannot be decided fails on its own. Dropping it, or its reply, means to the
/// caller that nothing was stored.
pub(super) type PendingChange = Box<dyn FnOnce(&mut Draft<'_>) -> Option<ChangeReply> + Send>;

/// Replies to one decided change.
type ChangeReply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A change. `reply` receives the decision once it is durable, or the reason why nothing was stored.
pub(super) fn pending<T: Send + 'static>(
    decide: impl FnOnce(&mut Draft<'_>) -> Result<T, Flaw> + Send + 'static,
    reply: impl FnOnce(Result<T, StoreError>) + Send + 'static,
) -> PendingChange {
    Box::new(move |draft| match draft.attempt(decide) {
        Ok(decided) => Some(Box::new(move |outcome| {
            reply(outcome.map(|()| decided));
        })),
        Err(flaw) => {
            reply(Err(flaw.into()));
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
    /// Commits all waiting changes, up to the next other work, as one batch, until the queue is closed. While idle,
    /// it checks its file every `look_interval`.
    pub(super) fn run(mut self, receiver: &Receiver<Waiting>, look_interval: Duration) -> Self {
        let shared = Arc::clone(&self.shared);
        loop {
            let Ok(first) = receiver.recv_timeout(look_interval) else {
                // The writer holds the other end itself. A disk that hangs keeps it busy, too.
                shared.set_busy_since(Some(Instant::now()));
                self.look_after();
                self.look_after_secret();
                shared.set_busy_since(None);
                continue;
            };
            shared.set_busy_since(Some(first.since));
            let more = receiver.try_iter().take(BATCH_CHANGES_MAX - 1);
            let mut changes = Vec::new();
            for waiting in iter::once(first).chain(more) {
                match waiting.work {
                    Work::Change(change) => changes.push(change),
                    work @ (Work::Compact(_) | Work::Copied(_)) => {
                        self.commit(std::mem::take(&mut changes));
                        // A panic drops the reply, which the waiting caller notices.
                        let _ = catch_unwind(AssertUnwindSafe(|| self.compact(work)));
                    }
                    Work::Close => {
                        self.commit(changes);
                        return self;
                    }
                }
            }
            self.commit(changes);
            let _ = catch_unwind(AssertUnwindSafe(|| self.compact_if_due()));
            self.look_after_secret();
            shared.set_busy_since(None);
        }
    }

    /// Commits `changes` as one batch and replies to them. A panic fails the batch, not the writer.
    fn commit(&mut self, changes: Vec<PendingChange>) {
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
        self.metrics.ledger.set_bytes(self.ledger.length());
        self.shared.set_write_error(outcome.as_ref().err().cloned());
        // Dropping them replies with this error.
        drop(changes);
        for reply in replies {
            reply(outcome.clone());
        }
    }

    /// Checks whether changes can be stored, while none are waiting.
    fn look_after(&mut self) {
        let repaired = caught(|| self.repair());
        self.shared.set_write_error(repaired.err());
    }

    /// Checks the secret now and then, unless the directory was replaced.
    fn look_after_secret(&mut self) {
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
        if draft.bytes() == 0 {
            return Ok(());
        }
        let at = draft.at;
        let written = draft.write(&mut self.ledger);
        written.map_err(|error| match self.check_place() {
            Err(displaced) => displaced,
            Ok(()) => Flaw::Io(error).into(),
        })?;
        self.now = at.unwrap_or(self.now);
        self.mark();
        Ok(())
    }

    /// Makes the ledger and the lookups ready for the next batch, or returns the reason why it cannot.
    pub(super) fn repair(&mut self) -> Result<(), StoreError> {
        self.check_place()?;
        self.ledger.repair().map_err(Flaw::Io)?;
        // After a panic right after a sync, the last batch was not shown.
        if self.shared.generation().end() != self.ledger.length() {
            let file = self.ledger.to_read().map_err(Flaw::Io)?;
            let generation = Generation::read(file, self.ledger.length())?;
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
    fn compact_if_due(&mut self) {
        let left = self.shared.generation().table().len();
        let is_due = self.compactions.is_due(self.ledger.sequence(), left);
        if is_due && self.shared.is_sound() {
            self.begin_compaction();
        }
    }

    /// Begins a compaction for a caller, or ends one.
    fn compact(&mut self, work: Work) {
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
            let copied = Box::new(caught(|| Ok(plan.copy(is_stopped)?)));
            // Fails if the writer is gone.
            let _ = queue.send(Work::Copied(copied).into());
        });
        Ok(begun.map_err(Flaw::Io)?)
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
        let switched = copied.and_then(|copy| caught(|| Ok(self.switch_to(copy)?)));
        // The rename of the new generation may not be durable yet.
        let repaired = self.repair();
        self.shared
            .set_write_error(repaired.as_ref().err().cloned());
        if repaired.is_ok() {
            self.mark();
        }
        self.metrics.ledger.set_bytes(self.ledger.length());
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
        self.mark.note(&self.ledger);
    }

    /// Marks the end of the ledger for the last time.
    pub(super) fn finish(mut self) -> Result<(), StoreError> {
        self.compactions.stop();
        self.repair()?;
        self.secret.look_after();
        Ok(self.mark.write(&self.ledger).map_err(Flaw::Io)?)
    }
}

/// Runs it, and turns a panic into a failure of the store.
fn caught<T>(run: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_panic| Err(StoreError::Unavailable("panic".to_owned())))
}
