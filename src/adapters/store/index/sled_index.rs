//! The index in sled.
//!
//! sled 0.34 may panic, or lose entries without a word, when its files are not as it left them, and
//! its flush does not survive a power cut. So an index is trusted only after a clean stop, which
//! syncs the files itself ([`super::marker`]), and whatever sled does here is caught.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::adapters::sled_db::{self, Panicked, guarded};
use crate::adapters::store::ledger::PRIVATE_DIRECTORY;
use crate::domain::secret::MacKey;

use super::Meta;
use super::bucket::{self, Bucket, BucketId, bucket_id};
use super::dirty::DirtyBuckets;
use super::overlay::Buckets;

const META: &[u8] = b"m";

/// sled's cache. Entries are read from the page cache soon enough, and the buckets that changed last
/// are in memory anyway.
const CACHE_BYTES: u64 = 8 * 1024 * 1024;

/// What changed buckets that are not in sled yet may take, in bytes: nearly all where there are
/// 80,000 contacts, one in eight where there are a million.
const DIRTY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The index failed. It has to be made again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("index: {0}")]
pub(crate) struct IndexError(pub(crate) String);

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
pub(crate) struct Index {
    db: sled::Db,
    directory: PathBuf,
    /// Looked at before sled is. Only the committer changes it.
    dirty: RwLock<DirtyBuckets>,
}

impl Index {
    /// Opens what sled left in `directory`, or begins anew there.
    pub(crate) fn open(directory: &Path) -> Result<Self, IndexError> {
        let config = sled::Config::new()
            .path(directory)
            .cache_capacity(CACHE_BYTES)
            // Nothing here needs to survive a crash.
            .flush_every_ms(None);
        let db = guarded::<_, IndexError>(|| Ok(config.open()?))?;
        Ok(Self {
            db,
            directory: directory.to_path_buf(),
            dirty: RwLock::new(DirtyBuckets::new(DIRTY_BYTES_MAX)),
        })
    }

    /// Begins an empty index in a directory under `root` that no other uses.
    pub(crate) fn fresh(root: &Path) -> Result<Self, IndexError> {
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
            .mode(PRIVATE_DIRECTORY)
            .create(&directory)?;
        Self::open(&directory)
    }

