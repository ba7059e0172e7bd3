//! Blocked networks in a map.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Mutex;

use async_trait::async_trait;

use landing_api::domain::blocked_network::{Block, BlockedAddresses, BlockedNetwork};
use landing_api::domain::time::Timestamp;
use landing_api::ports::{BlockList, StoreError};

use super::fault::Fault;
use super::lock;

/// Blocked networks in a map, none of which a flag names. It can be set to fail.
#[derive(Debug, Default)]
pub(crate) struct MemoryBlockList {
    networks: Mutex<BTreeMap<BlockedNetwork, Timestamp>>,
    fault: Fault,
}

impl MemoryBlockList {
    /// From now on every change fails with `failure`, or works again.
    pub(crate) fn fail_with(&self, failure: Option<StoreError>) {
        self.fault.set(failure);
    }
}

#[async_trait]
impl BlockList for MemoryBlockList {
    fn is_blocked(&self, address: IpAddr) -> bool {
        let networks = lock(&self.networks);
        let addresses: BlockedAddresses = networks.keys().copied().collect();
        addresses.contains(address)
    }

    fn list(&self) -> Vec<Block> {
        let networks = lock(&self.networks).clone();
        let block = |(network, since)| Block { network, since };
        networks.into_iter().map(block).collect()
    }

    async fn add(&self, network: BlockedNetwork, now: Timestamp) -> Result<bool, StoreError> {
        self.fault.check()?;
        let mut networks = lock(&self.networks);
        let known = networks.len();
        networks.entry(network).or_insert(now);
        Ok(networks.len() > known)
    }

    async fn remove(&self, network: BlockedNetwork) -> Result<bool, StoreError> {
        self.fault.check()?;
        Ok(lock(&self.networks).remove(&network).is_some())
    }
}
