//! The marker of a clean stop: where the index was left, of which state of the ledger it is, and a
//! checksum of its files, because sled does not notice every changed byte.
//!
//! It is written last, after the files were synced, and removed before anything is changed. So an
//! index without a marker, or with one that does not match, is not trusted. A ledger that has not
//! reached the state in the marker has lost events.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::adapters::files::{
    Files as _, SystemFiles, is_irregular, remove_for_good, sync_parent, write_whole,
};
use crate::adapters::ledger::record::{Stamp, checked, seal};
use crate::adapters::sled_db::{checksum, files};

const MARKER: &str = "clean";

/// What a clean stop left.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CleanStop {
    /// Up to here the ledger was synced.
    pub(crate) stamp: Stamp,
    /// The directory of the index under the root.
    directory: PathBuf,
    /// CRC-32 of its files.
    checksum: u32,
}

/// Syncs the index that was closed in `directory` and marks it as that of `stamp`.
pub(crate) fn write(root: &Path, directory: &Path, stamp: Stamp) -> io::Result<()> {
    let files = files(directory)?;
    for file in &files {
        File::open(file)?.sync_all()?;
        sync_parent(file)?;
    }
    SystemFiles.sync_directory(root)?;
    let marker = CleanStop {
        stamp,
        directory: directory
            .strip_prefix(root)
            .unwrap_or(directory)
            .to_path_buf(),
        checksum: checksum(directory, &files)?,
    };
    let mut bytes = Vec::new();
    seal(&mut bytes, &marker)?;
    write_whole(&root.join(MARKER), &bytes)
}

/// Reads the marker, or returns why there is none.
pub(crate) fn read(root: &Path) -> Result<CleanStop, String> {
    let path = root.join(MARKER);
    if is_irregular(&path) {
        return Err("the marker is no regular file".to_owned());
    }
    match fs::read(path) {
        Ok(bytes) => parse(&bytes).map_err(|error| format!("marker: {error}")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err("the last stop was not a clean one".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn parse(bytes: &[u8]) -> Result<CleanStop, String> {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    checked(line).ok_or("it is not as it was written")?;
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

impl CleanStop {
    /// The directory of the index, if its files have not changed. Removes the marker, which is valid for
    /// one start.
    pub(crate) fn redeem(self, root: &Path) -> Result<PathBuf, String> {
        let directory = root.join(self.directory);
        let found = files(&directory).and_then(|files| checksum(&directory, &files));
        if found.map_err(|error| error.to_string())? != self.checksum {
            return Err("its files are not as they were left".to_owned());
        }
        remove(root).map_err(|error| error.to_string())?;
        Ok(directory)
    }
}

/// Removes the marker, if there is one.
pub(crate) fn remove(root: &Path) -> io::Result<()> {
    remove_for_good(&root.join(MARKER))
}
