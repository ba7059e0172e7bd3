//! The data directory: its lock, and the secret in it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::domain::{Channel, Secret};
use crate::ports::{Entropy, random};

use crate::adapters::admin_socket;
use crate::adapters::files::block_list;
use crate::adapters::files::counts;
use crate::adapters::files::operator_file::read_secret_bytes;
use crate::adapters::files::{
    Files, OpenError, PRIVATE_DIRECTORY, PRIVATE_FILE, SystemFiles, close_to_others, if_there,
    remove_any, remove_for_good, sync_parent, write_whole,
};
pub(crate) use crate::adapters::ledger::record::LEDGER;
use crate::adapters::ledger::record::{Ledger, preview};
use crate::adapters::system::{SystemEntropy, user_id};

/// Attempts to take a lock that is held, and the pause between them: a process that is ending or forking
/// releases it within a second.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

const LOCK: &str = "lock";
pub(crate) const SECRET: &str = "secret";
/// The file that records the durable length of the ledger.
pub(crate) const MARK: &str = "mark";
/// There while a restore is incomplete.
pub(crate) const RESTORING: &str = "restoring";
/// The directory of the ACME certificate.
pub const TLS: &str = "tls";
/// The directory of the limiter's windows.
pub const WINDOWS: &str = "windows";
/// The file of the hourly counts.
pub const COUNTS: &str = "counts.jsonl";
/// The file of the blocked networks.
pub const BLOCKS: &str = "blocks.jsonl";
/// The file of the questions that the assistant could not answer.
pub const QUESTIONS: &str = "questions.jsonl";
/// The file that the operator creates for a single start.
const ACCEPT_NEW_SECRET: &str = "accept-new-secret";

/// The entries of a data directory. Replacements and files that were set aside have the name of the entry with another
/// extension.
pub const ENTRIES: [&str; 13] = [
    LOCK,
    LEDGER,
    SECRET,
    MARK,
    BLOCKS,
    QUESTIONS,
    "held-webhook",
    "held-mail",
    WINDOWS,
    COUNTS,
    TLS,
    RESTORING,
    admin_socket::NAME,
];

/// The entries whose sizes `status` shows.
const MEASURED: [&str; 2] = [LEDGER, COUNTS];

/// The files included in backups, with their largest sizes in bytes.
pub(crate) const BACKED_UP: [(&str, u64); 4] = [
    (LEDGER, u64::MAX),
    (SECRET, 32),
    (COUNTS, counts::FILE_BYTES_MAX),
    (BLOCKS, block_list::FILE_BYTES_MAX),
];

/// The file that holds a channel of deliveries, in the directory at `path`.
pub(crate) fn held(path: &Path, channel: Channel) -> PathBuf {
    path.join(format!("held-{}", channel.as_str()))
}

/// Creates an empty file, durably: one that holds a channel, or marks a restore.
pub(crate) fn create_empty(files: &dyn Files, path: &Path) -> io::Result<()> {
    files.create(path)?.sync()?;
    sync_parent(files, path)
}

/// A locked data directory with its secret.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    secret: Secret,
    lock: Arc<NodeLock>,
}

impl DataDir {
    /// Locks the directory at `path`, which is created if it is missing. The lock lasts until this and
    /// every store opened on it are dropped. A new directory gets an empty ledger and a secret.
    ///
    /// # Errors
    /// [`OpenError`] when another process has the lock, when the ledger is lost, or when the secret cannot
    /// be read or created or is not the ledger's. Existing files are then unchanged.
    pub fn open(path: &Path, entropy: &dyn Entropy) -> Result<Self, OpenError> {
        Self::open_on(&(Arc::new(SystemFiles) as _), path, entropy)
    }

    /// Opens the directory at `path` with other file operations than the system's.
    ///
    /// # Errors
    /// As [`DataDir::open`].
    pub fn open_on(
        files: &Arc<dyn Files>,
        path: &Path,
        entropy: &dyn Entropy,
    ) -> Result<Self, OpenError> {
        let lock = create_and_lock(files.as_ref(), path)?;
        let secret = Self::secret_of(files, path, entropy)?;
        // Left over from a restore that was killed in its last step.
        let _ = remove_any(&path.join(RESTORING));
        Ok(Self {
            path: path.to_path_buf(),
            secret,
            lock: Arc::new(lock),
        })
    }

    /// Locks the existing directory at `path`, for a command. Root does not open a directory of another
    /// user, because the service could not read the files that root creates.
    ///
    /// # Errors
    /// As [`DataDir::open`]; and when it is not a data directory, or belongs to another user.
    pub fn open_existing(path: &Path) -> Result<Self, OpenError> {
        if !is_data_dir(path) {
            return Err(OpenError::NoDataDir(path.to_path_buf()));
        }
        refuse_foreign(path)?;
        Self::open(path, &SystemEntropy)
    }

