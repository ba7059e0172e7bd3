//! A store in memory has no files.

use async_trait::async_trait;

use crate::ports::{Compaction, StoreError, StoreMaintenance};

use super::fault::Fault;

/// Does nothing. It can be set to fail.
#[derive(Debug, Default)]
pub struct MemoryStoreMaintenance {
    fault: Fault,
}

impl MemoryStoreMaintenance {
    /// From now on every call fails with `failure`, or works again.
    pub fn fail_with(&self, failure: Option<StoreError>) {
        self.fault.set(failure);
    }
}

#[async_trait]
impl StoreMaintenance for MemoryStoreMaintenance {
    async fn compact(&self) -> Result<Compaction, StoreError> {
        self.fault.check()?;
        Ok(Compaction::default())
    }
}
