//! The health of the writer, for callers, for health checks and for the log.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::ports::StoreError;

/// Time after which a store is busy if its writer is still working on a change, or has let one wait.
const BUSY_AFTER: Duration = Duration::from_secs(2);

/// Shortest time between two log lines about a failing store.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Writes that fail or hang, and the requests that fail because of them.
#[derive(Debug, Default)]
pub(super) struct WriterHealth {
    health: Mutex<Health>,
    /// True while a change waits or writes fail. Checked before the lock, which all cores would write to.
    is_troubled: AtomicBool,
}

#[derive(Debug, Default)]
struct Health {
    /// Reason why writes fail, if they do.
    write_error: Option<StoreError>,
    /// Time from which the oldest unacknowledged change has waited, if there is one.
    busy_since: Option<Instant>,
    /// Failed requests since the last log line.
    failures: u64,
    logged_at: Option<Instant>,
    /// True if the outage was logged, but not its end.
    is_announced: bool,
}

impl WriterHealth {
    /// True unless changes are known to fail.
    pub(super) fn is_sound(&self) -> bool {
        self.health.lock().write_error.is_none()
    }

    /// Fails if changes fail or would wait long.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if !self.is_troubled.load(Relaxed) {
            return Ok(());
        }
        let health = self.health.lock();
        match (&health.write_error, health.busy_since) {
            (Some(error), _) => Err(error.clone()),
            (None, Some(since)) if since.elapsed() >= BUSY_AFTER => Err(StoreError::Overloaded),
            (None, _) => Ok(()),
        }
    }

    pub(super) fn set_busy_since(&self, busy_since: Option<Instant>) {
        self.update(|health| health.busy_since = busy_since);
    }

    /// Sets the reason why writes fail, or that they succeed.
    pub(super) fn set_write_error(&self, write_error: Option<StoreError>) {
        self.update(|health| {
            let before = std::mem::replace(&mut health.write_error, write_error);
            match &health.write_error {
                // Logged at once, because the operator has to act.
                Some(reason @ StoreError::Displaced(_))
                    if !matches!(before, Some(StoreError::Displaced(_))) =>
                {
                    tracing::error!(%reason, "the store is not writable");
                }
                None if before.is_some() && health.is_announced => {
                    let failures = std::mem::take(&mut health.failures);
                    health.is_announced = false;
                    tracing::info!(store.failures = failures, "the store works again");
                }
                _ => {}
            }
        });
    }

    fn update(&self, change: impl FnOnce(&mut Health)) {
        let mut health = self.health.lock();
        change(&mut health);
        let is_troubled = health.write_error.is_some() || health.busy_since.is_some();
        self.is_troubled.store(is_troubled, Relaxed);
    }

    /// Counts a request that failed with `error`. Logs failures once a minute.
    pub(super) fn count_failure(&self, error: &StoreError) {
        let mut health = self.health.lock();
        health.failures += 1;
        let is_due = |at: Instant| at.elapsed() >= WARNING_INTERVAL;
        if health.logged_at.is_none_or(is_due) {
            let failures = std::mem::take(&mut health.failures);
            tracing::warn!(%error, store.failures = failures, "requests fail because of the store");
            health.logged_at = Some(Instant::now());
            health.is_announced = true;
        }
    }

    /// The error for a dropped change.
    pub(super) fn unavailable(&self) -> StoreError {
        let write_error = self.health.lock().write_error.clone();
        write_error.unwrap_or_else(|| StoreError::Unavailable("the change was dropped".to_owned()))
    }
}
