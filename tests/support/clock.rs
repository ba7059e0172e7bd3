//! A clock for tests.

use std::sync::atomic::{AtomicU64, Ordering};

use landing_api::domain::time::Timestamp;
use landing_api::ports::Clock;

/// A clock that is set by hand.
#[derive(Debug)]
pub(crate) struct ManualClock(AtomicU64);

impl ManualClock {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self(AtomicU64::new(now.as_ms()))
    }

    /// Sets it forward.
    pub(crate) fn advance_ms(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets it forward or back.
    pub(crate) fn set(&self, now: Timestamp) {
        self.0.store(now.as_ms(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::SeqCst))
    }
}
