//! The few file operations that the ledger rests on, behind traits, so that tests can make each of
//! them fail.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Only the service's own user may read or write what it keeps.
pub(crate) const PRIVATE_FILE: u32 = 0o600;

/// Nor may anybody else look into its directories.
pub(crate) const PRIVATE_DIRECTORY: u32 = 0o700;

/// What is read or written at a time. glibc hands out larger pieces as fresh pages, but only until
/// one of them is given back; and sled asks for many large ones, most of which it never touches.
pub(crate) const BUFFER_BYTES: usize = 64 * 1024;

/// Where ledgers are kept.
pub trait Files: Debug + Send + Sync {
    /// Makes an empty file, or empties the one that is there.
    ///
    /// # Errors
    /// When the file system refuses.
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;

    /// Opens a file that is there, to write behind its end.
    ///
    /// # Errors
    /// When the file system refuses.
    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;

    /// Puts `from` in the place of `to`, in one step.
    ///
    /// # Errors
    /// When the file system refuses.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes files made, renamed or removed in a directory stay so through a power cut.
    ///
    /// # Errors
    /// When the file system refuses.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Removes a file, if it is there. A power cut may bring it back, until its directory is synced.
    ///
    /// # Errors
    /// When the file system refuses.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// How many bytes are free for the service in the file system that `directory` is in.
    ///
    /// # Errors
    /// When the file system does not say.
    fn free_bytes(&self, directory: &Path) -> io::Result<u64>;
}

/// A file that grows at its end, and in which bytes may be replaced.
pub trait AppendFile: Debug + Send {
    /// Writes once behind the end and says how many bytes were taken: fewer than given when the
    /// disk is full.
    ///
    /// # Errors
    /// When nothing was taken.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Writes all of `bytes` over those that stand from the byte `at` on.
    ///
    /// # Errors
    /// When not all of them may have been replaced.
    fn overwrite(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes all that was written survive a power cut.
    ///
    /// # Errors
    /// When it may not survive. What was written since the last success must be given up then, or
    /// written again: the next success tells nothing of it.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file to `length` bytes and makes that survive a power cut.
    ///
    /// # Errors
    /// When the file may be longer still.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

/// The operating system's files.
#[derive(Clone, Copy, Debug)]
pub struct SystemFiles;

impl Files for SystemFiles {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(PRIVATE_FILE)
            .open(path)?;
        Ok(Box::new(SystemFile { file, end: 0 }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = OpenOptions::new().write(true).open(path)?;
        let end = file.metadata()?.len();
        Ok(Box::new(SystemFile { file, end }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn free_bytes(&self, directory: &Path) -> io::Result<u64> {
        let found = rustix::fs::statvfs(directory)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }
}

/// A file of the operating system.
#[derive(Debug)]
struct SystemFile {
    file: File,
    /// Where the next bytes go.
    end: u64,
}

impl AppendFile for SystemFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.file.write_at(bytes, self.end)?;
        self.end += taken as u64;
        Ok(taken)
    }

    fn overwrite(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.end = length;
        self.file.set_len(length)?;
        self.file.sync_all()
    }
}

/// Writes a small file that is either there whole after a power cut or not at all: beside its
/// place, synced, renamed, the directory synced.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = SystemFiles.create(&beside)?;
    if file.append(bytes)? != bytes.len() {
        return Err(io::ErrorKind::StorageFull.into());
    }
    file.sync()?;
    SystemFiles.rename(&beside, path)?;
    sync_parent(path)
}

/// Removes a file, if it is there, for good.
pub(crate) fn remove_for_good(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Ok(()) => sync_parent(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Syncs the directory that `path` is in.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    SystemFiles.sync_directory(parent(path))
}

/// The directory that `path` is in.
pub(super) fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| *parent != Path::new(""))
        .unwrap_or_else(|| Path::new("."))
}
