//! State that readers share with the writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;

use crate::domain::macros::hidden;
use crate::ports::StoreError;

use super::generation::Generation;

/// Time after which a store is busy if its writer is still working on a change, or has let one wait.
const BUSY_AFTER: Duration = Duration::from_secs(2);

/// Shortest time between two log lines about a failing store.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// The source of lookups, and the health of the writer.
pub(super) struct SharedState {
    inner: RwLock<Inner>,
    /// True while a change waits or writes fail. Checked before the lock, whose counter all cores would write to.
    is_troubled: AtomicBool,
    outage: Mutex<Outage>,
}

struct Inner {
    generation: Arc<Generation>,
    /// Reason why writes fail, if they do.
    write_error: Option<StoreError>,
    /// Time from which the oldest unacknowledged change has waited, if there is one.
    busy_since: Option<Instant>,
}

/// Logging state of an outage.
#[derive(Default)]
struct Outage {
    /// Failed requests since the last log line.
    failures: u64,
    logged_at: Option<Instant>,
    /// True if the outage was logged, but not its end.
    is_announced: bool,
}

impl SharedState {
    pub(super) fn new(generation: Arc<Generation>) -> Self {
        Self {
            inner: RwLock::new(Inner {
                generation,
                write_error: None,
                busy_since: None,
            }),
            is_troubled: AtomicBool::new(false),
            outage: Mutex::default(),
        }
    }

    /// True unless changes are known to fail.
    pub(super) fn is_sound(&self) -> bool {
        self.inner.read().write_error.is_none()
    }

    /// Fails if changes fail or would wait long.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if !self.is_troubled.load(Relaxed) {
            return Ok(());
        }
        let inner = self.inner.read();
        match (&inner.write_error, inner.busy_since) {
            (Some(error), _) => Err(error.clone()),
            (None, Some(since)) if since.elapsed() >= BUSY_AFTER => Err(StoreError::Overloaded),
            (None, _) => Ok(()),
        }
    }

    pub(super) fn set_busy_since(&self, busy_since: Option<Instant>) {
        let mut inner = self.inner.write();
        inner.busy_since = busy_since;
        self.update_is_troubled(&inner);
    }

    fn update_is_troubled(&self, inner: &Inner) {
        let is_troubled = inner.write_error.is_some() || inner.busy_since.is_some();
        self.is_troubled.store(is_troubled, Relaxed);
    }

    /// The running generation.
    pub(super) fn generation(&self) -> Arc<Generation> {
        Arc::clone(&self.inner.read().generation)
    }

    pub(super) fn set_generation(&self, generation: Arc<Generation>) {
        self.inner.write().generation = generation;
    }

    /// Sets the reason why writes fail, or that they succeed.
    pub(super) fn set_write_error(&self, write_error: Option<StoreError>) {
        let mut inner = self.inner.write();
        let before = std::mem::replace(&mut inner.write_error, write_error);
        self.update_is_troubled(&inner);
        // Logged at once, because the operator has to act.
        if let Some(reason @ StoreError::Displaced(_)) = &inner.write_error
            && !matches!(before, Some(StoreError::Displaced(_)))
        {
            tracing::error!(%reason, "the store is not writable");
        }
        drop(inner);
        if before.is_some() && self.is_sound() {
            let mut outage = self.outage.lock();
            if std::mem::take(&mut outage.is_announced) {
                let failures = std::mem::take(&mut outage.failures);
                tracing::info!(store.failures = failures, "the store works again");
            }
        }
    }

    /// Counts a request that failed with `error`. Logs failures once a minute.
    pub(super) fn count_failure(&self, error: &StoreError) {
        let mut outage = self.outage.lock();
        outage.failures += 1;
        let is_due = |at: Instant| at.elapsed() >= WARNING_INTERVAL;
        if outage.logged_at.is_none_or(is_due) {
            let failures = outage.failures;
            tracing::warn!(%error, store.failures = failures, "requests fail because of the store");
            *outage = Outage {
                failures: 0,
                logged_at: Some(Instant::now()),
                is_announced: true,
            };
        }
    }

    /// The error for a dropped change.
    pub(super) fn unavailable(&self) -> StoreError {
        let write_error = self.inner.read().write_error.clone();
        write_error.unwrap_or_else(|| StoreError::Unavailable("the change was dropped".to_owned()))
    }
}

hidden!(SharedState);
