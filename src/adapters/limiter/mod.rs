//! The embedded limiter: decides in memory and writes behind to sled.
//!
//! | Module | Content |
//! |---|---|
//! | `table` | every decision, over a sharded table of windows |
//! | `shard` | a part of the table, and which of its windows must be stored |
//! | `writer` | stores changes, removes expired windows, handles a store that fails |
//! | `persistence` | storage of windows across restarts, and their stored form; sled with its panics as errors |
//!
//! All live windows are in memory from the start, so no request waits for the store, and its
//! failures change no decision: while nothing can be stored, windows are in memory only. A killed
//! process loses the decisions that were not written yet, which are those of the last 100 ms; a flood of new
//! identities comes faster than sled takes them, so that one to three seconds were lost. A process that is killed
//! while it replaces a store that has grown may lose all windows. A closed limiter loses none.

mod persistence;
mod shard;
mod table;
mod writer;

use parking_lot::Mutex;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_trait::async_trait;
use tokio::task::{spawn_blocking, yield_now};

use crate::domain::{Decision, Policies, PolicyName, Quota, Timestamp, macros::hidden};
use crate::ports::{
    Admission, BusyWindow, Charge, Clock, LimiterError, LimiterStats, RateLimiter, Receipt,
    WindowSet,
};

pub use self::persistence::{Change, SledWindowStore, WindowStore, WindowStoreError};
use self::shard::Shard;
use self::table::{SHARDS, Table, shard_index};
use self::writer::{StoreHealth, Writer};

/// The number of windows at which the table is full. They take about 100 MiB when each has counted
/// a few requests.
pub const WINDOWS_MAX: usize = 1_000_000;

/// A process that is killed loses the decisions since the last tick, and during one.
const TICK: Duration = Duration::from_millis(100);

/// Counts requests in memory; its windows survive in sled.
///
/// Charges must carry the quotas of the policies it was opened with: those tell when a window has
/// expired.
pub struct SledRateLimiter {
    table: Arc<Table>,
    writer: Arc<Mutex<Writer>>,
    health: Arc<StoreHealth>,
    /// The thread that ticks, until its sender is dropped.
    thread: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

impl SledRateLimiter {
    /// Opens the windows in `dir`, whose parent must exist, and starts the thread that writes. While
    /// nothing can be stored, for example on a full disk, windows are in memory only.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub fn open(dir: &Path, policies: &Policies, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let store = Box::new(SledWindowStore::new(dir));
        let limiter = Self::without_thread(store, policies, clock.now(), WINDOWS_MAX);
        limiter.start_thread(clock)?;
        Ok(limiter)
    }

    /// Ticks now, and every 100 ms from then on.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub fn start_thread(&self, clock: Arc<dyn Clock>) -> io::Result<()> {
        let writer = Arc::clone(&self.writer);
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("limiter-writer".to_owned())
            .spawn(move || {
                let mut wait = Duration::ZERO;
                while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    let now = clock.now();
                    let ticked = catch_unwind(AssertUnwindSafe(|| writer.lock().tick(now)));
                    if ticked.is_err() {
                        writer.lock().fail();
                    }
                    wait = TICK;
                }
            })?;
        *self.thread.lock() = Some((stop, thread));
        Ok(())
    }

    /// A limiter over any store, which writes only when [`SledRateLimiter::tick`] is called.
    pub fn without_thread(
        store: Box<dyn WindowStore>,
        policies: &Policies,
        now: Timestamp,
        windows_max: usize,
    ) -> Self {
        let table = Arc::new(Table::new(windows_max));
        Self::over(Writer::open(table, policies.clone(), Some(store), now))
    }

    /// A limiter that a restart makes forget its windows.
    pub fn in_memory(policies: &Policies, now: Timestamp) -> Self {
        let table = Arc::new(Table::new(WINDOWS_MAX));
        Self::over(Writer::open(table, policies.clone(), None, now))
    }

    fn over(writer: Writer) -> Self {
        Self {
            table: Arc::clone(&writer.table),
            health: Arc::clone(&writer.health),
            writer: Arc::new(Mutex::new(writer)),
            thread: Mutex::new(None),
        }
    }

    /// Writes all changes and sweeps a part of the table. The limiter's thread does this every
    /// 100 ms.
    pub fn tick(&self, now: Timestamp) {
        self.writer.lock().tick(now);
    }

    /// Stops the thread, writes all changes and closes the store. Decisions continue, but are no
    /// longer stored. Closing twice is allowed.
    pub fn close(&self) {
        let thread = self.thread.lock().take();
        if let Some((stop, thread)) = thread {
            drop(stop);
            if thread.join().is_err() {
                tracing::error!("the limiter's writer panicked");
            }
        }
        self.writer.lock().close();
    }

    /// The number of windows in memory.
    pub fn windows(&self) -> usize {
        self.table.count()
    }

    /// Whether the store does not accept writes.
    pub fn is_store_failing(&self) -> bool {
        self.health.is_failing.load(Relaxed)
    }

    /// The number of windows in the store; 0 once it is closed. Slow: counts them.
    pub fn stored(&self) -> usize {
        let writer = self.writer.lock();
        writer.store.as_ref().map_or(0, |store| store.count())
    }
}

