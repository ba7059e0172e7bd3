//! Looking after the store as a whole.

use async_trait::async_trait;

use super::StoreError;

/// What an operator has done with the store as a whole, or asks of it, while it serves.
#[async_trait]
pub trait StoreMaintenance: Send + Sync {
    /// Removes what no longer counts from the store's files. Changes wait meanwhile.
    async fn compact(&self) -> Result<Compaction, StoreError>;

    /// Erases contacts that refused or expired from the store's files.
    async fn finish_erasures(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// How many nodes of the service work on the store, as far as it can tell them apart. None if it cannot, or
    /// if only one can work on it.
    async fn nodes(&self) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    pub entries_before: u64,
    pub entries_after: u64,
    /// Size before, in bytes.
    pub bytes_before: u64,
    /// Size after, in bytes.
    pub bytes_after: u64,
}
