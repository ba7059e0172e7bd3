//! Hourly counts.

use async_trait::async_trait;

use crate::domain::{Counts, Hour, HourlyCounts};

use super::StoreError;

/// Stores hourly counts for [`crate::domain::hourly_counts::KEPT_HOURS`].
#[async_trait]
pub trait CountStore: Send + Sync {
    /// Adds to the counts of an hour durably. Hours outside the retention before it may be dropped.
    async fn add(&self, hour: Hour, counts: &Counts) -> Result<(), StoreError>;

    /// The hours from `since` to before `until` with counts, oldest first.
    async fn list(&self, since: Hour, until: Hour) -> Result<Vec<HourlyCounts>, StoreError>;
}
