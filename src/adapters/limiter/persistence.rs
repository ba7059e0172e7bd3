//! Storage of windows across restarts.
//!
//! Everything in the store is in memory too, so a store is never repaired. When it fails, has grown, or
//! is not as a clean stop left it, it is replaced by a new one with all live windows: after the start,
//! because that takes seconds for a million windows. Until the new one is complete the old one stays, so
//! a process that is killed meanwhile loses none of its windows.

use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::adapters::files::is_full;
use crate::adapters::sled_db;
use crate::domain::{LimitKey, Window};

use super::record;

/// The marker of a clean stop.
const CLEAN: &str = "clean";

/// An entry that every store has: a store without it has lost its content.
const FIRST_ENTRY: (&[u8], &[u8]) = (b"first", &[record::VERSION]);

/// A window's current version; none to remove it.
pub type Change = (LimitKey, Option<Window>);

/// Keeps windows across restarts. Used by one thread.
pub trait WindowStore: Send {
    /// Passes every stored window to `keep`. Called once, before anything else. Unreadable values are
    /// skipped with a warning. Returns whether the store can be written to as it is; otherwise the caller
    /// replaces it first.
    ///
    /// # Errors
    /// [`WindowStoreError`] when the store cannot be read. It was set aside if it is damaged, and the
    /// caller discards what was passed to `keep`.
    fn load(&mut self, keep: &mut dyn FnMut(LimitKey, Window)) -> Result<bool, WindowStoreError>;

    /// Replaces the whole content by `windows`. A restart reads the previous content until this has
    /// succeeded.
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

/// Windows in sled: an entry for each, and `FIRST_ENTRY`.
///
/// | Directory | Content |
/// |---|---|
/// | `windows` | the store; incomplete while `windows.old` has a file `db` |
/// | `windows.old` | the previous store, while the new one is being filled |
/// | `windows.damaged` | the last store that could not be read |
///
/// A clean stop adds a file `clean` with the CRC-32 of the other files.
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

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.dir.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    }

    /// Closes the database, so that its directory can be moved. Returns whether there was one.
    fn close(&mut self) -> Result<bool, WindowStoreError> {
        let Some(db) = self.db.take() else {
            return Ok(false);
        };
        attempt("cannot close", &self.dir, || {
            sled_db::close(db, &self.dir)?;
            Ok(true)
        })
    }

    /// Fills a new database.
    fn fill(
        &mut self,
        windows: &mut dyn Iterator<Item = Vec<Change>>,
    ) -> Result<(), WindowStoreError> {
        let db = attempt("cannot write", &self.dir, || {
            let db = open(&self.dir)?;
            let (key, value) = FIRST_ENTRY;
            db.insert(key, value)?;
            Ok(db)
        })?;
        self.db = Some(db);
        for batch in windows {
            self.write(batch)?;
        }
        Ok(())
    }

    /// Closes the database and writes the marker of a clean stop.
    fn stop(&mut self) -> Result<(), WindowStoreError> {
        if !self.close()? {
            return Ok(());
        }
        attempt("cannot mark", &self.dir, || {
            let (checksum, marker) = (checksum(&self.dir)?, self.dir.join(CLEAN));
            let marked = fs::write(&marker, checksum.to_string());
            // Part of it may have been written.
            Ok(marked.inspect_err(|_| drop(fs::remove_file(&marker)))?)
        })
    }
}

/// CRC-32 of the files in `dir`, without the marker.
fn checksum(dir: &Path) -> io::Result<u32> {
    let mut files = sled_db::files(dir)?;
    files.retain(|path| !path.ends_with(CLEAN));
    sled_db::checksum(dir, &files)
}

/// Whether the files are as a clean stop left them. Warns if they have changed since. Removes the marker.
fn check(dir: &Path) -> io::Result<bool> {
    let found = checksum(dir)?;
    let marker = dir.join(CLEAN);
    let left = match fs::read_to_string(&marker) {
        Ok(left) => left,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let is_as_left = left == found.to_string();
    if !is_as_left {
        tracing::warn!(
            "limiter windows are not as the last stop left them: what can be read is kept, but \
             some limits may count afresh"
        );
    }
    fs::remove_file(marker)?;
    Ok(is_as_left)
}

impl Drop for SledWindowStore {
    /// sled holds a lock on the directory until it is closed.
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            tracing::warn!(%error, "limiter windows");
        }
    }
}

