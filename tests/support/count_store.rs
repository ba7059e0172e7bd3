//! Hourly counts in a map.

use std::sync::Mutex;

use async_trait::async_trait;

use landing_api::domain::hourly_counts::{Counts, Hour, HourlyCounts, KEPT_HOURS};
use landing_api::ports::{CountStore, StoreError};

use super::fault::Fault;
use super::lock;

/// Hourly counts in a map. It can be set to fail.
#[derive(Debug, Default)]
pub(crate) struct MemoryCountStore {
    hours: Mutex<HourlyCounts>,
    fault: Fault,
}

impl MemoryCountStore {
    /// From now on every call fails with `failure`, or works again.
    pub(crate) fn fail_with(&self, failure: Option<StoreError>) {
        self.fault.set(failure);
    }
}

#[async_trait]
impl CountStore for MemoryCountStore {
    async fn add(&self, hour: Hour, counts: &Counts) -> Result<(), StoreError> {
        self.fault.check()?;
        let mut hours = lock(&self.hours);
        hours.entry(hour).or_default().add_all(counts);
        hours.retain(|kept, _| *kept > hour.minus(KEPT_HOURS));
        Ok(())
    }

    async fn list(&self, since: Hour, until: Hour) -> Result<HourlyCounts, StoreError> {
        self.fault.check()?;
        let mut hours = lock(&self.hours).clone();
        hours.retain(|hour, _| (since..until).contains(hour));
        Ok(hours)
    }
}