#[async_trait]
impl RateLimiter for SledRateLimiter {
    async fn acquire(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> Result<Admission, LimiterError> {
        let mut admission = Admission::default();
        self.table.acquire(charges, now, &mut admission);
        Ok(admission)
    }

    fn acquire_now(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
        admission: &mut Admission,
    ) -> bool {
        self.table.acquire(charges, now, admission);
        true
    }

    async fn peek(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decision, LimiterError> {
        Ok(self.table.peek(charges, now))
    }

    fn peek_now(&self, charges: &[Charge<'_>], now: Timestamp) -> Option<Decision> {
        Some(self.table.peek(charges, now))
    }

    async fn refund(&self, receipt: Receipt, now: Timestamp) -> Result<Decision, LimiterError> {
        Ok(self.table.refund(&receipt, now))
    }

    async fn busiest(
        &self,
        policy: PolicyName,
        quota: Quota,
        most: usize,
        now: Timestamp,
    ) -> Result<Vec<BusyWindow>, LimiterError> {
        let mut busiest = Vec::new();
        for index in 0..SHARDS {
            let counting = |shard: &mut Shard| shard.counting(policy, quota, now);
            busiest.extend(self.table.with_shard(index, counting));
            BusyWindow::keep_fullest(&mut busiest, most);
            yield_now().await;
        }
        Ok(busiest)
    }

    async fn reset(&self, which: WindowSet) -> Result<usize, LimiterError> {
        let mut count = 0;
        let shards = match &which {
            WindowSet::Window(key) => shard_index(key)..shard_index(key) + 1,
            WindowSet::All | WindowSet::Policy(_) => 0..SHARDS,
        };
        for index in shards {
            count += self.table.with_shard(index, |shard| shard.reset(&which));
            yield_now().await;
        }
        // Whoever asked for it is told when a killed process would not undo it.
        let writer = Arc::clone(&self.writer);
        let written = spawn_blocking(move || writer.lock().write_out()).await;
        let is_written = written.unwrap_or(false);
        if !is_written {
            let unwritten =
                "the windows were reset in memory, but not on disk: a restart undoes the reset";
            return Err(LimiterError(unwritten.to_owned()));
        }
        Ok(count)
    }

    fn stats(&self) -> Option<LimiterStats> {
        Some(LimiterStats {
            windows: self.windows(),
            windows_max: self.table.windows_max,
            disk_bytes: self.health.disk_bytes.load(Relaxed),
            is_store_failing: self.is_store_failing(),
        })
    }

    /// Decisions are made in memory: a store that fails does not stop them.
    fn check(&self) -> Result<(), LimiterError> {
        Ok(())
    }
}

impl Drop for SledRateLimiter {
    fn drop(&mut self) {
        self.close();
    }
}

hidden!(SledRateLimiter);
