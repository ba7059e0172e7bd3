//! The secret under which a ledger was recorded.

use std::fs;
use std::path::Path;

use crate::adapters::files::data_dir::SECRET;
use crate::adapters::ledger::record::Verified;
use crate::domain::Secret;

use super::error::BackupError;

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
