//! Files on disk: their operations as traits, so that tests can make each one fail, and plain helpers.
//!
//! | Module | Files |
//! |---|---|
//! | [`data_dir`] | the data directory with lock and secret; a node's directory, which has only the lock |
//! | [`block_list`], [`counts`], [`questions`] | blocked networks, hourly counts, unanswered questions |
//! | `small_file` | one of these three, read and replaced whole |
//! | [`backup`] | archives of a data directory, written while the service runs, and restored |
//! | [`operator_file`], [`site_dir`] | files named by flags, such as secrets, and those of the site |

pub mod backup;
pub mod block_list;
pub mod counts;
pub mod data_dir;
pub mod operator_file;
pub mod part_file;
pub mod pem;
pub mod questions;
pub mod site_dir;
mod small_file;

use std::fmt::Debug;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::ports::StoreError;

use crate::adapters::system::user_id;

/// The data directory cannot be used. The text is one line for the operator: the problem and its solution.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process holds the lock.
    #[error("data directory {} is in use by another process: stop it, or choose another --data-dir", .0.display())]
    InUse(PathBuf),
    /// A command was given a directory that no service has used.
    #[error("{} is not a data directory: give the --data-dir of the service", .0.display())]
    NoDataDir(PathBuf),
    /// An operation of the file system failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb: "read".
        action: &'static str,
        path: PathBuf,
        /// The reason from the operating system.
        source: io::Error,
    },
    /// The directory, the ledger or the backup is refused, for the reason in the text.
    #[error("{0}")]
    Refused(String),
}

impl OpenError {
    /// Adds the operation and the path to an error of the file system.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

/// Mode of files that only the service's own user may read or write.
pub(crate) const PRIVATE_FILE: u32 = 0o600;

/// Mode of directories that only the service's own user may enter.
pub(crate) const PRIVATE_DIRECTORY: u32 = 0o700;

const NOT_REGULAR: &str = "is not a regular file";

/// Size of reads and writes.
pub(crate) const BUFFER_BYTES: usize = 64 * 1024;

/// Largest unsynced part of a large file, in bytes: sign-ups wait for the disk during a sync.
pub(crate) const UNSYNCED_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// True if there was no space: on the disk, or under a quota or a limit on file size.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// The error for callers of a store whose file `what` failed.
pub(crate) fn store_error(what: &str, error: &io::Error) -> StoreError {
    let reason = format!("{what}: {error}");
    match is_full(error) {
        true => StoreError::Full(reason),
        false => StoreError::Unavailable(reason),
    }
}

/// Removes a file, or a directory with its contents, if it exists.
///
/// # Errors
/// When the file system refuses; a part may have been removed.
pub(crate) fn remove_any(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_file) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    if_there(removed).map(drop)
}

/// The file system of a data directory.
pub trait Files: Debug + Send + Sync {
    /// Creates an empty file that only its owner can access, replacing an existing one.
    ///
    /// # Errors
    /// When the file system refuses.
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;

    /// Opens an existing file for reading, and for writing at its end.
    ///
    /// # Errors
    /// When the file system refuses.
    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;

