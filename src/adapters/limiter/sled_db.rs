//! sled as the limiter uses it: its panics caught, its databases closed.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long sled's threads may take to end.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);

/// sled panicked, as it does on many damaged files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sled panicked")]
pub(super) struct Panicked;

/// Runs sled and turns a panic into an error. The caller gives the database up after an error, so an
/// inconsistent state is never used.
pub(super) fn guarded<T, E: From<Panicked>>(run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_panic| Err(Panicked.into()))
}

/// Closes the database in `directory`, of which `db` is the last handle, and waits until sled has
/// stopped writing. Its threads go on for a moment after the last handle is dropped; they share the
/// lock on the file `db`, so taking that lock waits for them. Dropping the handle may block for
/// ever, because sled waits for its flusher even if that has panicked.
///
/// # Errors
/// When the file cannot be locked within ten seconds, or sled panics.
pub(super) fn close(db: sled::Db, directory: &Path) -> io::Result<()> {
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