    /// Creates the directory at `path` as a service's first start does, unless it is a data directory already.
    /// Returns whether it did.
    ///
    /// # Errors
    /// As [`DataDir::open_existing`].
    pub fn make(path: &Path) -> Result<bool, OpenError> {
        if is_data_dir(path) {
            return Ok(false);
        }
        if path.exists() {
            refuse_foreign(path)?;
        }
        Self::open(path, &SystemEntropy).map(|_dir| true)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// The lock, which lasts as long as any clone of it.
    pub(crate) fn lock(&self) -> Arc<NodeLock> {
        Arc::clone(&self.lock)
    }

    /// Removes the acceptance of a new secret, which is valid for one start only.
    pub(crate) fn withdraw_acceptance(&self, files: &dyn Files) -> Result<(), OpenError> {
        let path = self.path.join(ACCEPT_NEW_SECRET);
        remove_for_good(files, &path).map_err(OpenError::io("remove", &path))
    }

    /// The ledger's secret, created if no event depends on one yet. A missing ledger is created before the
    /// secret: a secret without a ledger means that the ledger was lost.
    fn secret_of(
        files: &Arc<dyn Files>,
        directory: &Path,
        entropy: &dyn Entropy,
    ) -> Result<Secret, OpenError> {
        let (path, ledger) = (directory.join(SECRET), directory.join(LEDGER));
        let preview = preview(&ledger).map_err(OpenError::io("read", &ledger))?;
        let is_begun = preview.is_some();
        if !is_begun {
            refuse_if_lost(directory)?;
        }
        let found = read_secret(&path)?;
        let accepted = directory.join(ACCEPT_NEW_SECRET);
        let is_accepted = accepted.try_exists();
        if let Some(preview) = preview.filter(|preview| preview.has_events)
            && !is_accepted.map_err(OpenError::io("look at", &accepted))?
        {
            match (&found, preview.head) {
                (None, _) => {
                    let problem = "is missing, but ledger.jsonl contains events recorded under it";
                    return Err(refused_secret(directory, problem));
                }
                (Some(secret), Some(head)) if head.secret != secret.id() => {
                    let problem = "is not the secret of ledger.jsonl";
                    return Err(refused_secret(directory, problem));
                }
                (Some(_), _) => {}
            }
        }
        let is_new = found.is_none();
        let secret = found.unwrap_or_else(|| Secret::new(random(entropy)));
        if !is_begun {
            let begun = Ledger::begin(files, &ledger, &secret.id());
            begun.map_err(OpenError::io("create", &ledger))?;
        }
        if is_new {
            let written = write_whole(files.as_ref(), &path, secret.as_bytes());
            written.map_err(OpenError::io("write", &path))?;
        }
        Ok(secret)
    }
}

/// True if a service has used the directory at `path`.
fn is_data_dir(path: &Path) -> bool {
    path.join(LEDGER).exists() || path.join(SECRET).exists()
}

/// Reads the secret at `path`, if there is one.
fn read_secret(path: &Path) -> Result<Option<Secret>, OpenError> {
    let read = if_there(read_secret_bytes(path)).map_err(OpenError::io("read", path))?;
    let secret = read.map(|bytes| {
        let found = bytes.len();
        bytes.try_into().map(Secret::new).map_err(|_wrong_length| {
            let name = path.display();
            OpenError::Refused(format!(
                "{name} has {found} bytes instead of 32: restore it from a backup, or remove it"
            ))
        })
    });
    secret.transpose()
}

/// The open files that hold a node's lock until they are dropped.
pub type NodeLock = [File; 2];

/// Creates the directory at `path` if it is missing, and locks it. The lock lasts until the files are dropped. For a
/// node whose contacts and keys are in a database, this is all; a ledger is left alone.
///
/// # Errors
/// [`OpenError`] when another process has the lock, or the directory cannot be created.
pub fn create_and_lock(files: &dyn Files, path: &Path) -> Result<NodeLock, OpenError> {
    create_private(files, path).map_err(OpenError::io("create", path))?;
    let lock = lock(path)?;
    tighten(path);
    Ok(lock)
}

/// The sizes in bytes of entries in the data directory at `path`, by name. Those that cannot be read are left out.
pub fn sizes(path: &Path) -> Vec<(&'static str, u64)> {
    let size = |name: &'static str| Some((name, fs::metadata(path.join(name)).ok()?.len()));
    MEASURED.into_iter().filter_map(size).collect()
}

fn refused_secret(directory: &Path, problem: &str) -> OpenError {
    let (secret, accept) = (directory.join(SECRET), directory.join(ACCEPT_NEW_SECRET));
    OpenError::Refused(format!(
        "{} {problem}: restore the right one from a backup, or accept another one with `touch {}` and \
         start again (all quota cookies and agents' tokens become invalid, no earlier sign-up is \
         recognised as the same client's, and imports no longer skip erased addresses; contacts and keys \
         stay)",
        secret.display(),
        accept.display()
    ))
}

/// Fails if there is evidence of an earlier ledger.
fn refuse_if_lost(directory: &Path) -> Result<(), OpenError> {
    let traces = [RESTORING, SECRET, MARK].map(|name| directory.join(name));
    let found = traces.iter().find(|trace| trace.symlink_metadata().is_ok());
    let Some(evidence) = found else {
        return Ok(());
    };
    Err(OpenError::Refused(format!(
        "{} is missing or empty, but {} shows that there was one: is the volume mounted? Restore it from a \
         backup, or move {RESTORING}, {SECRET} and {MARK} away to start with an empty one (all contacts \
         and keys are then lost)",
        directory.join(LEDGER).display(),
        evidence.display(),
    )))
}

/// Fails if the directory at `path` belongs to another user, who could not read the files that this user
/// creates there.
///
/// # Errors
/// When the directory belongs to another user, or its owner cannot be read.
pub fn refuse_foreign(path: &Path) -> Result<(), OpenError> {
    let metadata = fs::metadata(path).map_err(OpenError::io("open", path))?;
    let owner = metadata.uid();
    if owner == user_id() {
        return Ok(());
    }
    Err(OpenError::Refused(format!(
        "{} belongs to user {owner}: run the command as that user, for example with `sudo -u '#{owner}'`",
        path.display()
    )))
}

/// Creates a directory and its missing parents, private and durably. An existing one keeps its
/// mode.
pub(crate) fn create_private(files: &dyn Files, path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|ancestor| *ancestor != Path::new("") && !ancestor.exists())
        .collect();
    for directory in missing.into_iter().rev() {
        DirBuilder::new()
            .mode(PRIVATE_DIRECTORY)
            .create(directory)?;
        sync_parent(files, directory)?;
    }
    Ok(())
}

