//! Letting go of a sled database, for both of its users.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long sled's threads may take to finish.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);

/// Closes the database in `directory`, of which `db` is the last handle, and waits until nobody
/// writes its files any more. sled's threads write on for a moment after the last handle is gone;
/// they share the lock on its file `db`, so whoever can take that lock comes after them.
///
/// # Errors
/// When the file cannot be locked, or is not let go of within ten seconds. sled may panic instead.
pub(super) fn close(db: sled::Db, directory: &Path) -> io::Result<()> {
    drop(db);
    let file = File::open(directory.join("db"))?;
    let (released, is_released) = mpsc::channel();
    thread::Builder::new().spawn(move || {
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
