//! Storage of windows across restarts.
//!
//! Everything in the store is in memory too, and windows may be lost: a store that cannot be read, that fails or that
//! has grown is removed and filled again from memory.
//!
//! The stored form of a window is a version byte, then for each bucket, oldest first, the milliseconds since the epoch
//! (8 bytes) and the count (4), both big-endian; last the CRC-32 of the key and all of that, because sled does not
//! notice every changed byte.
//!
//! The quota is not stored: the one in force when the window is read decides what has expired.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::adapters::files::remove_any;
use crate::adapters::system::run_within;
use crate::domain::{Bucket, LimitKey, Timestamp, Window};

/// How long sled's threads may take to end.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);

const VERSION: u8 = 3;
const BUCKET_BYTES: usize = 12;

/// A window's current version; none to remove it.
pub type Change = (LimitKey, Option<Window>);

/// Keeps windows across restarts. Used by one thread.
pub trait WindowStore: Send {
    /// Passes every stored window to `keep`. Called once, before anything else. Unreadable values are
    /// skipped with a warning.
    ///
    /// # Errors
    /// [`WindowStoreError`] when the store cannot be read: the caller discards what was passed to `keep`, and
    /// replaces the store before it writes.
    fn load(&mut self, keep: &mut dyn FnMut(LimitKey, Window)) -> Result<(), WindowStoreError>;

    /// Replaces the whole content by `windows`. A process that is killed meanwhile may lose all of it.
    ///
    /// # Errors
    /// [`WindowStoreError`] when that is not possible now; later writes may be lost too.
    fn replace(
        &mut self,
        windows: &mut dyn Iterator<Item = Vec<Change>>,
    ) -> Result<(), WindowStoreError>;

    /// Applies changes in order. Once this returns `Ok`, they survive the process being killed.
    ///
    /// # Errors
    /// [`WindowStoreError`] when they may be lost, and earlier ones too.
    fn write(&mut self, changes: Vec<Change>) -> Result<(), WindowStoreError>;

    /// The number of windows. Slow: for tests.
    fn count(&self) -> usize;

    /// Bytes on disk.
    fn bytes_on_disk(&self) -> u64;
}

/// The store failed. The text is for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WindowStoreError(pub String);

/// Windows in sled, an entry for each.
#[derive(Debug)]
pub struct SledWindowStore {
    dir: PathBuf,
    db: Option<sled::Db>,
}

impl SledWindowStore {
    /// The store in `dir`, whose parent must exist. Does not access it yet.
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            db: None,
        }
    }

    /// Closes the database, so that its directory can be removed or opened again. sled's threads go on for a moment after
    /// the last handle is dropped; they share the lock on the file `db`, so taking that lock waits for them. Dropping the
    /// handle may block for ever, because sled waits for its flusher even if that has panicked.
    fn close(&mut self) {
        let Some(db) = self.db.take() else { return };
        let file = File::open(self.dir.join("db"));
        let closed = run_within(RELEASE_TIMEOUT, move || {
            drop(db);
            file.and_then(|file| file.lock())
        });
        if !matches!(closed, Ok(Some(Ok(())))) {
            tracing::warn!("limiter windows: sled keeps its files");
        }
    }
}

impl Drop for SledWindowStore {
    /// sled holds a lock on the directory until it is closed.
    fn drop(&mut self) {
        self.close();
    }
}

impl WindowStore for SledWindowStore {
    fn load(&mut self, keep: &mut dyn FnMut(LimitKey, Window)) -> Result<(), WindowStoreError> {
        let mut unreadable = 0_usize;
        let db = attempt(|| {
            let db = open(&self.dir)?;
            for entry in db.iter() {
                let (key, value) = entry?;
                match (<[u8; 16]>::try_from(&*key), decode(&key, &value)) {
                    (Ok(key), Some(window)) => keep(LimitKey::from_bytes(key), window),
                    _ => unreadable += 1,
                }
            }
            Ok(db)
        })?;
        if unreadable > 0 {
            tracing::warn!(
                limiter.unreadable = unreadable,
                "skipped unreadable limiter windows: some limits start from scratch"
            );
        }
        self.db = Some(db);
        Ok(())
    }

    fn replace(
        &mut self,
        windows: &mut dyn Iterator<Item = Vec<Change>>,
    ) -> Result<(), WindowStoreError> {
        self.close();
        let opened = attempt(|| {
            remove_any(&self.dir)?;
            open(&self.dir)
        });
        self.db = Some(opened?);
        let filled = windows
            .map(|batch| self.write(batch))
            .try_for_each(|written| written);
        if filled.is_err() {
            // The unfinished store takes space, and may be what fills the disk.
            self.close();
            let _ = remove_any(&self.dir);
        }
        filled
    }

    fn write(&mut self, mut changes: Vec<Change>) -> Result<(), WindowStoreError> {
        let Some(db) = &self.db else {
            return Err(WindowStoreError("closed".to_owned()));
        };
        // Neighbours are in the same page: in order of keys, each page is loaded once.
        changes.sort_by_key(|(key, _)| *key);
        attempt(|| {
            for (key, window) in &changes {
                let key = key.as_bytes();
                match window {
                    Some(window) => db.insert(key, encode(key, window))?,
                    None => db.remove(key)?,
                };
            }
            db.flush().map(|_bytes| ())
        })
    }

    fn count(&self) -> usize {
        self.db.as_ref().map_or(0, |db| db.len())
    }

