//! The bounded queue of changes, and the one thread that commits them.

use std::io;
use std::sync::Mutex;
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot};

use crate::adapters::mutex::lock;
use crate::ports::StoreError;

use super::draft::Draft;
use super::index::IndexError;
use super::shared_state::SharedState;
use super::writer::{ChangeReply, LedgerWriter, PendingChange};

/// Most changes in one batch.
const BATCH_CHANGES_MAX: usize = 1024;

/// The way to the writer's thread.
#[derive(Debug)]
pub(super) struct CommitQueue {
    /// `None` once closed.
    sender: Mutex<Option<mpsc::Sender<PendingChange>>>,
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
        self.send(Box::new(move |draft| {
            let decided = decide(draft)?;
            let reply: ChangeReply = Box::new(move |outcome| {
                // The caller may have been dropped.
                let _ = sender.send(outcome.map(|()| decided));
            });
            Ok(reply)
        }))?;
        match answer.await {
            Ok(outcome) => outcome,
            Err(_given_up) => Err(shared.unavailable()),
        }
    }

    /// Refuses further changes, waits for those in the queue, and returns the writer. `None` if that
    /// was done before.
    pub(super) fn close(&self) -> Option<LedgerWriter> {
        drop(lock(&self.sender).take());
        let thread = lock(&self.thread).take()?;
        thread.join().ok()
    }

    fn send(&self, change: PendingChange) -> Result<(), StoreError> {
        let sender = lock(&self.sender);
        let Some(sender) = sender.as_ref() else {
            return Err(StoreError::Unavailable("the store is closed".to_owned()));
        };
        sender.try_send(change).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Overloaded,
            mpsc::error::TrySendError::Closed(_) => {
                StoreError::Unavailable("the writer is gone".to_owned())
            }
        })
    }
}

/// Commits all changes that wait as one batch, until the queue is closed and empty.
fn run(mut writer: LedgerWriter, mut receiver: mpsc::Receiver<PendingChange>) -> LedgerWriter {
    let mut changes = Vec::new();
    while receiver.blocking_recv_many(&mut changes, BATCH_CHANGES_MAX) > 0 {
        writer.commit(std::mem::take(&mut changes));
        writer.compact_if_due();
    }
    writer
}
