//! Errors of backups and restores.

use std::io;
use std::path::{Path, PathBuf};

use crate::adapters::files::open_error::OpenError;

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
