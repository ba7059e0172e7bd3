//! Whether the database answers.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::metrics::Metrics;
use crate::ports::StoreError;

/// How long the database may be away before health says so. A planned fail-over takes less.
const PATIENCE: Duration = Duration::from_secs(10);

/// Since when the database has been away. A change is logged once.
#[derive(Debug)]
pub(super) struct Availability {
    metrics: Arc<Metrics>,
    lost_at: Mutex<Option<Instant>>,
}

impl Availability {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            metrics,
            lost_at: Mutex::default(),
        }
    }

    /// The connection was lost. A new one may be there in a moment.
    pub(super) fn lost(&self) {
        self.lost_at.lock().get_or_insert_with(Instant::now);
    }

    /// There is no new one.
    pub(super) fn unavailable(&self, reason: &str) {
        self.lost();
        if self.metrics.store_engine.set_away(true) {
            tracing::warn!(
                reason,
                "the database is away: sign-ups and new keys are refused until it is back"
            );
        }
    }

    /// The database takes writes.
    pub(super) fn restored(&self) {
        let lost_at = self.lost_at.lock().take();
        if self.metrics.store_engine.set_away(false) {
            let away_ms = lost_at.map(|it| it.elapsed().as_millis());
            tracing::info!(away_ms, "the database is back");
        }
    }

    pub(super) fn check(&self) -> Result<(), StoreError> {
        let away = self.lost_at.lock().map(|it| it.elapsed());
        match away.filter(|away| *away >= PATIENCE) {
            Some(away) => {
                let text = format!("the database has been away for {} s", away.as_secs());
                Err(StoreError::Unavailable(text))
            }
            None => Ok(()),
        }
    }
}
