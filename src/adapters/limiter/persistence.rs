//! Storage of windows across restarts.
//!
//! Everything in the store is in memory too, and windows may be lost: a store that cannot be read, that fails or that
//! has grown is removed and filled again from memory.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::adapters::files::remove_any;
use crate::adapters::threads::run_within;
use crate::domain::{LimitKey, Window};

use super::record;

/// How long sled's threads may take to end.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);

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
                match (<[u8; 16]>::try_from(&*key), record::decode(&key, &value)) {
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
                    Some(window) => db.insert(key, record::encode(key, window))?,
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

#[cfg(test)]
mod tests {
    use crate::domain::{Bucket, PolicyName, Timestamp};

    use super::*;

    #[test]
    fn a_closed_database_can_be_opened_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let bucket = Bucket {
            newest: Timestamp::from_ms(1),
            count: 1,
        };
        for round in 0_u8..20 {
            let mut store = SledWindowStore::new(dir.path());
            let mut count = 0;
            store.load(&mut |_key, _window| count += 1).unwrap();
            assert_eq!(count, round);
            let key = LimitKey::tagged(PolicyName::Ip, [round; 16]);
            let window = Window::from_buckets([bucket]);
            store.write(vec![(key, Some(window))]).unwrap();
        }
    }
}
