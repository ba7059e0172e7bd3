//! The bounded queue of changes and tasks, and the one thread that does them.

use parking_lot::Mutex;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot};

use crate::ports::StoreError;

use super::draft::Draft;
use super::index::IndexError;
use super::shared_state::SharedState;
use super::writer::{LedgerWriter, PendingChange, pending};

/// Most changes in one batch.
const BATCH_CHANGES_MAX: usize = 1024;

/// What waits for the writer.
enum Waiting {
    Change(PendingChange),
    /// Work that is done alone, after the changes that came before it.
    Task(Box<dyn FnOnce(&mut LedgerWriter) + Send>),
}

/// The way to the writer's thread.
#[derive(Debug)]
pub(super) struct CommitQueue {
    /// `None` once closed.
    sender: Mutex<Option<mpsc::Sender<Waiting>>>,
    thread: Mutex<Option<JoinHandle<LedgerWriter>>>,
}

impl CommitQueue {
    /// Starts `writer` with room for `changes_max` waiting changes.
    pub(super) fn start(writer: LedgerWriter, changes_max: usize) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel(changes_max);
        let thread = thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || run(writer, receiver))?;
        Ok(Self {
            sender: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Has the writer decide a change, and waits until what it recorded is durable. The change is
    /// committed even if nobody waits any more.
    ///
    /// # Errors
    /// [`StoreError`] when nothing of the change was kept.
    pub(super) async fn commit<T: Send + 'static>(
        &self,
        shared: &SharedState,
        decide: impl FnOnce(&mut Draft<'_>) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, answer) = oneshot::channel();
        // The caller may have been dropped.
        let reply = move |outcome| drop(sender.send(outcome));
        self.send(Waiting::Change(pending(decide, reply)))?;
        let answered = answer.await;
        answered.unwrap_or_else(|_given_up| Err(shared.unavailable()))
    }

    /// Has the writer do a task alone, and waits until it is done. It is done even if nobody waits any
    /// more.
    ///
    /// # Errors
    /// [`StoreError`] when it was not done.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        shared: &SharedState,
        task: impl FnOnce(&mut LedgerWriter) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, answer) = oneshot::channel();
        self.send(Waiting::Task(Box::new(move |writer| {
            // The caller may have been dropped.
            let _ = sender.send(task(writer));
        })))?;
        let answered = answer.await;
        answered.unwrap_or_else(|_panic| Err(shared.unavailable()))
    }

    /// Refuses further changes, waits for those in the queue, and returns the writer. `None` if that
    /// was done before.
    pub(super) fn close(&self) -> Option<LedgerWriter> {
        drop(self.sender.lock().take());
        let thread = self.thread.lock().take()?;
        thread.join().ok()
    }

    fn send(&self, waiting: Waiting) -> Result<(), StoreError> {
        let sender = self.sender.lock();
        let Some(sender) = sender.as_ref() else {
            return Err(StoreError::Unavailable("the store is closed".to_owned()));
        };
        sender.try_send(waiting).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Overloaded,
            mpsc::error::TrySendError::Closed(_) => {
                StoreError::Unavailable("the writer is gone".to_owned())
            }
        })
    }
}

/// Commits all changes that wait, up to a task, as one batch, until the queue is closed and empty.
fn run(mut writer: LedgerWriter, mut receiver: mpsc::Receiver<Waiting>) -> LedgerWriter {
    let mut waiting = Vec::new();
    while receiver.blocking_recv_many(&mut waiting, BATCH_CHANGES_MAX) > 0 {
        let mut changes = Vec::with_capacity(waiting.len());
        for waiting in waiting.drain(..) {
            match waiting {
                Waiting::Change(change) => changes.push(change),
                Waiting::Task(task) => {
                    commit(&mut writer, std::mem::take(&mut changes));
                    // A panic drops the way to its caller, who learns of it.
                    let _ = catch_unwind(AssertUnwindSafe(|| task(&mut writer)));
                }
            }
        }
        commit(&mut writer, changes);
        writer.compact_if_due();
    }
    writer
}

fn commit(writer: &mut LedgerWriter, changes: Vec<PendingChange>) {
    if !changes.is_empty() {
        writer.commit(changes);
    }
}