    fn bytes_on_disk(&self) -> u64 {
        let size = self.db.as_ref().map(sled::Db::size_on_disk);
        size.and_then(Result::ok).unwrap_or_default()
    }
}

/// Small segments and a small cache: windows are written often and read only at a start.
fn open(dir: &Path) -> sled::Result<sled::Db> {
    sled::Config::new()
        .path(dir)
        .mode(sled::Mode::LowSpace)
        .segment_size(64 * 1024)
        .cache_capacity(1024 * 1024)
        // Every write is flushed explicitly. This thread of sled's also reclaims space.
        .flush_every_ms(Some(500))
        .open()
}

/// Runs `work`. sled panics on many damaged files; the caller gives the database up after an error, so an inconsistent
/// state is never used.
fn attempt<T>(work: impl FnOnce() -> sled::Result<T>) -> Result<T, WindowStoreError> {
    let done = catch_unwind(AssertUnwindSafe(work));
    let done = done.map_err(|_panic| WindowStoreError("sled panicked".to_owned()))?;
    done.map_err(|error| WindowStoreError(error.to_string()))
}

/// The approximate size of a window and its key, without sled's overhead.
pub(super) fn stored_bytes(window: &Window) -> u64 {
    16 + 1 + 4 + (BUCKET_BYTES * window.buckets().len()) as u64
}

pub(super) fn encode(key: &[u8], window: &Window) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    for bucket in window.buckets() {
        bytes.extend(bucket.newest.as_ms().to_be_bytes());
        bytes.extend(bucket.count.to_be_bytes());
    }
    bytes.extend(checksum(key, &bytes));
    bytes
}

fn checksum(key: &[u8], bytes: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(bytes);
    hasher.finalize().to_be_bytes()
}

/// None unless the bytes are the window of this key, and it counts something.
pub(super) fn decode(key: &[u8], bytes: &[u8]) -> Option<Window> {
    let (bytes, found) = bytes.split_last_chunk()?;
    if checksum(key, bytes) != *found {
        return None;
    }
    let (&VERSION, buckets) = bytes.split_first()? else {
        return None;
    };
    let buckets = buckets.chunks(BUCKET_BYTES).map(|bytes| {
        let (newest, count) = bytes.split_first_chunk()?;
        Some(Bucket {
            newest: Timestamp::from_ms(u64::from_be_bytes(*newest)),
            count: u32::from_be_bytes(count.try_into().ok()?),
        })
    });
    let window = Window::from_buckets(buckets.collect::<Option<Vec<_>>>()?);
    window.newest().is_some().then_some(window)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const KEY: &[u8] = &[7; 16];

    /// 1,800,000,000,000 ms, twice; then once, 5 ms later.
    const RECORD: [u8; 25] = [
        VERSION, 0, 0, 1, 0xa3, 0x18, 0x5c, 0x50, 0, 0, 0, 0, 2, 0, 0, 1, 0xa3, 0x18, 0x5c, 0x50,
        5, 0, 0, 0, 1,
    ];

    /// `bytes` with their checksum.
    fn sealed(bytes: &[u8]) -> Vec<u8> {
        [bytes, &checksum(KEY, bytes)].concat()
    }

    fn window() -> Window {
        let bucket = |ms, count| Bucket {
            newest: Timestamp::from_ms(ms),
            count,
        };
        Window::from_buckets([bucket(1_800_000_000_000, 2), bucket(1_800_000_000_005, 1)])
    }

    proptest! {
        #[test]
        fn a_window_is_read_as_it_was_written(
            buckets in vec((any::<u64>(), 1..=u32::MAX), 1..300),
        ) {
            let window = Window::from_buckets(buckets.into_iter().map(|(ms, count)| Bucket {
                newest: Timestamp::from_ms(ms),
                count,
            }));
            prop_assert_eq!(decode(KEY, &encode(KEY, &window)), Some(window));
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in vec(any::<u8>(), 0..80), is_ours: bool) {
            if let (true, Some(version)) = (is_ours, bytes.first_mut()) {
                *version = VERSION;
            }
            let _ = decode(KEY, &bytes);
            let _ = decode(KEY, &sealed(&bytes));
        }
    }

    #[test]
    fn the_size_grows_by_twelve_bytes_a_bucket() {
        assert_eq!(stored_bytes(&Window::default()), 21);
        assert_eq!(stored_bytes(&window()), 45);
    }

    #[test]
    fn the_form_does_not_change() {
        assert_eq!(encode(KEY, &window()), sealed(&RECORD));
        assert_eq!(decode(KEY, &sealed(&RECORD)), Some(window()));
    }

    #[test]
    fn a_changed_bit_and_a_window_of_another_key_are_refused() {
        let whole = sealed(&RECORD);
        assert_eq!(decode(&[8; 16], &whole), None);
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(KEY, &flipped), None, "{bit}");
        }
    }

    #[test]
    fn garbage_is_refused() {
        let check = |bytes: &[u8], why: &str| {
            assert_eq!(decode(KEY, bytes), None, "{why}");
            assert_eq!(decode(KEY, &sealed(bytes)), None, "{why}");
        };
        check(&[], "nothing");
        check(&[VERSION], "no bucket");
        check(&[&[2], &RECORD[1..]].concat(), "another version");
        check(&RECORD[..9], "no count");
        check(&RECORD[..24], "a count that breaks off");
        check(
            &[VERSION, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
            "a count of zero",
        );
    }
}
