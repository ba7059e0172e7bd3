//! The bounded queue of work, and the thread that processes it.

use std::io;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::ports::StoreError;

use super::writer::{LedgerWriter, Waiting, Work};

/// Most changes in one batch.
const BATCH_CHANGES_MAX: usize = 1024;

/// The queue of the writer's thread.
#[derive(Debug)]
pub(super) struct CommitQueue {
    /// `None` once closed.
    sender: Mutex<Option<SyncSender<Waiting>>>,
    thread: Mutex<Option<JoinHandle<LedgerWriter>>>,
}

impl CommitQueue {
    /// Starts `writer` with room for `changes_max` waiting changes. While idle, it checks its file every
    /// `look_interval`.
    pub(super) fn start(
        mut writer: LedgerWriter,
        changes_max: usize,
        look_interval: Duration,
    ) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(changes_max);
        writer.queue = Some(sender.clone());
        let thread = thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || run(writer, &receiver, look_interval))?;
        Ok(Self {
            sender: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Refuses further changes, waits for those in the queue, and returns the writer. `None` if already
    /// closed.
    pub(super) fn close(&self) -> Option<LedgerWriter> {
        let sender = self.sender.lock().take()?;
        // Fails if the writer is gone.
        let _ = sender.send(Work::Close.into());
        let thread = self.thread.lock().take()?;
        thread.join().ok()
    }

    /// Queues work, unless the queue is full or closed.
    pub(super) fn send(&self, work: Work) -> Result<(), StoreError> {
        let sender = self.sender.lock();
        let Some(sender) = sender.as_ref() else {
            return Err(StoreError::Unavailable("the store is closed".to_owned()));
        };
        sender.try_send(work.into()).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Overloaded,
            TrySendError::Disconnected(_) => {
                StoreError::Unavailable("the writer is gone".to_owned())
            }
        })
    }
}

/// Commits all waiting changes, up to the next other work, as one batch, until the queue is closed.
fn run(
    mut writer: LedgerWriter,
    receiver: &Receiver<Waiting>,
    look_interval: Duration,
) -> LedgerWriter {
    let shared = Arc::clone(&writer.shared);
    loop {
        let Ok(first) = receiver.recv_timeout(look_interval) else {
            // The writer holds the other end itself. A disk that hangs keeps it busy, too.
            shared.set_busy_since(Some(Instant::now()));
            writer.look_after();
            writer.look_after_secret();
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
                    writer.commit(std::mem::take(&mut changes));
                    // A panic drops the reply, which the waiting caller notices.
                    let _ = catch_unwind(AssertUnwindSafe(|| writer.compact(work)));
                }
                Work::Close => {
                    writer.commit(changes);
                    return writer;
                }
            }
        }
        writer.commit(changes);
        let _ = catch_unwind(AssertUnwindSafe(|| writer.compact_if_due()));
        writer.look_after_secret();
        shared.set_busy_since(None);
    }
}
