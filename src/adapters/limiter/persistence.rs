//! Storage of windows across restarts.
//!
//! Everything in the store is in memory too, and windows may be lost: a store that cannot be read, that fails or that
//! has grown is removed and filled again from memory.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::adapters::files::{is_full, remove_any};
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

    /// Closes the database, so that its directory can be removed or opened again.
    fn close(&mut self) {
        if let Some(db) = self.db.take()
            && let Err(error) = attempt("cannot close", &self.dir, || Ok(close(db, &self.dir)?))
        {
            tracing::warn!(%error, "limiter windows");
        }
    }

    /// Fills a new database.
    fn fill(
        &mut self,
        windows: &mut dyn Iterator<Item = Vec<Change>>,
    ) -> Result<(), WindowStoreError> {
        self.db = Some(attempt("cannot write", &self.dir, || {
            remove_any(&self.dir)?;
            open(&self.dir)
        })?);
        for batch in windows {
            self.write(batch)?;
        }
        Ok(())
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
        let db = attempt("cannot read", &self.dir, || {
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
                "skipped unreadable limiter windows: some limits count afresh"
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
        let filled = self.fill(windows);
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
        attempt("cannot write", &self.dir, || {
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

/// Runs `work`, and names what was attempted in its error. sled panics on many damaged files; the caller gives the
/// database up after an error, so an inconsistent state is never used.
fn attempt<T>(
    what: &str,
    dir: &Path,
    work: impl FnOnce() -> sled::Result<T>,
) -> Result<T, WindowStoreError> {
    let (is_full, reason) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(sled::Error::Io(error))) => (is_full(&error), format!("IO error: {error}")),
        Ok(Err(error)) => (false, error.to_string()),
        Err(_panic) => (false, "sled panicked".to_owned()),
    };
    let full = if is_full { "disk full: " } else { "" };
    let dir = dir.display();
    Err(WindowStoreError(format!("{full}{what} {dir}: {reason}")))
}

/// Closes the database in `directory`, of which `db` is the last handle, and waits until sled has
/// stopped writing. Its threads go on for a moment after the last handle is dropped; they share the
/// lock on the file `db`, so taking that lock waits for them. Dropping the handle may block for
/// ever, because sled waits for its flusher even if that has panicked.
///
/// # Errors
/// When the file cannot be locked within ten seconds, or sled panics.
fn close(db: sled::Db, directory: &Path) -> io::Result<()> {
    let file = File::open(directory.join("db"))?;
    let (released, is_released) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        drop(db);
        let lock = file.lock();
        drop(file);
        released.send(lock)
    })?;
    is_released
        .recv_timeout(RELEASE_TIMEOUT)
        .unwrap_or_else(|error| Err(io::Error::other(format!("sled keeps its files: {error}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_database_can_be_opened_at_once() {
        let dir = tempfile::tempdir().unwrap();
        for round in 0_u8..20 {
            let db = sled::open(dir.path()).unwrap();
            assert_eq!(db.len(), usize::from(round));
            db.insert([round], &[round]).unwrap();
            close(db, dir.path()).unwrap();
        }
    }
}
