//! A clock that stands still.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::domain::time::Timestamp;
use crate::ports::Clock;

/// A clock that moves only when told to.
#[derive(Debug)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that stands at `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self(AtomicU64::new(now.as_ms()))
    }

    /// Moves forward.
    pub fn advance_ms(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Moves anywhere, back too.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_ms(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::SeqCst))
    }
}