/// Locks the directory and the file `lock` in it. The directory, because `lock` can be removed and
/// created again; the file, because some file systems cannot lock directories.
pub(crate) fn lock(path: &Path) -> Result<NodeLock, OpenError> {
    // A path that ends with a dot is a directory's: opening a pipe would block.
    let directory = File::open(path.join(".")).map_err(OpenError::io("open", path))?;
    match take(&directory) {
        Err(TryLockError::WouldBlock) => return Err(OpenError::InUse(path.to_path_buf())),
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    let name = path.join(LOCK);
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE_FILE)
        // A pipe is an error: it would block until it has a reader.
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(&name)
        .map_err(OpenError::io("open", &name))?;
    match take(&file) {
        Ok(()) => Ok([directory, file]),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse(path.to_path_buf())),
        Err(TryLockError::Error(error)) => Err(OpenError::io("lock", &name)(error)),
    }
}

fn take(file: &File) -> Result<(), TryLockError> {
    for _ in 1..LOCK_TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::park_timeout(LOCK_PAUSE),
            taken => return taken,
        }
    }
    file.try_lock()
}

/// Denies other users access to the service's files in `directory` and to the directory itself: an orchestrator
/// may open a volume to a group at each mount. Another user's files only cause a warning.
fn tighten(directory: &Path) {
    let stem = |name: &[u8]| name.split(|byte| *byte == b'.').next().map(<[u8]>::to_vec);
    let stems = ENTRIES.map(|name| stem(name.as_bytes()));
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    // sled makes its directory, and the files in it.
    let ours = entries
        .map(|entry| entry.file_name())
        .filter(|name| name != WINDOWS && stems.contains(&stem(name.as_encoded_bytes())));
    // Without a secret, the directory may not be ours.
    let is_ours = directory.join(SECRET).exists();
    let whole = is_ours.then(|| directory.to_owned());
    let paths = ours.map(|name| directory.join(name)).chain(whole);
    let mut closed = 0;
    for path in paths {
        match close_to_others(&path) {
            Ok(is_closed) => closed += u32::from(is_closed),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "run chmod -R go= on the data directory");
            }
        }
    }
    if closed > 0 {
        tracing::warn!(
            closed,
            "the data directory was accessible to other users: access is now restricted to its owner"
        );
    }
}
