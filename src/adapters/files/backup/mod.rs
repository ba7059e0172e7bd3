//! Archives of a data directory: a tar file with
//!
//! | File | Content |
//! |---|---|
//! | `ledger.jsonl` | the ledger up to its last whole batch |
//! | `secret` | the secret that the ledger's hashes were made with |
//! | `counts.jsonl` | the hourly counts |
//! | `blocks.jsonl` | the blocked networks |
//!
//! The ledger comes last, so that a truncated archive lacks it. Each of its lines has a checksum, and its head
//! contains the secret's id. Counts and blocks have no checksums: a flipped bit there changes a number in a
//! chart, or a network in a list that people can read.
//!
//! The mark and the limiter's windows are left out: the mark belongs to the running ledger, and windows are
//! useless later. `write` takes a consistent copy while a service runs, because the ledger only grows.

mod restore;
mod write;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::adapters::files::data_dir::SECRET;
use crate::adapters::files::open_error::OpenError;
use crate::adapters::ledger::record::Verified;
use crate::domain::Secret;

pub use restore::{Restored, replaced_files, restore};
pub use write::{Written, write, write_file};

/// The backup or restore failed. The text is one line for the operator.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The data directory, the ledger in the archive or another file cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Not an archive, or a damaged one. Nothing was restored.
    #[error("the backup cannot be used: {0}; nothing was restored")]
    Archive(String),
    /// The secret is not the one in the ledger's head.
    #[error("the secret is not the one that ledger.jsonl was recorded under")]
    Secret,
    /// The data directory has a ledger already.
    #[error(
        "{} already has a ledger: restore into another --data-dir, or move this one away first",
        .0.display()
    )]
    Occupied(PathBuf),
}

impl BackupError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let failed = OpenError::io(action, path);
        move |error| failed(error).into()
    }
}

/// The bytes of the secret in the directory at `path`, which must be that of its `verified` ledger.
fn read_secret(path: &Path, verified: &Verified) -> Result<Vec<u8>, BackupError> {
    let secret = path.join(SECRET);
    let bytes = fs::read(&secret).map_err(BackupError::io("read", &secret))?;
    let id = <[u8; 32]>::try_from(bytes.as_slice()).map(|bytes| Secret::new(bytes).id());
    match id.ok().as_ref() == Some(&verified.head.secret) {
        true => Ok(bytes),
        false => Err(BackupError::Secret),
    }
}
