//! Where windows survive the process.
//!
//! Nothing that is decided waits for a store, and all that one holds is in memory too, so a store
//! is never repaired: whenever it fails, has grown, or is opened, it starts over and everything
//! live is written anew.

use std::collections::HashSet;
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::adapters::sled_db;
use crate::domain::client::LimitKey;
use crate::domain::window::Window;

use super::lot::{self, Changes};
use super::record;

/// Keeps windows across restarts. One thread uses it.
pub trait WindowStore: Send {
    /// Hands over every window that was kept when the process last stopped. Called once, first.
    /// A window may come several times: each takes the place of the one before, and an empty one
    /// says that it is gone. Values that are no windows are skipped, with a warning.
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
    fn write(&mut self, changes: &Changes) -> Result<(), WindowStoreError>;

    /// How many windows are kept. Slow: for tests.
    fn count(&self) -> usize;

    /// Bytes on disk.
    fn bytes_on_disk(&self) -> u64;
}

/// The store did not do what was asked. The text is for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WindowStoreError(pub String);

impl WindowStoreError {
    fn new(what: &str, path: &Path, error: &dyn std::fmt::Display) -> Self {
        Self(format!("{what} {}: {error}", path.display()))
    }
}

/// Windows in sled: a journal of changes, many in each entry, by their order. sled then has few
/// entries, which cost little time and memory however many windows there are; what is superseded
/// leaves when the store starts over.
///
/// Behind all lots stand a few empty ones.
///
/// An earlier version kept an entry for each window, by its key. Such a store is read, too.
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
    /// The number of the next entry.
    next_lot: u64,
}

impl SledWindowStore {
    /// The store in `dir`, whose parent must exist. Nothing is touched yet.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            db: None,
            next_lot: 0,
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
            read(&db, |key, value| match value.map(record::decode) {
                None => keep(key, Window::default()),
                Some(Some(window)) => keep(key, window),
                Some(None) => garbage += 1,
            })
            .map(|unreadable| garbage += unreadable)?;
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
        self.next_lot = 0;
        // First, so that it is closed if the rest fails.
        let db = self.db.insert(db);
        attempt("cannot write", &self.dir, || {
            for number in 0..BOOKENDS {
                db.insert((u64::MAX - number).to_be_bytes(), &lot::EMPTY)?;
            }
            Ok(())
        })
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

    fn write(&mut self, changes: &Changes) -> Result<(), WindowStoreError> {
        let Some(db) = &self.db else {
            return Err(WindowStoreError("closed".to_owned()));
        };
        let next_lot = &mut self.next_lot;
        attempt("cannot write", &self.dir, || {
            for lot in changes.lots() {
                db.insert(next_lot.to_be_bytes(), lot)?;
                *next_lot += 1;
            }
            db.flush().map(|_bytes| ())
        })
    }

    fn count(&self) -> usize {
        let mut keys = HashSet::new();
        let counted = self.db.as_ref().map(|db| {
            read(db, |key, value| {
                match value {
                    Some(_) => keys.insert(key),
                    None => keys.remove(&key),
                };
            })
        });
        match counted {
            Some(Ok(_unreadable)) => keys.len(),
            Some(Err(_)) | None => 0,
        }
    }

    fn bytes_on_disk(&self) -> u64 {
        let size = self.db.as_ref().map(sled::Db::size_on_disk);
        size.and_then(Result::ok).unwrap_or_default()
    }
}

/// Hands over every change that a database holds, in order, and says how many entries could not be
/// read to their end.
fn read(db: &sled::Db, mut take: impl FnMut(LimitKey, Option<&[u8]>)) -> sled::Result<usize> {
    let mut unreadable = 0;
    for pair in db.iter() {
        let (key, value) = pair?;
        if let Ok(window_key) = <[u8; 16]>::try_from(&*key) {
            // Of the earlier version.
            take(LimitKey::from_bytes(window_key), Some(&value));
        } else if !(key.len() == size_of::<u64>() && lot::decode(&value, &mut take)) {
            unreadable += 1;
        }
    }
    Ok(unreadable)
}

/// sled cuts a page of 17 entries in two, writes both again, the lower nine and the upper eight, and
/// goes on with the upper ones. These stand above whatever is written, so that the upper half is one
/// lot and these, which are small: a lot is then written twice and not three times, and as less
/// becomes garbage, less is moved to take back its space.
const BOOKENDS: u64 = 7;

/// Small segments and a small cache: the database is written and, at the next start, read once.
fn open(dir: &Path) -> sled::Result<sled::Db> {
    sled::Config::new()
        .path(dir)
        .mode(sled::Mode::LowSpace)
        .segment_size(64 * 1024)
        .cache_capacity(1024 * 1024)
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
