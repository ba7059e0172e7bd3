//! Reasons why the data directory cannot be opened, backed up or restored, in one line for the operator.

use std::io;
use std::path::{Path, PathBuf};

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
    /// The ledger was written by another version.
    #[error(
        "{} has format {format}, but this version reads format {own}: start the version that wrote it, or \
         restore a backup that this version made",
        path.display()
    )]
    ForeignFormat {
        path: PathBuf,
        format: u64,
        /// The format of this version.
        own: u64,
    },
    /// The ledger lost acknowledged data.
    #[error(
        "{0} is damaged at line {line}: {reason}; restore it from a backup, or keep every intact \
         line and drop the rest with `landing-api ledger repair --data-dir {1}`",
        .path.display(), .path.parent().unwrap_or(.path).display()
    )]
    Damaged {
        path: PathBuf,
        /// The first damaged line; the head is line 1.
        line: u64,
        reason: String,
    },
    /// The directory or the backup is refused, for the reason in the text.
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
