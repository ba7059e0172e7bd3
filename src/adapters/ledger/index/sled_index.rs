//! The index in sled.
//!
//! sled 0.34 may panic, or lose entries silently, when its files are not as it left them, and its
//! flush does not survive a power cut. So an index is trusted only after a clean stop, which syncs
//! and checksums the files itself ([`super::clean_stop`]), and every panic of sled is caught. After
//! an error the index is given up and made again from the record.
//!
//! Identities are kept in buckets because sled spends some 6 us on each entry of a bulk load,
//! whatever its size: a million contacts with an entry each take 6 s to load, in 131,072 buckets 1 s.
//! Up to that number of contacts most buckets hold one.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::files::{PRIVATE_DIRECTORY, is_full};
use crate::adapters::ledger::record::{Entry, Event, Identity, Kept};
use crate::adapters::sled_db::{self, Panicked, guarded};
use crate::domain::secret::MacKey;
use crate::ports::StoreError;

use super::bucket;

/// sled's cache. The page cache of the operating system is behind it.
const CACHE_BYTES: u64 = 8 * 1024 * 1024;

/// The index failed. It has to be made again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("index: {reason}")]
pub(crate) struct IndexError {
    reason: String,
    /// Whether the cause is a full disk.
    is_full: bool,
}

impl IndexError {
    pub(crate) fn new(reason: impl ToString) -> Self {
        Self {
            reason: reason.to_string(),
            is_full: false,
        }
    }
}

impl From<io::Error> for IndexError {
    fn from(error: io::Error) -> Self {
        Self {
            is_full: is_full(&error),
            ..Self::new(error)
        }
    }
}

impl From<sled::Error> for IndexError {
    fn from(error: sled::Error) -> Self {
        Self {
            is_full: matches!(&error, sled::Error::Io(error) if is_full(error)),
            ..Self::new(error)
        }
    }
}

impl From<Panicked> for IndexError {
    fn from(panicked: Panicked) -> Self {
        Self::new(panicked)
    }
}

impl From<IndexError> for StoreError {
    fn from(error: IndexError) -> Self {
        match error.is_full {
            true => Self::Full(error.to_string()),
            false => Self::Unavailable(error.to_string()),
        }
    }
}

/// Runs sled, and makes an error of a panic.
fn run<T>(work: impl FnOnce() -> sled::Result<T>) -> Result<T, IndexError> {
    guarded(|| Ok(work()?))
}

/// Which bucket an identity is in: 17 bits of a hash.
pub(crate) type BucketId = [u8; 3];

/// An open index.
#[derive(Debug)]
pub(crate) struct Index {
    db: sled::Db,
    directory: PathBuf,
    /// Keyed, so that nobody can choose addresses that all fall into one bucket.
    hash_key: MacKey,
}

impl Index {
    /// Opens the index that was closed in `directory`.
    pub(crate) fn open(directory: &Path, hash_key: &MacKey) -> Result<Arc<Self>, IndexError> {
        let config = sled::Config::new()
            .path(directory)
            .cache_capacity(CACHE_BYTES)
            // An index that was not closed is never opened again.
            .flush_every_ms(None);
        Ok(Arc::new(Self {
            db: run(|| config.open())?,
            directory: directory.to_path_buf(),
            hash_key: hash_key.clone(),
        }))
    }

    /// Creates an empty index in a new directory under `root`.
    pub(super) fn create(root: &Path, hash_key: &MacKey) -> Result<Arc<Self>, IndexError> {
        let directory = (1_u32..)
            .map(|number| root.join(number.to_string()))
            .find(|directory| directory.symlink_metadata().is_err())
            .ok_or_else(|| IndexError::new("no directory is free"))?;
        DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE_DIRECTORY)
            .create(&directory)?;
        Self::open(&directory, hash_key)
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// What is kept of `identity`, as JSON.
    pub(crate) fn find(&self, identity: &Identity) -> Result<Option<Kept<Box<[u8]>>>, IndexError> {
        let bucket = self.bucket(self.bucket_id(identity))?;
        Ok(bucket.and_then(|bucket| find(&bucket, identity)))
    }

    /// What is kept of `identity`.
    pub(crate) fn find_events(
        &self,
        identity: &Identity,
    ) -> Result<Option<Kept<Event>>, IndexError> {
        self.find(identity)?.map(|kept| events(&kept)).transpose()
    }

