//! Reasons why the data directory cannot be opened, in one line for the operator.

use std::io;
use std::path::{Path, PathBuf};

use crate::ports::EntropyError;

/// The store cannot start. The text is one line for the operator: the problem and its solution.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process holds the lock.
    #[error("data directory {} is in use by another process: stop it, or choose another --data-dir", .0.display())]
    InUse(PathBuf),
    /// A command was given a directory that no service has used.
    #[error("{} is not a data directory: give the --data-dir of the service", .0.display())]
    NoDataDir(PathBuf),
    /// A command was given the directory of another user.
    #[error(
        "{} belongs to user {owner}: run the command as that user, for example with `sudo -u '#{owner}'`",
        path.display()
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The id of the user.
        owner: u32,
    },
    /// An operation of the file system failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb: "read".
        action: &'static str,
        path: PathBuf,
        /// The reason from the operating system.
        source: io::Error,
    },
    /// There is no ledger, but a file or directory that is only created next to one.
    #[error(
        "{0} is missing or empty, but {1} shows that there was one: is the volume mounted? Restore it \
         from a backup, or create an empty one with `touch {2}` and start again (all contacts and keys \
         are then lost)",
        .ledger.display(), .evidence.display(), .accept.display()
    )]
    LedgerMissing {
        ledger: PathBuf,
        /// The entry that proves it existed.
        evidence: PathBuf,
        /// The file that accepts the loss.
        accept: PathBuf,
    },
    /// There is a FIFO, a directory, a device or a socket in place of a file.
    #[error("{} is not a regular file: move it away and start again", .0.display())]
    Irregular(PathBuf),
    /// The secret is missing, but the ledger has events recorded under one.
    #[error(
        "{0} is missing, but ledger.jsonl contains events recorded under it: restore it from a backup, \
         or accept a new one with `touch {1}` and start again (all quota cookies and \
         agents' tokens become invalid, no earlier sign-up is recognised as the same client's, and \
         imports no longer skip erased addresses; contacts and keys stay)",
        .secret.display(), .accept.display()
    )]
    SecretMissing {
        secret: PathBuf,
        /// The file that accepts a new secret.
        accept: PathBuf,
    },
    /// The secret is not the one under which the ledger's events were recorded.
    #[error(
        "{0} is not the secret that ledger.jsonl was recorded under: restore the right one from a \
         backup, or accept this one with `touch {1}` and start again (all quota cookies \
         and agents' tokens become invalid, no earlier sign-up is recognised as the same client's, \
         and imports no longer skip erased addresses; contacts and keys stay)",
        .secret.display(), .accept.display()
    )]
    SecretForeign {
        secret: PathBuf,
        /// The file that accepts the present secret.
        accept: PathBuf,
    },
    /// The secret has the wrong length.
    #[error("{} holds {found_bytes} bytes instead of 32: restore it from a backup, or remove it", path.display())]
    SecretLength {
        path: PathBuf,
        /// Its length, in bytes.
        found_bytes: u64,
    },
    /// Others may read or write the secret.
    #[error("{0} can be read or written by others (mode {mode:04o}): run `chmod 600 {0}`", .path.display())]
    SecretExposed { path: PathBuf, mode: u32 },
    /// There are no random bytes for a new secret.
    #[error("cannot create a secret: {0}")]
    Entropy(#[from] EntropyError),
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
