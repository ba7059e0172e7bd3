//! Log lines about requests and connections: the maximum rate of those that nothing else limits, and their durations.

use std::mem;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A duration in milliseconds, to the microsecond.
pub(super) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// Allows so many log lines in an interval, and counts the events without one.
#[derive(Debug)]
pub(crate) struct LogThrottle {
    lines_max: u32,
    interval: Duration,
    current: Mutex<Interval>,
}

#[derive(Debug, Default)]
struct Interval {
    began: Option<Instant>,
    lines: u32,
    /// Events without a line since the newest line.
    suppressed: u64,
}

impl LogThrottle {
    /// For what anybody can cause with a connection.
    pub(crate) fn one_a_minute() -> Self {
        Self::new(1, Duration::from_secs(60))
    }

    pub(crate) fn new(lines_max: u32, interval: Duration) -> Self {
        Self {
            lines_max,
            interval,
            current: Mutex::default(),
        }
    }

    /// Counts an event. If it may have a line, returns the number of events before it that had none.
    pub(crate) fn admit(&self) -> Option<u64> {
        let now = Instant::now();
        let current = &mut *self.current.lock();
        let is_over = |began| now - began >= self.interval;
        if current.began.is_none_or(is_over) {
            current.began = Some(now);
            current.lines = 0;
        }
        if current.lines == self.lines_max {
            current.suppressed += 1;
            return None;
        }
        current.lines += 1;
        Some(mem::take(&mut current.suppressed))
    }
}