    /// Folds `entries` into what is kept of their identities, in order.
    pub(crate) fn apply(&self, entries: Vec<Entry>) -> Result<(), IndexError> {
        let mut entries: Vec<_> = entries
            .into_iter()
            .map(|entry| (self.bucket_id(&entry.identity), entry))
            .collect();
        // Stable: the events of an identity keep their order.
        entries.sort_by(|(a, one), (b, other)| {
            a.cmp(b).then_with(|| one.identity.cmp(&other.identity))
        });
        let mut entries = entries.into_iter().peekable();
        while let Some((id, entry)) = entries.next() {
            let mut bucket = self.bucket(id)?.map_or_else(Vec::new, |it| it.to_vec());
            let mut next = Some(entry);
            while let Some(entry) = next {
                let identity = entry.identity.clone();
                let kept = entry.fold(find(&bucket, &identity));
                bucket = bucket::replace(&bucket, &identity, kept.as_ref());
                next = entries.next_if(|(other, _)| *other == id).map(|(_, it)| it);
            }
            run(|| self.db.insert(id, bucket))?;
        }
        Ok(())
    }

    /// Removes what is kept of `identities`.
    pub(crate) fn remove(&self, identities: Vec<Identity>) -> Result<(), IndexError> {
        self.apply(identities.into_iter().map(Entry::removal).collect())
    }

    /// Closes the index once the look-ups under way are done, so that its files hold everything and
    /// nobody writes them any more, and returns their directory.
    pub(crate) fn close(self: Arc<Self>) -> Result<PathBuf, IndexError> {
        guarded(move || {
            let (db, directory) = (self.db.clone(), self.directory.clone());
            drop(self);
            run(|| db.flush())?;
            sled_db::close(db, &directory)?;
            Ok(directory)
        })
    }

    /// Drops it, whatever state it is in.
    pub(crate) fn abandon(self: Arc<Self>) {
        // A panic of sled tells nothing new.
        let _ = guarded(move || {
            drop(self);
            Ok::<_, Panicked>(())
        });
    }

    fn bucket(&self, id: BucketId) -> Result<Option<sled::IVec>, IndexError> {
        run(|| self.db.get(id))
    }

    /// Which bucket `identity` is in. The index keeps its buckets in this order.
    pub(crate) fn bucket_id(&self, identity: &Identity) -> BucketId {
        let [first, second, third, ..] = self.hash_key.hash16(&[identity.as_bytes()]);
        [first, second, third & 0x80]
    }
}

/// A copy of what `bucket` keeps of `identity`.
fn find(bucket: &[u8], identity: &Identity) -> Option<Kept<Box<[u8]>>> {
    bucket::find(bucket, identity).map(|kept| Kept {
        first: kept.first.into(),
        last: kept.last.map(Into::into),
    })
}

/// Reads events as they are kept.
pub(crate) fn events(kept: &Kept<Box<[u8]>>) -> Result<Kept<Event>, IndexError> {
    let event = |json| {
        serde_json::from_slice(json)
            // Only the position: the parser's message could quote an address.
            .map_err(|error| {
                IndexError::new(format_args!("unreadable event (column {})", error.column()))
            })
    };
    Ok(Kept {
        first: event(&kept.first)?,
        last: kept.last.as_deref().map(event).transpose()?,
    })
}

/// Removes everything under `root` but `kept`, or `root` itself.
pub(crate) fn wipe(root: &Path, kept: Option<&Path>) -> io::Result<()> {
    let Some(kept) = kept else {
        return sled_db::remove(root);
    };
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path != kept {
            sled_db::remove(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::secret::Secret;
    use crate::domain::time::Timestamp;

    fn key() -> MacKey {
        Secret::new([1; 32]).keys().index
    }

    fn contact(number: usize) -> Event {
        Event::ContactSeen {
            email: format!("x{number}@example.com"),
            signers: Vec::new(),
            at: Timestamp::from_ms(1),
        }
    }

    #[test]
    fn whatever_sled_does_with_damaged_files_ends_in_an_error_at_worst() {
        let root = tempfile::tempdir().unwrap();
        let index = Index::create(root.path(), &key()).unwrap();
        // Buckets of some size, whatever is in them.
        for number in 0..50 {
            let id = index.bucket_id(&contact(number).identity());
            index.db.insert(id, vec![b'x'; 2000]).unwrap();
        }
        let directory = index.close().unwrap();
        // The second time, sled relies on a summary of its log.
        let index = Index::open(&directory, &key()).unwrap();
        index.close().unwrap();
        let left: Vec<_> = fs::read_dir(&directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| (path.clone(), fs::read(&path).unwrap()))
            .collect();
        let mut failures = 0;
        for part in 0..16 {
            for (path, bytes) in &left {
                fs::write(path, bytes).unwrap();
            }
            let log = fs::read(directory.join("db")).unwrap();
            fs::write(directory.join("db"), &log[..log.len() / 16 * part]).unwrap();
            match Index::open(&directory, &key()) {
                Ok(index) => {
                    let found: Vec<_> = (0..50)
                        .map(|number| index.find(&contact(number).identity()))
                        .collect();
                    let is_failed = found.iter().any(Result::is_err);
                    failures += u32::from(is_failed || index.close().is_err());
                }
                Err(_) => failures += 1,
            }
        }
        assert!(failures > 0, "sled took everything");
    }
}
