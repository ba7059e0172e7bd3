//! Maximum rate of log lines about requests and connections that nothing else limits.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Maximum lines per second about requests that no policy limits, or that are not served.
const LINES_PER_SECOND_MAX: u64 = 1000;

/// Throttles the lines about requests that are refused, free, or not served because a store is unavailable.
/// Lines above the limit are replaced by one line a second with their number.
#[derive(Debug)]
pub(crate) struct LogThrottle {
    began: Instant,
    /// The upper half: the second of the newest line, counted from `began`. The lower half: the lines in
    /// that second.
    current: AtomicU64,
    /// Lines suppressed and not yet reported.
    suppressed: AtomicU64,
}

impl LogThrottle {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            current: AtomicU64::new(0),
            suppressed: AtomicU64::new(0),
        }
    }

    /// True if a line may be written. Counts it in either case.
    pub(crate) fn admit(&self) -> bool {
        let second = self.began.elapsed().as_secs();
        let taken = self.current.fetch_update(Relaxed, Relaxed, |current| {
            if second > current >> 32 {
                Some((second << 32) + 1)
            } else {
                let lines = current & u64::from(u32::MAX);
                (lines < LINES_PER_SECOND_MAX).then_some(current + 1)
            }
        });
        if taken.is_err() {
            self.suppressed.fetch_add(1, Relaxed);
        }
        taken.is_ok()
    }

    /// Reports the lines suppressed in a past second. Called before every line.
    pub(crate) fn report(&self) {
        if self.suppressed.load(Relaxed) > 0
            && self.began.elapsed().as_secs() > self.current.load(Relaxed) >> 32
        {
            self.report_all();
        }
    }

    fn report_all(&self) {
        let count = self.suppressed.swap(0, Relaxed);
        if count > 0 {
            tracing::info!(count, "further requests were refused, free or not served");
        }
    }
}

impl Drop for LogThrottle {
    /// The last suppressed lines may have had no successor.
    fn drop(&mut self) {
        self.report_all();
    }
}

/// Minimum interval between log lines about connections.
const INTERVAL: Duration = Duration::from_secs(60);

/// Allows one log line a minute about events that anybody can cause, and counts them.
#[derive(Debug, Default)]
pub(crate) struct MinuteThrottle {
    /// The events since the last log line, and its time.
    events: Mutex<(u64, Option<Instant>)>,
}

impl MinuteThrottle {
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
