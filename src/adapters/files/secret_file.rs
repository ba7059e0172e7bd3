//! The file of the data directory's secret: read at the start, and checked while the service runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::Secret;

use crate::adapters::files::open_error::OpenError;
use crate::adapters::files::{Files, close_to_others, if_there, write_whole};

/// The file of the secret in use.
pub(crate) struct SecretFile {
    files: Arc<dyn Files>,
    path: PathBuf,
    secret: Secret,
    interval: Duration,
    looked_at: Instant,
    /// True if a problem with it was already logged.
    is_warned: bool,
}

impl SecretFile {
    /// The file at `path`, just read. It is checked every `interval`.
    pub(crate) fn new(
        files: Arc<dyn Files>,
        path: PathBuf,
        secret: Secret,
        interval: Duration,
    ) -> Self {
        Self {
            files,
            path,
            secret,
            interval,
            looked_at: Instant::now(),
            is_warned: false,
        }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.looked_at.elapsed() >= self.interval
    }

    /// Restores the file if it is gone, because the next start would be refused without it. Another secret in its
    /// place is left alone, and so is a file that a start would refuse; this is logged once.
    pub(crate) fn look_after(&mut self) {
        self.looked_at = Instant::now();
        let wrong = match read(&self.path) {
            Ok(Some(found)) if found == self.secret => None,
            Ok(Some(_other)) => Some("it differs from the one in use".to_owned()),
            Ok(None) => {
                let restored = write_whole(self.files.as_ref(), &self.path, self.secret.as_bytes());
                if restored.is_ok() {
                    tracing::warn!(
                        path = %self.path.display(),
                        "the secret was removed while the service was running: it is restored"
                    );
                }
                let failed = restored.err();
                failed.map(|error| format!("it was removed and cannot be restored: {error}"))
            }
            Err(error) => Some(error.to_string()),
        };
        let was_warned = std::mem::replace(&mut self.is_warned, wrong.is_some());
        if let Some(reason) = wrong.filter(|_| !was_warned) {
            tracing::warn!(
                path = %self.path.display(),
                reason,
                "the next start would be refused because of the secret: put back the original"
            );
        }
    }
}

/// Reads the secret at `path`, if there is one.
///
/// # Errors
/// [`OpenError`] when it cannot be read, others may read it, or it is not a secret.
pub(crate) fn read(path: &Path) -> Result<Option<Secret>, OpenError> {
    // If this fails, the check of the mode below reports it.
    let _ = close_to_others(path);
    let metadata = if_there(fs::metadata(path)).map_err(OpenError::io("read", path))?;
    let Some(metadata) = metadata else {
        return Ok(None);
    };
    if !metadata.is_file() {
        return Err(OpenError::irregular(path));
    }
    let (name, mode) = (path.display(), metadata.permissions().mode() & 0o7777);
    if mode & 0o077 != 0 {
        return Err(OpenError::Refused(format!(
            "{name} can be read or written by others (mode {mode:04o}): run `chmod 600 {name}`"
        )));
    }
    let bytes = fs::read(path).map_err(OpenError::io("read", path))?;
    let found = bytes.len();
    match bytes.try_into() {
        Ok(bytes) => Ok(Some(Secret::new(bytes))),
        Err(_wrong_length) => Err(OpenError::Refused(format!(
            "{name} holds {found} bytes instead of 32: restore it from a backup, or remove it"
        ))),
    }
}
