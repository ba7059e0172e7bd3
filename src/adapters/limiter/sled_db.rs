//! sled as the limiter uses it: its panics caught, its databases closed and removed.

use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::adapters::files::if_there;

/// How long sled's threads may take to end.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);

/// sled panicked, as it does on many damaged files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sled panicked")]
pub(crate) struct Panicked;

/// Runs sled and turns a panic into an error. The caller gives the database up after an error, so an
/// inconsistent state is never used.
pub(crate) fn guarded<T, E: From<Panicked>>(run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_panic| Err(Panicked.into()))
}

/// Removes a database, or whatever else has its path, if anything does.
///
/// # Errors
/// When the file system refuses; part of it may be removed then.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_file) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    if_there(removed).map(drop)
}

/// Closes the database in `directory`, of which `db` is the last handle, and waits until sled has
/// stopped writing. Its threads go on for a moment after the last handle is dropped; they share the
/// lock on the file `db`, so taking that lock waits for them. Dropping the handle may block for
/// ever, because sled waits for its flusher even if that has panicked.
///
/// # Errors
/// When the file cannot be locked within ten seconds, or sled panics.
pub(crate) fn close(db: sled::Db, directory: &Path) -> io::Result<()> {
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
    fn whatever_is_in_the_way_can_be_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        remove(&path).unwrap();
        fs::write(&path, "a file").unwrap();
        remove(&path).unwrap();
        fs::create_dir_all(path.join("with/content")).unwrap();
        remove(&path).unwrap();
        assert!(!path.exists());
        // A link goes, what it points to stays.
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &path).unwrap();
        remove(&path).unwrap();
        assert!(!path.is_symlink() && elsewhere.path().exists());
    }

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