    /// Removes a file. [`Files::sync_directory`] makes that durable.
    ///
    /// # Errors
    /// When the file system refuses, or there is none.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Replaces `to` by `from` atomically.
    ///
    /// # Errors
    /// When the file system refuses.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes renames, creations and removals in a directory durable.
    ///
    /// # Errors
    /// When the file system refuses.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// A file that grows at its end, and in which bytes may be overwritten.
pub trait AppendFile: Debug + Send {
    /// Writes once at the end and returns the number of bytes written: fewer than given when the disk is
    /// full.
    ///
    /// # Errors
    /// When nothing was written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Writes all of `bytes` at the offset `at`.
    ///
    /// # Errors
    /// When some of them may not have been written.
    fn overwrite(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything written so far durable.
    ///
    /// # Errors
    /// When it may not be durable. The kernel reports a lost write once: everything written since the last
    /// success must be truncated or written again, because the next success does not cover it.
    fn sync(&mut self) -> io::Result<()>;

    /// Truncates the file to `length` bytes and makes that durable.
    ///
    /// # Errors
    /// When the file may still be longer.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// The open file. Its path may belong to another file by now.
    fn as_file(&self) -> &File;
}

/// The operating system's files.
#[derive(Clone, Copy, Debug)]
pub struct SystemFiles;

impl Files for SystemFiles {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        // An existing file may be accessible to others, or be a link.
        if_there(fs::remove_file(path))?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(PRIVATE_FILE)
            .open(path)?;
        Ok(Box::new(SystemFile { file, end: 0 }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let end = file.metadata()?.len();
        Ok(Box::new(SystemFile { file, end }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

#[derive(Debug)]
struct SystemFile {
    file: File,
    /// Offset of the next append.
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

    fn as_file(&self) -> &File {
        &self.file
    }
}

/// A file's identity: device and inode.
pub(crate) type FileId = (u64, u64);

pub(crate) fn file_id(metadata: &Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

/// Writes a small file that after a power cut exists either completely or not at all: written next to its
/// destination, synced, renamed, the directory synced.
pub(crate) fn write_whole(files: &dyn Files, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = files.create(&beside)?;
    append_whole(file.as_mut(), bytes)?;
    publish(files, file.as_mut(), &beside, path)
}

/// Renames the complete `file` from `beside` to `path`, durably.
pub(crate) fn publish(
    files: &dyn Files,
    file: &mut dyn AppendFile,
    beside: &Path,
    path: &Path,
) -> io::Result<()> {
    file.sync()?;
    files.rename(beside, path)?;
    sync_parent(files, path)
}

/// Appends all of `bytes` with one write.
pub(crate) fn append_whole(file: &mut dyn AppendFile, bytes: &[u8]) -> io::Result<()> {
    let taken = file.append(bytes)?;
    if taken == bytes.len() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::StorageFull,
        format!("only {taken} of {} bytes were written", bytes.len()),
    ))
}

/// The bytes of a regular file of up to `bytes_max`.
pub(crate) fn read_up_to(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_open(open_regular(path)?, bytes_max)
}

/// Opens a regular file for reading.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    // Opening a pipe blocks until it has a writer.
    match fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::other(NOT_REGULAR)),
    }
}

/// The rest of a file of up to `bytes_max`.
pub(crate) fn read_open(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let reason = format!("is larger than {bytes_max} bytes");
        return Err(io::Error::other(reason));
    }
    Ok(bytes)
}

/// The result of an operation on a file, or `None` if it does not exist.
pub(crate) fn if_there<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}

/// Removes a file durably, if it exists.
pub(crate) fn remove_for_good(files: &dyn Files, path: &Path) -> io::Result<()> {
    match if_there(files.remove(path))? {
        Some(()) => sync_parent(files, path),
        None => Ok(()),
    }
}

/// Syncs the directory that contains `path`.
pub(crate) fn sync_parent(files: &dyn Files, path: &Path) -> io::Result<()> {
    let directory = parent(path);
    files.sync_directory(directory).map_err(|error| {
        let directory = directory.display();
        io::Error::new(
            error.kind(),
            format!("the directory {directory} cannot be synced: {error}"),
        )
    })
}

/// Denies others access to a file or directory, unless it is a link or anybody may put files into it. Returns
/// whether they had access.
///
/// # Errors
/// When it belongs to another user, or the file system refuses.
pub(crate) fn close_to_others(path: &Path) -> io::Result<bool> {
    let metadata = fs::symlink_metadata(path)?;
    let mode = metadata.mode();
    if metadata.is_symlink() || mode & 0o077 == 0 || mode & 0o1000 != 0 {
        return Ok(false);
    }
    if metadata.uid() != user_id() {
        return Err(io::Error::other("accessible to others, owned by another"));
    }
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7700))?;
    Ok(true)
}

pub(crate) fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| *parent != Path::new(""))
        .unwrap_or_else(|| Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_in_the_way_can_be_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        remove_any(&path).unwrap();
        fs::write(&path, "a file").unwrap();
        remove_any(&path).unwrap();
        fs::create_dir_all(path.join("with/content")).unwrap();
        remove_any(&path).unwrap();
        assert!(!path.exists());
        // A link is removed, its target stays.
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &path).unwrap();
        remove_any(&path).unwrap();
        assert!(!path.is_symlink() && elsewhere.path().exists());
    }
}
