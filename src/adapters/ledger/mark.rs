//! The mark: how far the ledger was durable. It is overwritten behind each batch, and not synced then: so it
//! is exact after SIGKILL, and behind the ledger after a power cut, never ahead. A ledger that has not reached
//! it has lost events. That stays true, so the mark is only removed when the operator accepts a loss.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::files::{AppendFile, Files, write_whole};

use super::record::{Stamp, checked, seal};

/// The length of a mark in bytes, whatever its numbers, so that one overwrites the other.
const LENGTH: usize = 160;

/// The mark's file.
#[derive(Debug)]
pub(super) struct Mark {
    files: Arc<dyn Files>,
    path: PathBuf,
    /// Open once it was written.
    file: Option<Box<dyn AppendFile>>,
}

impl Mark {
    pub(super) fn new(files: Arc<dyn Files>, path: PathBuf) -> Self {
        let file = None;
        Self { files, path, file }
    }

    /// Overwrites the mark. A failure is logged, and leaves less to hold the ledger against.
    pub(super) fn note(&mut self, stamp: &Stamp) {
        let written = match &mut self.file {
            Some(file) => seal(stamp, LENGTH).and_then(|line| file.overwrite(0, &line)),
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
        write_whole(self.files.as_ref(), &self.path, &seal(stamp, LENGTH)?)?;
        self.file = Some(self.files.open(&self.path)?);
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
