//! The mark: the durable length of the ledger. It is overwritten after each batch without a sync, so it is exact
//! after SIGKILL, and behind the ledger after a power cut, never ahead. A ledger shorter than its mark has
//! lost events, and stays refused until the operator repairs it, which writes another mark.
//!
//! It also identifies its own file by its creation time, which no copy preserves: a ledger with a foreign mark, or
//! without one, is a copy, and another service may have made its deliveries.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use crate::adapters::files::{AppendFile, Files, append_whole, if_there, open_regular, publish};

use super::record::{Ledger, Stamp, checked, seal};

/// Fixed length of a mark in bytes, so that one overwrites the other.
const LENGTH: usize = 192;

/// The mark's file.
#[derive(Debug)]
pub(super) struct Mark {
    files: Arc<dyn Files>,
    path: PathBuf,
    /// Open after the first write, with its identity.
    file: Option<(Box<dyn AppendFile>, u64)>,
}

impl Mark {
    pub(super) fn new(files: Arc<dyn Files>, path: PathBuf) -> Self {
        let file = None;
        Self { files, path, file }
    }

    /// Overwrites the mark. A failure is logged, and makes the check of the next start weaker.
    pub(super) fn note(&mut self, ledger: &Ledger) {
        let written = match &mut self.file {
            Some((file, place)) => line(ledger, *place).and_then(|line| file.overwrite(0, &line)),
            None => self.write(ledger),
        };
        if let Err(error) = written {
            self.file = None;
            tracing::warn!(
                %error,
                path = %self.path.display(),
                "the end of the ledger cannot be marked: a later loss would go unnoticed"
            );
        }
    }

    /// Writes the mark durably.
    pub(super) fn write(&mut self, ledger: &Ledger) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        let mut file = self.files.create(&beside)?;
        let place = place(file.as_file())?;
        append_whole(file.as_mut(), &line(ledger, place)?)?;
        publish(self.files.as_ref(), file.as_mut(), &beside, &self.path)?;
        self.file = Some((self.files.open(&self.path)?, place));
        Ok(())
    }
}

fn line(ledger: &Ledger, place: u64) -> io::Result<Vec<u8>> {
    let stamp = Stamp {
        secret: ledger.head.secret.clone(),
        generation: ledger.head.generation,
        sequence: ledger.sequence,
        length: ledger.length,
        place,
    };
    seal(&stamp, LENGTH)
}

/// Creation time of the file in nanoseconds; its inode number if the file system has no creation times.
fn place(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    let created = metadata
        .created()
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let nanos = created.and_then(|created| u64::try_from(created.as_nanos()).ok());
    Ok(nanos.unwrap_or_else(|| metadata.ino()))
}

/// Reads the mark, and whether its file is the original. A damaged one counts as missing.
pub(super) fn read(path: &Path) -> io::Result<Option<(Stamp, bool)>> {
    let Some(mut file) = if_there(open_regular(path))? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let stamp = checked(line).and_then(|_members| serde_json::from_slice::<Stamp>(line).ok());
    let Some(stamp) = stamp else {
        tracing::warn!(
            path = %path.display(),
            "the mark of the ledger's end cannot be read: a missing end would go unnoticed"
        );
        return Ok(None);
    };
    let is_original = stamp.place == place(&file)?;
    Ok(Some((stamp, is_original)))
}
