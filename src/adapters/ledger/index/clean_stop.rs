//! The marker of a clean stop: where the index was left, of which state of the ledger it is, and a
//! checksum of its files, because sled does not notice every changed byte.
//!
//! It is written last, after the files were synced, and removed before anything is changed. So an
//! index without it, or that it does not fit, is not trusted.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::adapters::files::{
    BUFFER_BYTES, Files as _, SystemFiles, remove_for_good, sync_parent, write_whole,
};

const MARKER: &str = "clean";

/// A state of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) secret: String,
    pub(crate) generation: u64,
    pub(crate) sequence: u64,
    /// In bytes.
    pub(crate) length: u64,
}

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
    write_whole(&root.join(MARKER), &serde_json::to_vec(&marker)?)
}

/// Reads the marker, or returns why there is none.
pub(crate) fn read(root: &Path) -> Result<CleanStop, String> {
    match fs::read(root.join(MARKER)) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| format!("marker: {error}")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err("the last stop was not a clean one".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

impl CleanStop {
    /// The directory of the index, if its files are as they were left. The marker is removed: it
    /// holds for one start.
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

/// Every file under `directory`, sorted.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path())?);
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// CRC-32 of the names, lengths and contents of `files`.
fn checksum(directory: &Path, files: &[PathBuf]) -> io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    for path in files {
        let name = path.strip_prefix(directory).unwrap_or(path);
        hasher.update(name.as_os_str().as_encoded_bytes());
        let file = File::open(path)?;
        hasher.update(&file.metadata()?.len().to_be_bytes());
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
        loop {
            let bytes = reader.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            hasher.update(bytes);
            let taken = bytes.len();
            reader.consume(taken);
        }
    }
    Ok(hasher.finalize())
}
