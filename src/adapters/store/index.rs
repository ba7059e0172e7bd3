//! Look-ups over the ledger, in sled. It can be lost at any time: the ledger makes it again.
//!
//! sled 0.34 may panic, or lose entries without a word, when its files are not as it left them, and
//! its flush does not survive a power cut. So an index is trusted only after a clean stop, which
//! syncs the files itself ([`super::marker`]), and whatever sled does here is caught.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::adapters::sled_db::{self, Panicked, guarded};

use super::bucket::{Bucket, BucketId};
use super::draft::Tally;

/// The index's name in the data directory.
pub(super) const INDEX: &str = "index";

const META: &[u8] = b"m";

/// sled's cache. Entries are read from the page cache soon enough.
const CACHE_BYTES: u64 = 16 * 1024 * 1024;

/// Which ledger an index is of, and up to where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    /// The secret whose key spreads the entries.
    pub(super) secret: String,
    /// The ledger's generation.
    pub(super) generation: u64,
    /// The last event that is in the index.
    pub(super) sequence: u64,
    /// What the events up to there add up to.
    pub(super) tally: Tally,
}

/// The index failed. It has to be made again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("index: {0}")]
pub(super) struct IndexError(pub(super) String);

impl From<sled::Error> for IndexError {
    fn from(error: sled::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<io::Error> for IndexError {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<Panicked> for IndexError {
    fn from(panicked: Panicked) -> Self {
        Self(panicked.to_string())
    }
}

/// An open index.
#[derive(Debug)]
pub(super) struct Index {
    db: sled::Db,
    directory: PathBuf,
}

impl Index {
    /// Opens what sled left in `directory`, or begins anew there.
    pub(super) fn open(directory: &Path) -> Result<Self, IndexError> {
        let config = sled::Config::new()
            .path(directory)
            .cache_capacity(CACHE_BYTES)
            // Nothing here needs to survive a crash.
            .flush_every_ms(None);
        let db = guarded::<_, IndexError>(|| Ok(config.open()?))?;
        Ok(Self {
            db,
            directory: directory.to_path_buf(),
        })
    }

    /// Begins an empty index in a directory under `root` that no other uses.
    pub(super) fn fresh(root: &Path) -> Result<Self, IndexError> {
        let mut next: u64 = 1;
        for entry in entries(root)? {
            let number = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            next = next.max(number.map_or(0, |number: u64| number.saturating_add(1)));
        }
        let directory = root.join(next.to_string());
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)?;
        Self::open(&directory)
    }

    /// Where sled keeps it.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn meta(&self) -> Result<Option<Meta>, IndexError> {
        let bytes = guarded::<_, IndexError>(|| Ok(self.db.get(META)?))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// A bucket; empty if it was never written.
    pub(super) fn bucket(&self, id: BucketId) -> Result<Bucket, IndexError> {
        self.with_bucket(id, Bucket::from_bytes)
            .map(Option::unwrap_or_default)
    }

    /// Lets `read` look at a bucket's bytes, if it was ever written.
    pub(super) fn with_bucket<T>(
        &self,
        id: BucketId,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, IndexError> {
        let [first, second] = id;
        let bytes = guarded::<_, IndexError>(|| Ok(self.db.get([b'b', first, second])?))?;
        Ok(bytes.map(|bytes| read(&bytes)))
    }

    /// Writes buckets, and what they are of, in one step.
    pub(super) fn write(
        &self,
        buckets: &BTreeMap<BucketId, Bucket>,
        meta: &Meta,
    ) -> Result<(), IndexError> {
        let mut batch = sled::Batch::default();
        for ([first, second], bucket) in buckets {
            batch.insert(&[b'b', *first, *second], bucket.as_bytes());
        }
        let meta = serde_json::to_vec(meta).map_err(|error| IndexError(error.to_string()))?;
        batch.insert(META, meta);
        guarded(|| Ok(self.db.apply_batch(batch)?))
    }

    /// Closes it so that its files hold everything and nobody writes them any more.
    pub(super) fn close(self) -> Result<PathBuf, IndexError> {
        let Self { db, directory } = self;
        guarded(move || {
            db.flush()?;
            sled_db::close(db, &directory)?;
            Ok(directory)
        })
    }

    /// Gives it up, whatever state it is in.
    pub(super) fn abandon(self) {
        // A failure tells nothing new.
        let _ = guarded(move || {
            drop(self);
            Ok::<_, Panicked>(())
        });
    }
}

/// Removes everything under `root` but `kept`, and that too if it is nothing.
pub(super) fn wipe(root: &Path, kept: Option<&Path>) -> io::Result<()> {
    let Some(kept) = kept else {
        return sled_db::remove(root);
    };
    for entry in entries(root)? {
        let path = entry.path();
        if path != kept {
            sled_db::remove(&path)?;
        }
    }
    Ok(())
}

fn entries(root: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(root) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
