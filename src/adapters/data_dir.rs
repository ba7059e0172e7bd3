//! The data directory: its lock, and the secret in it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::domain::secret::Secret;
use crate::ports::Entropy;

use super::files::{PRIVATE_DIRECTORY, PRIVATE_FILE, remove_for_good, sync_parent, write_whole};
use super::ledger::record::{Glimpse, LEDGER, glimpse};
use super::open_error::OpenError;

/// How often, and after what pause, a lock that is taken is tried again: a process that is ending or
/// forking releases it within a second.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

const LOCK: &str = "lock";
const SECRET: &str = "secret";
const WINDOWS: &str = "windows";
const ACCEPT_NEW_SECRET: &str = "accept-new-secret";
const ACCEPT_DAMAGE: &str = "accept-damage";

/// A locked data directory with its secret.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    secret: Secret,
    lock: Arc<File>,
}

impl DataDir {
    /// Locks the directory at `path`, which is created if it is missing. The lock lasts until this and
    /// every store opened on it are dropped.
    ///
    /// # Errors
    /// [`OpenError`] when another process has the lock, or when the secret cannot be read or created
    /// or is not the ledger's. Existing files are unchanged then.
    pub fn open(path: &Path, entropy: &dyn Entropy) -> Result<Self, OpenError> {
        create_private(path).map_err(OpenError::io("create", path))?;
        let lock = lock(path)?;
        warn_if_exposed(path);
        let secret = Self::secret_of(path, entropy)?;
        Ok(Self {
            path: path.to_path_buf(),
            secret,
            lock: Arc::new(lock),
        })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of the limiter's windows.
    #[must_use]
    pub fn windows(&self) -> PathBuf {
        self.path.join(WINDOWS)
    }

    /// Its secret.
    #[must_use]
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// The lock, which lasts as long as any clone of it.
    pub(super) fn lock(&self) -> Arc<File> {
        Arc::clone(&self.lock)
    }

    /// The file by which the operator accepts the loss of damaged lines.
    pub(super) fn accept_damage(&self) -> PathBuf {
        self.path.join(ACCEPT_DAMAGE)
    }

    /// Removes the files of acceptance, which hold for one start.
    pub(super) fn withdraw_acceptance(&self) -> Result<(), OpenError> {
        for name in [ACCEPT_NEW_SECRET, ACCEPT_DAMAGE] {
            let path = self.path.join(name);
            remove_for_good(&path).map_err(OpenError::io("remove", &path))?;
        }
        Ok(())
    }

    /// The ledger's secret, created if no event depends on one yet.
    fn secret_of(directory: &Path, entropy: &dyn Entropy) -> Result<Secret, OpenError> {
        let path = directory.join(SECRET);
        let accept = directory.join(ACCEPT_NEW_SECRET);
        let ledger = directory.join(LEDGER);
        let glimpse = glimpse(&ledger).map_err(OpenError::io("read", &ledger))?;
        let is_accepted = accept
            .try_exists()
            .map_err(OpenError::io("look at", &accept))?;
        let bound = glimpse.filter(|glimpse| glimpse.has_events && !is_accepted);
        match (read_secret(&path)?, bound) {
            (None, Some(_)) => Err(OpenError::SecretMissing {
                secret: path,
                accept,
            }),
            (None, None) => make_secret(&path, entropy),
            (
                Some(secret),
                Some(Glimpse {
                    secret: Some(id), ..
                }),
            ) if id != secret.id() => Err(OpenError::SecretForeign {
                secret: path,
                accept,
            }),
            (Some(secret), Some(_) | None) => Ok(secret),
        }
    }
}

/// Creates a directory and its missing parents, private and durably. An existing one keeps its
/// mode.
fn create_private(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|ancestor| *ancestor != Path::new("") && !ancestor.exists())
        .collect();
    for directory in missing.into_iter().rev() {
        DirBuilder::new()
            .mode(PRIVATE_DIRECTORY)
            .create(directory)?;
        sync_parent(directory)?;
    }
    Ok(())
}

fn lock(directory: &Path) -> Result<File, OpenError> {
    let path = directory.join(LOCK);
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE_FILE)
        .open(&path)
        .map_err(OpenError::io("open", &path))?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => thread::park_timeout(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => return Err(OpenError::io("lock", &path)(error)),
        }
    }
    Err(OpenError::InUse(directory.to_path_buf()))
}

/// The ledger holds addresses.
fn warn_if_exposed(path: &Path) {
    let mode = fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
    if mode & 0o077 != 0 {
        tracing::warn!("the data directory is open to other users; chmod 700 closes it");
    }
}

fn read_secret(path: &Path) -> Result<Option<Secret>, OpenError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(OpenError::io("read", path)(error)),
    };
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(OpenError::SecretExposed {
            path: path.to_path_buf(),
            mode,
        });
    }
    let bytes = fs::read(path).map_err(OpenError::io("read", path))?;
    match <[u8; 32]>::try_from(bytes.as_slice()) {
        Ok(bytes) => Ok(Some(Secret::new(bytes))),
        Err(_) => Err(OpenError::SecretLength {
            path: path.to_path_buf(),
            found_bytes: bytes.len() as u64,
        }),
    }
}

fn make_secret(path: &Path, entropy: &dyn Entropy) -> Result<Secret, OpenError> {
    let mut bytes = [0; 32];
    entropy.fill(&mut bytes)?;
    write_whole(path, &bytes).map_err(OpenError::io("write", path))?;
    Ok(Secret::new(bytes))
}
