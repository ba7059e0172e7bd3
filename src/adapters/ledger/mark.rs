//! The mark: how far the ledger was durable. It is overwritten behind each batch, and not synced then: so it
//! is exact after SIGKILL, and behind the ledger after a power cut, never ahead. A ledger that has not reached
//! it has lost events. That stays true, so the mark is only removed when the operator accepts a loss.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::adapters::files::write_whole;

use super::record::{Stamp, checked, seal};

/// The length of a mark in bytes, whatever its numbers, so that one overwrites the other.
const LENGTH: usize = 160;

/// The mark's file.
#[derive(Debug)]
pub(super) struct Mark {
    path: PathBuf,
    /// Open once it was written.
    file: Option<File>,
}

impl Mark {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// Overwrites the mark. A failure is logged, and leaves less to hold the ledger against.
    pub(super) fn note(&mut self, stamp: &Stamp) {
        let written = match &self.file {
            Some(file) => seal(stamp, LENGTH).and_then(|line| file.write_all_at(&line, 0)),
            None => self.write(stamp),
        };
        if let Err(error) = written {
            self.file = None;
            tracing::warn!(
                %error,
                path = %self.path.display(),
                "the end of the ledger cannot be marked: were it missing later, nobody would notice"
            );
        }
    }

    /// Writes the mark durably.
    pub(super) fn write(&mut self, stamp: &Stamp) -> io::Result<()> {
        write_whole(&self.path, &seal(stamp, LENGTH)?)?;
        self.file = Some(File::options().write(true).open(&self.path)?);
        Ok(())
    }
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
            "the mark of the ledger's end cannot be read: a missing end would not be noticed"
        );
    }
    Ok(stamp)
}
