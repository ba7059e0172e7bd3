//! [`BlockList`] over a file in the data directory. Each line is a network and the time when it was blocked:
//!
//! ```text
//! {"network":"192.0.2.0/24","since":"2026-11-25T16:02:11.000Z"}
//! ```

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::domain::{Block, BlockedAddresses, BlockedNetwork, Timestamp};
use crate::ports::{BlockList, StoreError};

use crate::adapters::files::OpenError;
use crate::adapters::files::small_file::{SmallFile, json_lines, read_lines};

/// Largest file that is read: about ten times as many networks as the operator may block.
pub(crate) const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Blocked networks, in a file.
#[derive(Debug)]
pub struct FileBlockList {
    /// True once anything was blocked. Checked before the lock, whose counter all cores would write to.
    has_blocks: Arc<AtomicBool>,
    blocks: Arc<SmallFile<Blocks>>,
}

#[derive(Clone, Debug, Default)]
struct Blocks {
    added: BTreeMap<BlockedNetwork, Timestamp>,
    addresses: BlockedAddresses,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockLine {
    network: String,
    since: String,
}

impl FileBlockList {
    /// The networks in the file at `path`, which is created when one is added.
    ///
    /// # Errors
    /// [`OpenError::Io`] when the file exists but cannot be read completely: skipping a block would let in a
    /// network that the operator has blocked.
    pub fn open(path: Option<PathBuf>) -> Result<Self, OpenError> {
        let added = match &path {
            Some(path) => read_lines(path, FILE_BYTES_MAX, "a blocked network", parse)
                .map_err(OpenError::io("read", path))?,
            None => Vec::new(),
        };
        let mut blocks = Blocks {
            added: added.into_iter().collect(),
            addresses: BlockedAddresses::default(),
        };
        blocks.unite();
        Ok(Self {
            has_blocks: Arc::new(AtomicBool::new(!blocks.addresses.is_empty())),
            blocks: SmallFile::new("blocks", path, blocks, Blocks::to_lines),
        })
    }

    async fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<BlockedNetwork, Timestamp>) -> bool + Send + 'static,
    ) -> Result<bool, StoreError> {
        let has_blocks = Arc::clone(&self.has_blocks);
        let changed = self.blocks.change(move |blocks| {
            let is_changed = change(&mut blocks.added);
            blocks.unite();
            has_blocks.fetch_or(!blocks.addresses.is_empty(), Relaxed);
            is_changed
        });
        changed.await
    }
}

#[async_trait]
impl BlockList for FileBlockList {
    fn is_blocked(&self, address: IpAddr) -> bool {
        self.has_blocks.load(Relaxed) && self.blocks.read().addresses.contains(address)
    }

    fn list(&self) -> Vec<Block> {
        let added = self.blocks.read().added.clone().into_iter();
        added
            .map(|(network, since)| Block { network, since })
            .collect()
    }

    async fn add(&self, network: BlockedNetwork, now: Timestamp) -> Result<bool, StoreError> {
        self.change(move |added| {
            let is_new = !added.contains_key(&network);
            added.entry(network).or_insert(now);
            is_new
        })
        .await
    }

    async fn remove(&self, network: BlockedNetwork) -> Result<bool, StoreError> {
        self.change(move |added| added.remove(&network).is_some())
            .await
    }
}

impl Blocks {
    fn unite(&mut self) {
        self.addresses = self.added.keys().copied().collect();
    }

    fn to_lines(&self) -> io::Result<String> {
        json_lines(self.added.iter().map(|(network, since)| BlockLine {
            network: network.to_string(),
            since: since.to_rfc3339(),
        }))
    }
}

fn parse(line: &str) -> Option<(BlockedNetwork, Timestamp)> {
    let line: BlockLine = serde_json::from_str(line).ok()?;
    let network = BlockedNetwork::parse(&line.network).ok()?;
    Some((network, Timestamp::parse(&line.since)?))
}
