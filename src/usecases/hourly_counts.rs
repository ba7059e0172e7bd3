//! What happened in the last hours, for the operator.

use crate::domain::hourly_counts::{Counts, Hour, HourlyCounts};
use crate::domain::time::Timestamp;
use crate::metrics::Metrics;
use crate::ports::{CountStore, StoreError};

/// The hours from `since` to `now` in which something was counted, oldest first, with what happened in the
/// last minute, which is not kept yet.
///
/// # Errors
/// [`StoreError`] when they cannot be read.
pub async fn list(
    counts: &dyn CountStore,
    metrics: &Metrics,
    since: Hour,
    now: Timestamp,
) -> Result<Vec<HourlyCounts>, StoreError> {
    let hour = Hour::of(now);
    let mut hours = counts.list(since, hour.next()).await?;
    let new = metrics.not_yet_counted();
    match hours.last_mut() {
        Some(last) if last.hour == hour => last.counts.add_all(&new),
        Some(_) | None if new == Counts::default() => {}
        Some(_) | None => hours.push(HourlyCounts { hour, counts: new }),
    }
    Ok(hours)
}
