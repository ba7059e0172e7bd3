//! sled as the limiter uses it: its panics caught, its databases closed and removed.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::files::{BUFFER_BYTES, if_there};

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

/// Removes a database, or whatever else has its path, if anything does.
///
/// # Errors
/// When the file system refuses; part of it may be removed then.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_file) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    if_there(removed).map(drop)
}

/// Every file of the database in `directory`, sorted.
///
/// # Errors
/// When there is something else than files and directories: opening a FIFO could block for ever.
pub(super) fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let (path, file_type) = entry.and_then(|it| Ok((it.path(), it.file_type()?)))?;
        if file_type.is_dir() {
            found.extend(files(&path)?);
        } else if file_type.is_file() {
            found.push(path);
        } else {
            let name = path.display();
            return Err(io::Error::other(format!("{name} is not a regular file")));
        }
    }
    found.sort();
    Ok(found)
}

/// CRC-32 of the names, lengths and contents of `files`, which are under `directory`. sled does not
/// notice every changed byte.
pub(super) fn checksum(directory: &Path, files: &[PathBuf]) -> io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    for path in files {
        let name = path.strip_prefix(directory).unwrap_or(path);
        hasher.update(name.as_os_str().as_encoded_bytes());
        let file = File::open(path)?;
        hasher.update(&file.metadata()?.len().to_be_bytes());
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
        loop {
            let bytes = reader.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            hasher.update(bytes);
            let taken = bytes.len();
            reader.consume(taken);
        }
    }
    Ok(hasher.finalize())
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
