//! A store in memory has no files.

use async_trait::async_trait;

use landing_api::ports::{Compaction, StoreError, StoreMaintenance};

/// Does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemoryStoreMaintenance;

#[async_trait]
impl StoreMaintenance for MemoryStoreMaintenance {
    async fn compact(&self) -> Result<Compaction, StoreError> {
        Ok(Compaction::default())
    }
}