impl WindowStore for SledWindowStore {
    fn load(&mut self, keep: &mut dyn FnMut(LimitKey, Window)) -> Result<bool, WindowStoreError> {
        // If the process died while the new store was being filled, the previous one is complete.
        let old = self.beside(".old");
        let dir = match old.join("db").exists() {
            true => old.clone(),
            false => self.dir.clone(),
        };
        if dir.symlink_metadata().is_err() {
            return Ok(false);
        }
        let mut is_disk_full = false;
        let loaded = attempt("cannot read", &dir, || {
            let is_clean = check(&dir)?;
            let db = open(&dir).inspect_err(|error| {
                is_disk_full = matches!(error, sled::Error::Io(error) if is_full(error));
            })?;
            if db.is_empty() {
                tracing::warn!("limiter windows are lost: limits count afresh");
            }
            let mut unreadable = 0_usize;
            for entry in db.iter() {
                let (key, value) = entry?;
                let key_bytes = <[u8; 16]>::try_from(&*key);
                match (key_bytes, record::decode(&value)) {
                    (Ok(key), Some(window)) => keep(LimitKey::from_bytes(key), window),
                    _ => unreadable += usize::from(*key != *FIRST_ENTRY.0),
                }
            }
            if unreadable > 0 {
                tracing::warn!(
                    limiter.unreadable = unreadable,
                    "skipped unreadable limiter windows"
                );
            }
            if is_clean && unreadable == 0 && old.symlink_metadata().is_err() {
                self.db = Some(db);
                return Ok(true);
            }
            // The directory is moved soon: sled's threads must have stopped writing to it.
            sled_db::close(db, &dir)?;
            Ok(false)
        });
        // On a full disk the store may be undamaged: the next start reads it, or a later write replaces
        // it.
        if loaded.is_err() && !is_disk_full {
            let damaged = self.beside(".damaged");
            attempt("cannot set aside", &dir, || {
                sled_db::remove(&damaged)?;
                Ok(fs::rename(&dir, &damaged)?)
            })?;
        }
        loaded
    }

    fn replace(
        &mut self,
        windows: &mut dyn Iterator<Item = Vec<Change>>,
    ) -> Result<(), WindowStoreError> {
        // A database that cannot be closed is abandoned.
        let _ = self.close();
        let old = self.beside(".old");
        let old_db = old.join("db");
        attempt("cannot replace", &self.dir, || {
            if old_db.exists() {
                sled_db::remove(&self.dir)?;
            } else if self.dir.exists() {
                sled_db::remove(&old)?;
                fs::rename(&self.dir, &old)?;
            }
            Ok(())
        })?;
        let filled = self.fill(windows);
        if filled.is_err() {
            // The unfinished store takes space, and may be what fills the disk.
            let _ = self.close();
            let _ = sled_db::remove(&self.dir);
            return filled;
        }
        // Without this file, which is removed in one step, the directory does not count.
        attempt("cannot remove", &old, || {
            sled_db::remove(&old_db)?;
            Ok(sled_db::remove(&old)?)
        })
    }

    fn write(&mut self, mut changes: Vec<Change>) -> Result<(), WindowStoreError> {
        let Some(db) = &self.db else {
            return Err(WindowStoreError("closed".to_owned()));
        };
        // Neighbours are in the same page: in order of keys, each page is loaded once.
        changes.sort_by_key(|(key, _)| *key);
        attempt("cannot write", &self.dir, || {
            for (key, window) in &changes {
                match window {
                    Some(window) => db.insert(key.as_bytes(), record::encode(window))?,
                    None => db.remove(key.as_bytes())?,
                };
            }
            db.flush().map(|_bytes| ())
        })
    }

    fn count(&self) -> usize {
        self.db.as_ref().map_or(0, |db| db.len().saturating_sub(1))
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

/// Runs `work`, and names what was attempted in its error.
fn attempt<T>(
    what: &str,
    dir: &Path,
    work: impl FnOnce() -> sled::Result<T>,
) -> Result<T, WindowStoreError> {
    sled_db::guarded(|| work().map_err(Box::<dyn Error>::from)).map_err(|error| {
        let sled_error = error.downcast_ref::<sled::Error>();
        let full = match sled_error {
            Some(sled::Error::Io(error)) if is_full(error) => "disk full: ",
            Some(_) | None => "",
        };
        WindowStoreError(format!("{full}{what} {}: {error}", dir.display()))
    })
}
