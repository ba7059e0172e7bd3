//! The mark of a clean stop: the state that it left the ledger in. A ledger that has not reached it has lost
//! events. That stays true, so the mark is only removed when the operator accepts a loss.

use std::fs;
use std::io;
use std::path::Path;

use crate::adapters::files::write_whole;

use super::record::{Stamp, checked, seal};

/// Writes the mark durably.
pub(super) fn write(path: &Path, stamp: &Stamp) -> io::Result<()> {
    write_whole(path, &seal(stamp, 0)?)
}

/// Reads the mark. One that is not as it was written counts as none.
pub(super) fn read(path: &Path) -> io::Result<Option<Stamp>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let stamp = checked(line).and_then(|_members| serde_json::from_slice(line).ok());
    if stamp.is_none() {
        tracing::warn!(
            path = %path.display(),
            "the mark of the last clean stop cannot be read: a missing end of the ledger would not be noticed"
        );
    }
    Ok(stamp)
}
