//! Maintenance of the store as a whole.

use async_trait::async_trait;

use super::StoreError;

/// Operations on the store as a whole, while it serves.
#[async_trait]
pub trait StoreMaintenance: Send + Sync {
    /// Removes obsolete data from the store's files. Changes wait meanwhile.
    async fn compact(&self) -> Result<Compaction, StoreError>;

    /// Erases contacts that refused or expired from the store's files.
    async fn finish_erasures(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Number of the service's nodes that use the store, as far as it can tell them apart. None if it cannot,
    /// or if only one node can use it.
    async fn nodes(&self) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }
}

/// The result of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    pub entries_before: u64,
    pub entries_after: u64,
    /// Size before, in bytes.
    pub bytes_before: u64,
    /// Size after, in bytes.
    pub bytes_after: u64,
}
