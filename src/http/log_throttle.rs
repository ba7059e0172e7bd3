//! Maximum rate of log lines about requests and connections that nothing else limits.

use std::mem;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Maximum lines per second about requests that no policy limits, or that are not served.
const LINES_PER_SECOND_MAX: u64 = 1000;

/// Throttles the lines about requests that are refused, free, or not served because a store is unavailable.
/// Lines above the limit are replaced by one line with their number, before the first of a later second.
#[derive(Debug)]
pub(crate) struct LogThrottle {
    began: Instant,
    current: Mutex<Lines>,
}

/// The lines of a second, counted from `began`.
#[derive(Debug, Default)]
struct Lines {
    second: u64,
    /// Those written and those suppressed.
    count: u64,
}

impl LogThrottle {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            current: Mutex::default(),
        }
    }

    /// True if a line may be written. Counts it in either case.
    pub(crate) fn admit(&self) -> bool {
        let second = self.began.elapsed().as_secs();
        let mut current = self.current.lock();
        if second > current.second {
            current.report();
            *current = Lines { second, count: 0 };
        }
        current.count += 1;
        current.count <= LINES_PER_SECOND_MAX
    }
}

impl Lines {
    /// Reports the suppressed lines.
    fn report(&self) {
        let count = self.count.saturating_sub(LINES_PER_SECOND_MAX);
        if count > 0 {
            tracing::info!(count, "further requests were refused, free or not served");
        }
    }
}

impl Drop for LogThrottle {
    /// The last suppressed lines may have had no successor.
    fn drop(&mut self) {
        self.current.get_mut().report();
    }
}

/// Minimum interval between log lines about connections.
const INTERVAL: Duration = Duration::from_secs(60);

/// Events of which at most one a minute is logged, because anybody can cause them.
#[derive(Debug, Default)]
pub(crate) struct Unlogged {
    /// The events since the last log line, and its time.
    events: Mutex<(u64, Option<Instant>)>,
}

impl Unlogged {
    /// Counts an event. Returns the number since the last log line, if another one is due.
    pub(crate) fn count(&self) -> Option<u64> {
        let (count, logged_at) = &mut *self.events.lock();
        *count += 1;
        if logged_at.is_some_and(|at| at.elapsed() < INTERVAL) {
            return None;
        }
        *logged_at = Some(Instant::now());
        Some(mem::take(count))
    }
}
