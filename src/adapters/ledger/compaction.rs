//! Compactions: a thread copies the current state of the ledger in parallel to the writer, which then adds the
//! events since and switches to the copy.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use crate::ports::{Compaction, StoreError};

/// Receives the result of a compaction.
pub(super) type CompactionReply = oneshot::Sender<Result<Compaction, StoreError>>;

/// The running compaction, those who wait for it, and when the next one is due.
#[derive(Default)]
pub(super) struct Compactions {
    /// Fewer superfluous lines than this are never worth a compaction.
    superfluous_min: u64,
    /// After a failed compaction: none is begun with fewer superfluous lines than this.
    put_off: u64,
    running: Option<Running>,
    /// Callers that wait for the next one.
    waiting: Vec<CompactionReply>,
}

/// The copying thread.
struct Running {
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Callers that asked before it began.
    waiting: Vec<CompactionReply>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It catches its panics.
            let _ = thread.join();
        }
    }
}

impl Compactions {
    pub(super) fn new(superfluous_min: u64) -> Self {
        Self {
            superfluous_min,
            ..Self::default()
        }
    }

    /// Adds a caller that waits for a compaction which has not begun yet. Returns whether one can begin at once.
    pub(super) fn ask(&mut self, reply: CompactionReply) -> bool {
        self.waiting.push(reply);
        self.running.is_none()
    }

    /// True if this many `lines`, of which at most `left` remain, are worth a compaction.
    pub(super) fn is_due(&self, lines: u64, left: u64) -> bool {
        let superfluous_min = self.superfluous_min.max(self.put_off);
        self.running.is_none() && lines.saturating_sub(left) > left.max(superfluous_min)
    }

    /// Runs `copy` in a thread, with the flag that stops it.
    pub(super) fn begin(
        &mut self,
        copy: impl FnOnce(&AtomicBool) + Send + 'static,
    ) -> io::Result<()> {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("compaction".to_owned());
        let stopped = Arc::clone(&is_stopped);
        let thread = Some(thread.spawn(move || copy(&stopped))?);
        self.running = Some(Running {
            is_stopped,
            thread,
            waiting: std::mem::take(&mut self.waiting),
        });
        Ok(())
    }

    /// Replies to those who waited for the compaction that has ended. After a failure, the next one begins no
    /// earlier than with twice as many `superfluous` lines. Returns whether somebody waits for the next one.
    pub(super) fn end(
        &mut self,
        outcome: &Result<Compaction, StoreError>,
        superfluous: u64,
    ) -> bool {
        let waiting = match &mut self.running {
            Some(running) => std::mem::take(&mut running.waiting),
            // It could not begin.
            None => std::mem::take(&mut self.waiting),
        };
        self.running = None;
        self.put_off = match outcome {
            Ok(_) => 0,
            Err(_) => superfluous.saturating_mul(2),
        };
        for reply in waiting {
            // The caller may be gone.
            let _ = reply.send(outcome.clone());
        }
        !self.waiting.is_empty()
    }

    /// Drops those who wait, stops the running compaction, and waits for its thread. The ledger is complete
    /// without it.
    pub(super) fn stop(&mut self) {
        self.waiting.clear();
        self.running = None;
    }
}
