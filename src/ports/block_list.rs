//! The networks that the operator has blocked.

use std::net::IpAddr;

use async_trait::async_trait;

use crate::domain::{Block, BlockedNetwork, Timestamp};

use super::StoreError;

/// Keeps the networks whose requests are refused. Those that flags name are always among them.
#[async_trait]
pub trait BlockList: Send + Sync {
    /// Whether requests from `address` are refused, which is asked of each request.
    fn is_blocked(&self, address: IpAddr) -> bool;

    /// The networks, each once, in their order.
    fn list(&self) -> Vec<Block>;

    /// Blocks a network durably, from now on. Returns whether it is new.
    async fn add(&self, network: BlockedNetwork, now: Timestamp) -> Result<bool, StoreError>;

    /// Blocks a network that was added no longer, durably. Returns whether it had been added.
    async fn remove(&self, network: BlockedNetwork) -> Result<bool, StoreError>;
}
