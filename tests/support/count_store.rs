//! Hourly counts in a map.

use async_trait::async_trait;

use landing_api::domain::hourly_counts::{Counts, Hour, HourlyCounts, KEPT_HOURS};
use landing_api::ports::{CountStore, StoreError};

use super::fault::Faulty;

pub(crate) type MemoryCountStore = Faulty<HourlyCounts>;

#[async_trait]
impl CountStore for MemoryCountStore {
    async fn add(&self, hour: Hour, counts: &Counts) -> Result<(), StoreError> {
        let mut hours = self.get()?;
        hours.entry(hour).or_default().add_all(counts);
        hours.retain(|kept, _| *kept > hour.minus(KEPT_HOURS));
        Ok(())
    }

    async fn list(&self, since: Hour, until: Hour) -> Result<HourlyCounts, StoreError> {
        let mut hours = self.get()?.clone();
        hours.retain(|hour, _| (since..until).contains(hour));
        Ok(hours)
    }
}
