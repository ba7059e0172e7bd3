//! Blocked networks in a map.

use std::collections::BTreeMap;
use std::net::IpAddr;

use async_trait::async_trait;

use landing_api::domain::blocked_network::{Block, BlockedAddresses, BlockedNetwork};
use landing_api::domain::time::Timestamp;
use landing_api::ports::{BlockList, StoreError};

use super::fault::Faulty;

/// Blocked networks in a map. Only changes can fail.
pub(crate) type MemoryBlockList = Faulty<BTreeMap<BlockedNetwork, Timestamp>>;

#[async_trait]
impl BlockList for MemoryBlockList {
    fn is_blocked(&self, address: IpAddr) -> bool {
        let addresses: BlockedAddresses = self.kept().keys().copied().collect();
        addresses.contains(address)
    }

    fn list(&self) -> Vec<Block> {
        let block = |(network, since)| Block { network, since };
        self.kept().clone().into_iter().map(block).collect()
    }

    async fn add(&self, network: BlockedNetwork, now: Timestamp) -> Result<bool, StoreError> {
        let mut networks = self.get()?;
        let known = networks.len();
        networks.entry(network).or_insert(now);
        Ok(networks.len() > known)
    }

    async fn remove(&self, network: BlockedNetwork) -> Result<bool, StoreError> {
        Ok(self.get()?.remove(&network).is_some())
    }
}
