//! Stores for the operator: blocked networks, hourly counts, unanswered questions, and maintenance.

use std::net::IpAddr;

use async_trait::async_trait;

use crate::domain::{Block, BlockedNetwork, Counts, Hour, HourlyCounts, Question, Timestamp};

use super::StoreError;

/// Stores the networks whose requests are refused.
#[async_trait]
pub trait BlockList: Send + Sync {
    /// True if requests from `address` are refused. Called for every request, so it is answered from
    /// memory.
    fn is_blocked(&self, address: IpAddr) -> bool;

    /// The networks, sorted, each once.
    fn list(&self) -> Vec<Block>;

    /// Blocks a network durably, effective at once. Returns whether it is new.
    async fn add(&self, network: BlockedNetwork, now: Timestamp) -> Result<bool, StoreError>;

    /// Removes a block durably. Returns whether it existed.
    async fn remove(&self, network: BlockedNetwork) -> Result<bool, StoreError>;
}

/// Stores hourly counts for [`crate::domain::hourly_counts::KEPT_HOURS`].
#[async_trait]
pub trait CountStore: Send + Sync {
    /// Adds to the counts of an hour durably. Hours outside the retention before it may be dropped.
    async fn add(&self, hour: Hour, counts: &Counts) -> Result<(), StoreError>;

    /// The hours from `since` to before `until`.
    async fn list(&self, since: Hour, until: Hour) -> Result<HourlyCounts, StoreError>;
}

/// Stores the questions that the assistant could not answer, if the operator wants that.
#[async_trait]
pub trait QuestionStore: Send + Sync {
    /// Adds a question, without waiting. One with the same text in the same hour is dropped.
    fn add(&self, question: Question);

    /// The questions, oldest first.
    fn list(&self) -> Vec<Question>;

    /// Stores durably what was added, and erases what has expired: everything if no question is to be stored.
    async fn save(&self, now: Timestamp) -> Result<(), StoreError>;
}

/// Operations on the store as a whole, while it serves.
#[async_trait]
pub trait StoreMaintenance: Send + Sync {
    /// Removes obsolete data from the store's files. Changes wait meanwhile.
    async fn compact(&self) -> Result<Compaction, StoreError>;

    /// Erases contacts that refused or expired from the store's files.
    async fn finish_erasures(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Deletes keys and revocations that expired long ago. By default nothing: a compaction drops them.
    async fn drop_expired(&self) -> Result<(), StoreError> {
        Ok(())
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
