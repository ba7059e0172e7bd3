//! The promise of a clean stop: which files the index was left in, and what is in it.
//!
//! It is written last, after the files are synced, and removed before anything is changed. It
//! names every file with length and checksum, because sled does not notice every changed byte.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::adapters::store::ledger::{
    BUFFER_BYTES, Files as _, SystemFiles, remove_for_good, write_whole,
};

use super::Meta;

const MARKER: &str = "clean";

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Marker {
    meta: Meta,
    /// The directory under the index's root.
    directory: PathBuf,
    files: Vec<Entry>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Entry {
    /// Relative to the directory.
    path: PathBuf,
    bytes: u64,
    crc: u32,
}

/// Syncs the index that was left in `directory` and promises that it holds `meta`.
pub(crate) fn write(root: &Path, directory: &Path, meta: &Meta) -> io::Result<()> {
    let files = survey(directory, Survey::Sync)?;
    SystemFiles.sync_directory(root)?;
    let marker = Marker {
        meta: meta.clone(),
        directory: directory
            .strip_prefix(root)
            .unwrap_or(directory)
            .to_path_buf(),
        files,
    };
    write_whole(&root.join(MARKER), &serde_json::to_vec(&marker)?)
}

/// What a clean stop promised, whatever has become of the files since. Until that, the ledger was
/// synced, and nothing was written to it after.
pub(crate) fn promise(root: &Path) -> Option<Meta> {
    let bytes = fs::read(root.join(MARKER)).ok()?;
    let marker: Marker = serde_json::from_slice(&bytes).ok()?;
    Some(marker.meta)
}

/// The directory and content of the index, if a clean stop promised them and the files agree.
/// Otherwise the reason why there is nothing to trust.
pub(crate) fn read(root: &Path) -> Result<(PathBuf, Meta), String> {
    let bytes = match fs::read(root.join(MARKER)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err("the last stop was not a clean one".to_owned());
        }
        Err(error) => return Err(error.to_string()),
    };
    let marker: Marker =
        serde_json::from_slice(&bytes).map_err(|error| format!("marker: {error}"))?;
    let directory = root.join(&marker.directory);
    let files = survey(&directory, Survey::Look).map_err(|error| error.to_string())?;
    if files != marker.files {
        return Err("its files are not as they were left".to_owned());
    }
    Ok((directory, marker.meta))
}

/// Takes the promise back.
pub(crate) fn remove(root: &Path) -> io::Result<()> {
    remove_for_good(&root.join(MARKER))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Survey {
    Look,
    Sync,
}

/// Every file under `directory`, in order, synced if asked for.
fn survey(directory: &Path, mode: Survey) -> io::Result<Vec<Entry>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_path_buf()];
    while let Some(next) = directories.pop() {
        for entry in fs::read_dir(&next)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
                continue;
            }
            let file = File::open(entry.path())?;
            if mode == Survey::Sync {
                file.sync_all()?;
            }
            let (bytes, crc) = checksum(file)?;
            let path = entry.path();
            let path = path.strip_prefix(directory).unwrap_or(&path).to_path_buf();
            files.push(Entry { path, bytes, crc });
        }
        if mode == Survey::Sync {
            SystemFiles.sync_directory(&next)?;
        }
    }
    files.sort();
    Ok(files)
}

fn checksum(file: File) -> io::Result<(u64, u32)> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let mut hasher = crc32fast::Hasher::new();
    let mut total = 0;
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok((total, hasher.finalize()));
        }
        hasher.update(bytes);
        let taken = bytes.len();
        total += taken as u64;
        reader.consume(taken);
    }
}
