//! The limiter: decides in memory and writes behind to sled.
//!
//! | Module | Does |
//! |---|---|
//! | `table` | every decision, in a sharded table of windows |
//! | `shard` | a part of the table: windows, and which of them are newer than what is stored |
//! | `windows` | windows by their keys |
//! | `places` | where they stand |
//! | `tag` | what stands in a place, in a byte |
//! | `writer` | writes what is new, removes what has expired, copes with a store that fails |
//! | `persistence` | where windows survive the process |
//! | `lot` | changes of windows, many in one value |
//! | `record` | a window's bytes |
//!
//! All live windows are in memory from the start, so no request waits for the store and its
//! failures change no decision. A process that is killed forgets what the writer had not yet
//! written: 100 ms of decisions, longer only while a store of very many windows starts over. One
//! that is closed forgets nothing.

mod lot;
mod persistence;
mod places;
mod record;
mod shard;
mod table;
mod tag;
mod windows;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::domain::decision::Decision;
use crate::domain::policy::Policies;
use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;
use crate::ports::{Acquired, Charge, Clock, Grant, LimiterError, RateLimiter};

pub use self::lot::Changes;
pub use self::persistence::{SledWindowStore, WindowStore, WindowStoreError};
use self::table::Table;
pub use self::table::TableLimits;
use self::writer::{Attendant, Writer};

/// Counts requests in memory; its windows survive in sled.
///
/// Charges must carry the quotas of the policies it was opened with: by those it knows when a
/// window has expired.
pub struct SledRateLimiter {
    table: Arc<Table>,
    writer: Arc<Mutex<Writer>>,
    attendant: Mutex<Option<Attendant>>,
}

/// The limiter could not be opened. The text is for the operator.
#[derive(Debug, thiserror::Error)]
pub enum LimiterOpenError {
    /// A fresh store could not be made. One that cannot be read is no error: it is set aside.
    #[error("limiter store: {0}")]
    Store(#[from] WindowStoreError),
    /// The system has no thread to give.
    #[error("limiter thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// What the limiter keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimiterStats {
    /// Windows in memory.
    pub windows: usize,
    /// Windows in the store; 0 once it is closed.
    pub stored: usize,
    /// The store does not take writes.
    pub is_store_failing: bool,
}

impl SledRateLimiter {
    /// Opens the windows in `dir`, whose parent must exist, and starts the thread that writes.
    ///
    /// # Errors
    /// [`LimiterOpenError`] when no fresh store can be made beside the old one.
    pub fn open(
        dir: &Path,
        key: MacKey,
        policies: &Policies,
        clock: Arc<dyn Clock>,
        limits: TableLimits,
    ) -> Result<Self, LimiterOpenError> {
        let store = Box::new(SledWindowStore::new(dir));
        let limiter = Self::unattended(store, key, policies, clock.now(), limits)?;
        let writer = Arc::clone(&limiter.writer);
        let attendant = Attendant::start(move || lock(&writer).tick(clock.now()))?;
        *lock(&limiter.attendant) = Some(attendant);
        Ok(limiter)
    }

    /// A limiter over any store, which writes only when [`SledRateLimiter::tick`] is called.
    ///
    /// # Errors
    /// [`LimiterOpenError::Store`] when the store cannot start over.
    pub fn unattended(
        store: Box<dyn WindowStore>,
        key: MacKey,
        policies: &Policies,
        now: Timestamp,
        limits: TableLimits,
    ) -> Result<Self, LimiterOpenError> {
        let table = Arc::new(Table::new(limits, key));
        let writer = Writer::open(Arc::clone(&table), policies.clone(), store, now)?;
        Ok(Self {
            table,
            writer: Arc::new(Mutex::new(writer)),
            attendant: Mutex::new(None),
        })
    }

    /// Writes what is new and sweeps a part of the table. The limiter's own thread does this every
    /// 100 ms.
    pub fn tick(&self, now: Timestamp) {
        lock(&self.writer).tick(now);
    }

    /// Stops the thread and writes everything new. Decisions go on, but are no longer stored.
    /// Closing again does nothing.
    pub fn close(&self) {
        // Dropped outside the lock: it waits for the thread.
        let attendant = lock(&self.attendant).take();
        drop(attendant);
        lock(&self.writer).close();
    }

    /// What is kept now. Slow, as the store is counted through.
    #[must_use]
    pub fn stats(&self) -> LimiterStats {
        let writer = lock(&self.writer);
        LimiterStats {
            windows: self.table.count(),
            stored: writer.stored_count(),
            is_store_failing: writer.is_store_failing(),
        }
    }
}

#[async_trait]
impl RateLimiter for SledRateLimiter {
    async fn acquire(&self, charges: &[Charge], now: Timestamp) -> Result<Acquired, LimiterError> {
        let mut acquired = Acquired::default();
        self.table.acquire(charges, now, &mut acquired);
        Ok(acquired)
    }

    async fn peek(&self, charges: &[Charge], now: Timestamp) -> Result<Decision, LimiterError> {
        let mut decision = Decision::default();
        self.table.peek(charges, now, &mut decision);
        Ok(decision)
    }

    async fn refund(&self, grant: Grant, now: Timestamp) -> Result<Decision, LimiterError> {
        Ok(self.table.refund(&grant, now))
    }
}

impl Drop for SledRateLimiter {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for SledRateLimiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SledRateLimiter")
            .field("windows", &self.table.count())
            .finish_non_exhaustive()
    }
}

/// Locks, and goes on after a panic: what the writer did not write it will write next time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
