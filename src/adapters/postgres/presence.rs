//! Whether the database answers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::adapters::mutex::lock;
use crate::metrics::Metrics;
use crate::ports::StoreError;

/// How long the database may be away before health says so. A planned fail-over takes less.
const PATIENCE: Duration = Duration::from_secs(10);

/// Since when the database has been away. A change is logged once.
#[derive(Debug)]
pub(super) struct Presence {
    metrics: Arc<Metrics>,
    lost: Mutex<Option<Instant>>,
}

impl Presence {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            metrics,
            lost: Mutex::default(),
        }
    }

    /// The connection was lost. A new one may be there in a moment.
    pub(super) fn set_lost(&self) {
        lock(&self.lost).get_or_insert_with(Instant::now);
    }

    /// There is no new one.
    pub(super) fn set_away(&self, reason: &str) {
        self.set_lost();
        if self.metrics.store_engine.set_away(true) {
            tracing::warn!(
                reason,
                "the database is away: sign-ups and new keys are refused until it is back"
            );
        }
    }

    /// The database takes writes.
    pub(super) fn set_back(&self) {
        let lost = lock(&self.lost).take();
        if self.metrics.store_engine.set_away(false) {
            let away_ms = lost.map(|lost| lost.elapsed().as_millis());
            tracing::info!(away_ms, "the database is back");
        }
    }

    pub(super) fn check(&self) -> Result<(), StoreError> {
        let away = lock(&self.lost).map(|lost| lost.elapsed());
        match away.filter(|away| *away >= PATIENCE) {
            Some(away) => {
                let text = format!("the database has been away for {} s", away.as_secs());
                Err(StoreError::Unavailable(text))
            }
            None => Ok(()),
        }
    }
}
