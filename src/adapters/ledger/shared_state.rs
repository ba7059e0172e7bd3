//! What readers share with the writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;

use crate::domain::macros::hidden;
use crate::ports::StoreError;

use super::generation::Generation;

/// A store whose writer has worked on a change, or let one wait, for so long is busy.
const BUSY_AFTER: Duration = Duration::from_secs(2);

/// The shortest time between two log lines about a failing store.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Where look-ups are answered from, and whether changes can be kept.
pub(super) struct SharedState {
    inner: RwLock<Inner>,
    /// True while a change waits or writes fail. Checked before the lock, whose counter all cores would write to.
    is_troubled: AtomicBool,
    outage: Mutex<Outage>,
}

struct Inner {
    generation: Arc<Generation>,
    /// Why writes fail, if they do.
    write_error: Option<StoreError>,
    /// Since when the oldest change waits that is not answered, if any is.
    busy_since: Option<Instant>,
}

/// What is logged about an outage.
#[derive(Default)]
struct Outage {
    /// Requests that failed since the last log line.
    failures: u64,
    logged_at: Option<Instant>,
    /// Whether the outage was logged and its end was not.
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

    /// Whether changes can be kept, as far as is known.
    pub(super) fn is_sound(&self) -> bool {
        self.inner.read().write_error.is_none()
    }

    /// Whether changes can be kept, and soon.
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

    /// Sets why writes fail, or that they work.
    pub(super) fn set_write_error(&self, write_error: Option<StoreError>) {
        let mut inner = self.inner.write();
        let before = std::mem::replace(&mut inner.write_error, write_error);
        self.update_is_troubled(&inner);
        // Logged at once, because the operator has to act.
        if let Some(reason @ StoreError::Displaced(_)) = &inner.write_error
            && !matches!(before, Some(StoreError::Displaced(_)))
        {
            tracing::error!(%reason, "the store takes no writes");
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
            tracing::warn!(%error, store.failures = failures, "requests fail for the store");
            *outage = Outage {
                failures: 0,
                logged_at: Some(Instant::now()),
                is_announced: true,
            };
        }
    }

    /// The error when a change was given up.
    pub(super) fn unavailable(&self) -> StoreError {
        let write_error = self.inner.read().write_error.clone();
        write_error.unwrap_or_else(|| StoreError::Unavailable("the change was given up".to_owned()))
    }
}

hidden!(SharedState);
