//! The networks that the operator has blocked.

use std::net::IpAddr;

use async_trait::async_trait;

use crate::domain::{Block, BlockedNetwork, Timestamp};

use super::StoreError;

/// Stores the networks whose requests are refused. Those named by flags are always included.
#[async_trait]
pub trait BlockList: Send + Sync {
    /// True if requests from `address` are refused. Called for every request.
    fn is_blocked(&self, address: IpAddr) -> bool;

    /// The networks, sorted, each once.
    fn list(&self) -> Vec<Block>;

    /// Blocks a network durably, effective at once. Returns whether it is new.
    async fn add(&self, network: BlockedNetwork, now: Timestamp) -> Result<bool, StoreError>;

    /// Removes a block durably. Returns whether it existed; blocks named by flags stay.
    async fn remove(&self, network: BlockedNetwork) -> Result<bool, StoreError>;
}
