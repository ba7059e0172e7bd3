//! [`BlockList`] over a file in the data directory, rewritten as a whole at each change. Its first line counts
//! the others, so that a lost one is noticed; each of them is a network and the time when it was blocked:
//!
//! ```text
//! 1
//! {"network":"192.0.2.0/24","since":"2026-11-25T16:02:11.000Z"}
//! ```

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use crate::domain::{Block, BlockedAddresses, BlockedNetwork, Timestamp};
use crate::ports::{BlockList, StoreError};

use crate::adapters::files::open_error::OpenError;
use crate::adapters::files::{SystemFiles, json_lines, read_small, store_error, write_whole};

/// Largest file that is read: about ten times as many networks as the operator may block.
pub(crate) const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Blocked networks: those named by flags, and those in a file.
#[derive(Debug, Default)]
pub struct FileBlockList(Arc<BlockFile>);

#[derive(Debug, Default)]
struct BlockFile {
    /// Without a path nothing can be added.
    path: Option<PathBuf>,
    of_flags: Vec<BlockedNetwork>,
    /// True if anything is blocked. Checked before the lock, whose counter all cores would write to.
    has_blocks: AtomicBool,
    blocks: RwLock<Blocks>,
    /// Held while the file is written.
    writing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Blocks {
    added: BTreeMap<BlockedNetwork, Timestamp>,
    /// Networks from flags and added ones.
    addresses: BlockedAddresses,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockLine {
    network: String,
    since: String,
}

impl FileBlockList {
    /// The networks from flags, and those in the file at `path`, which is created when one is added.
    ///
    /// # Errors
    /// [`OpenError::Io`] when the file exists but cannot be read completely: skipping a block would let in a
    /// network that the operator has blocked.
    pub fn open(path: Option<PathBuf>, of_flags: Vec<BlockedNetwork>) -> Result<Self, OpenError> {
        let added = match &path {
            Some(path) => read(path).map_err(OpenError::io("read", path))?,
            None => BTreeMap::new(),
        };
        let blocks = Blocks::new(&of_flags, added);
        Ok(Self(Arc::new(BlockFile {
            path,
            of_flags,
            has_blocks: AtomicBool::new(!blocks.addresses.is_empty()),
            blocks: RwLock::new(blocks),
            writing: Mutex::default(),
        })))
    }

    async fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<BlockedNetwork, Timestamp>) -> bool + Send + 'static,
    ) -> Result<bool, StoreError> {
        let file = Arc::clone(&self.0);
        let changed = spawn_blocking(move || file.change(change)).await;
        changed.map_err(|error| StoreError::Unavailable(format!("blocks: {error}")))?
    }
}

#[async_trait]
impl BlockList for FileBlockList {
    fn is_blocked(&self, address: IpAddr) -> bool {
        self.0.has_blocks.load(Relaxed) && self.0.blocks.read().addresses.contains(address)
    }

    fn list(&self) -> Vec<Block> {
        let added = self.0.blocks.read().added.clone();
        let added = added.into_iter().map(|(network, at)| (network, Some(at)));
        let of_flags = self.0.of_flags.iter().map(|network| (*network, None));
        // Flags come last, so that they win: to unblock such a network, its flag must be removed, too.
        let networks: BTreeMap<_, _> = added.chain(of_flags).collect();
        let block = |(network, since)| Block { network, since };
        networks.into_iter().map(block).collect()
    }

    async fn add(&self, network: BlockedNetwork, now: Timestamp) -> Result<bool, StoreError> {
        if self.0.of_flags.contains(&network) {
            return Ok(false);
        }
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

impl BlockFile {
    /// Writes the changed networks to the file, and only then applies them.
    fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<BlockedNetwork, Timestamp>) -> bool,
    ) -> Result<bool, StoreError> {
        let _writing = self.writing.lock();
        let mut added = self.blocks.read().added.clone();
        if !change(&mut added) {
            return Ok(false);
        }
        let Some(path) = &self.path else {
            let missing = "blocks are stored in a data directory: use --data-dir, or start the service with --block";
            return Err(StoreError::Unavailable(missing.to_owned()));
        };
        write(path, &added).map_err(|error| store_error("blocks", &error))?;
        let mut blocks = self.blocks.write();
        *blocks = Blocks::new(&self.of_flags, added);
        self.has_blocks.store(!blocks.addresses.is_empty(), Relaxed);
        Ok(true)
    }
}

impl Blocks {
    fn new(of_flags: &[BlockedNetwork], added: BTreeMap<BlockedNetwork, Timestamp>) -> Self {
        let networks = added.keys().chain(of_flags).copied();
        Self {
            addresses: networks.collect(),
            added,
        }
    }
}

fn read(path: &Path) -> io::Result<BTreeMap<BlockedNetwork, Timestamp>> {
    let Some(text) = read_small(path, FILE_BYTES_MAX)? else {
        return Ok(BTreeMap::new());
    };
    let mut lines = (1..).zip(text.lines()).peekable();
    // Without a count the file was made by the operator.
    let count = lines
        .peek()
        .and_then(|(_, line)| line.parse::<usize>().ok());
    lines.next_if(|_| count.is_some());
    let added: BTreeMap<_, _> = lines
        .map(|(number, line)| {
            parse(line).ok_or_else(|| {
                let bad = format!("line {number} is not a blocked network: correct or remove it");
                io::Error::new(io::ErrorKind::InvalidData, bad)
            })
        })
        .collect::<io::Result<_>>()?;
    let wrong = match count {
        None if text.is_empty() => "it is empty: restore it, or remove it".to_owned(),
        Some(count) if count != added.len() => {
            let found = added.len();
            format!(
                "it has {found} blocked networks, but line 1 counts {count}: restore it, or correct line 1"
            )
        }
        None | Some(_) => return Ok(added),
    };
    Err(io::Error::new(io::ErrorKind::InvalidData, wrong))
}

fn parse(line: &str) -> Option<(BlockedNetwork, Timestamp)> {
    let line: BlockLine = serde_json::from_str(line).ok()?;
    let network = BlockedNetwork::parse(&line.network).ok()?;
    Some((network, Timestamp::parse(&line.since)?))
}

/// Writes the first line, and one line per network.
fn write(path: &Path, added: &BTreeMap<BlockedNetwork, Timestamp>) -> io::Result<()> {
    let lines = added.iter().map(|(network, since)| BlockLine {
        network: network.to_string(),
        since: since.to_rfc3339(),
    });
    let text = format!("{}\n{}", added.len(), json_lines(lines)?);
    write_whole(&SystemFiles, path, text.as_bytes())
}
