//! Where windows survive the process.
//!
//! Nothing that is decided waits for a store, and all that one holds is in memory too, so a store
//! is never repaired: whenever it fails, has grown, or is opened, it starts over and everything
//! live is written anew.

use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::adapters::sled_db;
use crate::domain::client::LimitKey;
use crate::domain::window::Window;

use super::record;

/// Keeps windows across restarts. One thread uses it.
pub trait WindowStore: Send {
    /// Hands over every window that was kept when the process last stopped. Called once, first.
    /// Values that are no windows are skipped, with a warning.
    ///
    /// # Errors
    /// [`WindowStoreError`] when they cannot be read; the damaged store has been set aside, and
    /// what was handed over must be forgotten.
    fn load(&mut self, keep: &mut dyn FnMut(LimitKey, Window)) -> Result<(), WindowStoreError>;

    /// Starts over empty. What was kept before stands in until [`WindowStore::settle`].
    ///
    /// # Errors
    /// [`WindowStoreError`] when that is not possible now.
    fn start_over(&mut self) -> Result<(), WindowStoreError>;

    /// Says that everything live has been written since [`WindowStore::start_over`].
    ///
    /// # Errors
    /// [`WindowStoreError`] when what was kept before is still what a restart would find.
    fn settle(&mut self) -> Result<(), WindowStoreError>;

    /// Applies all changes, the last one of a key winning. When this returns `Ok` they survive the
    /// process being killed.
    ///
    /// # Errors
    /// [`WindowStoreError`] when they may be lost, and earlier ones too.
    fn write(&mut self, changes: Vec<Change>) -> Result<(), WindowStoreError>;

    /// How many windows are kept. Slow: for tests.
    fn count(&self) -> usize;

    /// Bytes on disk.
    fn bytes_on_disk(&self) -> u64;
}

/// A window's newest version; nothing to remove it.
pub type Change = (LimitKey, Option<Vec<u8>>);

/// The store did not do what was asked. The text is for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WindowStoreError(pub String);

impl WindowStoreError {
    fn new(what: &str, path: &Path, error: &dyn std::fmt::Display) -> Self {
        Self(format!("{what} {}: {error}", path.display()))
    }
}

/// Windows in sled.
///
/// | Directory | What |
/// |---|---|
/// | `windows` | the store; incomplete while `windows.old` is there |
/// | `windows.old` | the store before, while the new one is being filled |
/// | `windows.done` | the store before, being deleted |
/// | `windows.damaged` | the last store that could not be read |
#[derive(Debug)]
pub struct SledWindowStore {
    dir: PathBuf,
    db: Option<sled::Db>,
}

impl SledWindowStore {
    /// The store in `dir`, whose parent must exist. Nothing is touched yet.
    #[must_use]
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

    fn old(&self) -> PathBuf {
        self.beside(".old")
    }

    fn done(&self) -> PathBuf {
        self.beside(".done")
    }

    /// Lets go of the database, so that its directory can be moved.
    fn close(&mut self) -> Result<(), WindowStoreError> {
        let Some(db) = self.db.take() else {
            return Ok(());
        };
        attempt("cannot close", &self.dir, || {
            Ok(sled_db::close(db, &self.dir)?)
        })
    }
}

impl Drop for SledWindowStore {
    /// Whoever opens the directory next must find it let go of.
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "limiter windows");
        }
    }
}

impl WindowStore for SledWindowStore {
    fn load(&mut self, keep: &mut dyn FnMut(LimitKey, Window)) -> Result<(), WindowStoreError> {
        // A directory that was being filled when the process died is worth nothing: the one before
        // it is still whole.
        let dir = match self.old() {
            old if old.exists() => old,
            _ => self.dir.clone(),
        };
        if !dir.exists() {
            return Ok(());
        }
        let loaded = attempt("cannot read", &dir, || {
            let db = open(&dir)?;
            let mut garbage = 0_usize;
            for pair in db.iter() {
                let (key, value) = pair?;
                match (<[u8; 16]>::try_from(&*key), record::decode(&value)) {
                    (Ok(key), Some(window)) => keep(LimitKey::from_bytes(key), window),
                    (Ok(_) | Err(_), _) => garbage += 1,
                }
            }
            if garbage > 0 {
                tracing::warn!(
                    limiter.garbage = garbage,
                    "skipped unreadable limiter windows"
                );
            }
            // It is moved and deleted soon: nobody may write there then.
            Ok(sled_db::close(db, &dir)?)
        });
        if loaded.is_err() {
            let damaged = self.beside(".damaged");
            sled_db::remove(&damaged)
                .and_then(|()| fs::rename(&dir, &damaged))
                .map_err(|error| WindowStoreError::new("cannot set aside", &dir, &error))?;
        }
        loaded
    }

    fn start_over(&mut self) -> Result<(), WindowStoreError> {
        // A database that cannot be closed cleanly is left as it is.
        let _ = self.close();
        let old = self.old();
        let failed = |error: io::Error| WindowStoreError::new("cannot replace", &self.dir, &error);
        sled_db::remove(&self.done()).map_err(failed)?;
        if old.exists() {
            sled_db::remove(&self.dir).map_err(failed)?;
        } else if self.dir.exists() {
            fs::rename(&self.dir, &old).map_err(failed)?;
        }
        let db = attempt("cannot create", &self.dir, || open(&self.dir))?;
        self.db = Some(db);
        Ok(())
    }

    fn settle(&mut self) -> Result<(), WindowStoreError> {
        let (old, done) = (self.old(), self.done());
        if !old.exists() {
            return Ok(());
        }
        // The rename is the one step that makes the new directory count.
        fs::rename(&old, &done)
            .and_then(|()| sled_db::remove(&done))
            .map_err(|error| WindowStoreError::new("cannot remove", &old, &error))
    }

    fn write(&mut self, mut changes: Vec<Change>) -> Result<(), WindowStoreError> {
        let Some(db) = &self.db else {
            return Err(WindowStoreError("closed".to_owned()));
        };
        // Neighbours together cost little more than half, and a lot need not be written as one.
        changes.sort_by_key(|(key, _)| *key);
        attempt("cannot write", &self.dir, || {
            for (key, value) in changes {
                match value {
                    Some(value) => db.insert(key.as_bytes(), value)?,
                    None => db.remove(key.as_bytes())?,
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

/// Small segments and a small cache: the database is written and, at the next start, read once.
fn open(dir: &Path) -> sled::Result<sled::Db> {
    sled::Config::new()
        .path(dir)
        .mode(sled::Mode::LowSpace)
        .segment_size(64 * 1024)
        .cache_capacity(16 * 1024 * 1024)
        // Every write is flushed by us. This thread of sled's is the one that takes back space.
        .flush_every_ms(Some(500))
        .open()
}

/// Runs sled, and says of its failure what was attempted.
fn attempt<T>(
    what: &str,
    dir: &Path,
    work: impl FnOnce() -> sled::Result<T>,
) -> Result<T, WindowStoreError> {
    sled_db::guarded(|| work().map_err(Box::<dyn Error>::from))
        .map_err(|error| WindowStoreError::new(what, dir, &error))
}