    /// Where sled keeps it.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// What its buckets were of when it was last closed.
    pub(crate) fn meta(&self) -> Result<Option<Meta>, IndexError> {
        let bytes = guarded::<_, IndexError>(|| Ok(self.db.get(META)?))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Looks up the entry called `name`.
    pub(crate) fn find<T>(
        &self,
        hash_key: &MacKey,
        name: &[u8],
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, IndexError> {
        let id = bucket_id(hash_key, name);
        self.with_bucket(id, |bytes| bucket::find(bytes, name).and_then(parse))
            .map(Option::flatten)
    }

    /// A bucket; empty if there is none.
    pub(super) fn bucket(&self, id: BucketId) -> Result<Bucket, IndexError> {
        self.with_bucket(id, Bucket::from_bytes)
            .map(Option::unwrap_or_default)
    }

    /// Lets `read` look at a bucket's bytes, if there is one.
    fn with_bucket<T>(
        &self,
        id: BucketId,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, IndexError> {
        if let Some(bucket) = self.dirty().get(id) {
            return Ok(Some(read(bucket.as_bytes())));
        }
        let bytes = guarded::<_, IndexError>(|| Ok(self.db.get(key(id))?))?;
        Ok(bytes.map(|bytes| read(&bytes)))
    }

    /// Puts changed buckets into the index. They are in sled when it is their turn, or when the
    /// index is closed.
    pub(crate) fn put(&self, buckets: Buckets) -> Result<(), IndexError> {
        self.dirty_mut().put(buckets);
        // Whoever reads meanwhile finds a bucket here or there.
        let written = self.write(self.dirty().due())?;
        if !written.is_empty() {
            self.dirty_mut().written(written);
        }
        Ok(())
    }

    /// Writes buckets into sled at once, past those that wait for their turn.
    pub(super) fn write_all(&self, buckets: &Buckets) -> Result<(), IndexError> {
        self.write(buckets.iter().map(|(id, bucket)| (*id, bucket)))
            .map(drop)
    }

    /// Writes buckets, one after the other: a process that dies in between leaves an index that
    /// nobody trusts, and one that goes on after an error has to give it up. A batch of sled's
    /// would wait for the disk twice, and wake every thread that sled has.
    fn write<'a>(
        &self,
        buckets: impl Iterator<Item = (BucketId, &'a Bucket)>,
    ) -> Result<Vec<BucketId>, IndexError> {
        guarded(|| {
            let write = |(id, bucket): (_, &Bucket)| {
                self.db.insert(key(id), bucket.as_bytes())?;
                Ok(id)
            };
            buckets.map(write).collect()
        })
    }

    /// Notes what its buckets are of, and closes it so that its files hold everything and nobody
    /// writes them any more.
    pub(crate) fn close(self, meta: &Meta) -> Result<PathBuf, IndexError> {
        let meta = serde_json::to_vec(meta).map_err(|error| IndexError(error.to_string()))?;
        guarded(move || {
            self.write_all(self.dirty().all())?;
            let Self { db, directory, .. } = self;
            db.insert(META, meta)?;
            db.flush()?;
            sled_db::close(db, &directory)?;
            Ok(directory)
        })
    }

    fn dirty(&self) -> RwLockReadGuard<'_, DirtyBuckets> {
        self.dirty.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn dirty_mut(&self) -> RwLockWriteGuard<'_, DirtyBuckets> {
        self.dirty.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it up, whatever state it is in.
    pub(crate) fn abandon(self) {
        // A failure tells nothing new.
        let _ = guarded(move || {
            drop(self);
            Ok::<_, Panicked>(())
        });
    }
}

/// The bucket's name in sled.
fn key([first, second]: BucketId) -> [u8; 3] {
    [b'b', first, second]
}

/// Removes everything under `root` but `kept`, and that too if it is nothing.
pub(crate) fn wipe(root: &Path, kept: Option<&Path>) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::super::Tally;
    use super::*;

    #[test]
    fn a_bucket_is_found_wherever_it_is() {
        let root = tempfile::tempdir().unwrap();
        let mut index = Index::fresh(root.path()).unwrap();
        index.dirty = RwLock::new(DirtyBuckets::new(2000));
        let check = |index: &Index, expected: &Buckets| {
            for id in 0..=u8::MAX {
                let found = index.with_bucket([id; 2], Bucket::from_bytes).unwrap();
                assert_eq!(found.as_ref(), expected.get(&[id; 2]), "{id}");
            }
        };
        let mut expected = Buckets::new();
        for round in 0_u8..40 {
            let changed = (0..5_u8).map(|number| {
                let (id, len) = (round.wrapping_mul(number * 37), usize::from(round) * 3);
                ([id; 2], Bucket::from_bytes(&vec![number; len]))
            });
            let changed: Buckets = changed.collect();
            expected.extend(changed.clone());
            index.put(changed).unwrap();
            check(&index, &expected);
        }
        assert!(index.dirty().all().len() < expected.len() / 2);
        let meta = Meta {
            secret: String::new(),
            generation: 1,
            sequence: 0,
            tally: Tally::default(),
        };
        let directory = index.close(&meta).unwrap();
        check(&Index::open(&directory).unwrap(), &expected);
    }

    #[test]
    fn whoever_reads_beside_the_writer_never_sees_an_earlier_bucket_again() {
        const ROUNDS: u32 = 2000;
        let root = tempfile::tempdir().unwrap();
        let mut index = Index::fresh(root.path()).unwrap();
        // One of the three has to go with each change, in turn.
        index.dirty = RwLock::new(DirtyBuckets::new(100));
        let round_of = |bytes: &[u8]| u32::from_be_bytes(*bytes.first_chunk().unwrap());
        let (index, start) = (&index, &Barrier::new(2));
        thread::scope(|scope| {
            let writer = scope.spawn(move || {
                start.wait();
                for round in 1..=ROUNDS {
                    let bucket = Bucket::from_bytes(&round.to_be_bytes());
                    let ids = [[1; 2], [2; 2], [3; 2]];
                    let changed = ids.map(|id| (id, bucket.clone()));
                    index.put(changed.into()).unwrap();
                }
            });
            start.wait();
            let mut last = [0; 3];
            let mut is_over = false;
            while !is_over {
                is_over = writer.is_finished();
                for (id, last) in (1..).zip(&mut last) {
                    let found = index.with_bucket([id; 2], round_of).unwrap();
                    let round = found.unwrap_or(0);
                    assert!(round >= *last, "{round} after {last}");
                    *last = round;
                }
            }
            assert_eq!(last, [ROUNDS; 3]);
        });
    }

    #[test]
    fn whatever_sled_does_with_damaged_files_ends_in_an_error_at_worst() {
        let root = tempfile::tempdir().unwrap();
        let index = Index::fresh(root.path()).unwrap();
        let meta = Meta {
            secret: String::new(),
            generation: 1,
            sequence: 0,
            tally: Tally::default(),
        };
        let buckets = (0..50).map(|id| ([0, id], Bucket::from_bytes(&[id; 2000])));
        index.write_all(&buckets.collect()).unwrap();
        let directory = index.close(&meta).unwrap();
        // The second time, sled relies on a summary of its log.
        Index::open(&directory).unwrap().close(&meta).unwrap();
        let left = directory_contents(&directory);
        let mut failures = 0;
        for part in 0..16 {
            for (path, bytes) in &left {
                fs::write(path, bytes).unwrap();
            }
            let log = fs::read(directory.join("db")).unwrap();
            fs::write(directory.join("db"), &log[..log.len() / 16 * part]).unwrap();
            match Index::open(&directory) {
                Ok(index) => failures += u32::from(index.close(&meta).is_err()),
                Err(_) => failures += 1,
            }
        }
        assert!(failures > 0, "sled took everything");
    }

    fn directory_contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| (path.clone(), fs::read(&path).unwrap()))
            .collect()
    }
}
