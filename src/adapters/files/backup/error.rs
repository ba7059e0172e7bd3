//! Errors of backups and restores, and the check of the secret that both make.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::adapters::files::data_dir::SECRET;
use crate::adapters::files::open_error::OpenError;
use crate::adapters::ledger::record::Verified;
use crate::domain::Secret;

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
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let failed = OpenError::io(action, path);
        move |error| failed(error).into()
    }
}

/// The bytes of the secret in the directory at `path`, which must be that of its `verified` ledger.
pub(super) fn read_secret(path: &Path, verified: &Verified) -> Result<Vec<u8>, BackupError> {
    let secret = path.join(SECRET);
    let bytes = fs::read(&secret).map_err(BackupError::io("read", &secret))?;
    let id = <[u8; 32]>::try_from(bytes.as_slice()).map(|bytes| Secret::new(bytes).id());
    match id.ok().as_ref() == Some(&verified.head.secret) {
        true => Ok(bytes),
        false => Err(BackupError::Secret),
    }
}
