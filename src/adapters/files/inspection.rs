//! A look at a data directory through the operating system, without opening it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::ports::Clock as _;

use crate::adapters::files::if_there;
use crate::adapters::ledger::record::LEDGER;
use crate::adapters::system::SystemClock;

/// A data directory from outside.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// User id of the owner.
    pub owner: u32,
    /// Lag of the clock behind the last write to the ledger; `None` without a ledger.
    pub behind_ledger_ms: Option<u64>,
    /// Free space on its disk, in bytes.
    pub free_bytes: u64,
}

/// Inspects the directory at `path`; `None` if it does not exist.
///
/// # Errors
/// When this user cannot enter it or read its ledger.
pub fn inspect(path: &Path) -> io::Result<Option<Inspected>> {
    let Some(metadata) = if_there(fs::metadata(path))? else {
        return Ok(None);
    };
    let behind_ledger_ms = match if_there(File::open(path.join(LEDGER)))? {
        Some(ledger) => {
            let written = ledger.metadata()?.modified()?.duration_since(UNIX_EPOCH);
            let ms = written.unwrap_or_default().as_millis();
            let now_ms = u128::from(SystemClock.now().as_ms());
            Some(u64::try_from(ms.saturating_sub(now_ms)).unwrap_or(u64::MAX))
        }
        None => None,
    };
    let disk = rustix::fs::statvfs(path)?;
    Ok(Some(Inspected {
        owner: metadata.uid(),
        behind_ledger_ms,
        free_bytes: disk.f_bavail.saturating_mul(disk.f_frsize),
    }))
}
