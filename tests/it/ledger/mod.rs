//! The rules of the data directory, each broken in every way that matters.

mod compaction;
mod damage;
mod directory;
mod faults;
mod index;
mod secret;
mod torn;

use std::fs;
use std::path::{Path, PathBuf};

/// Every file under `path` with its content, in order.
pub(crate) fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap().path();
        if entry.is_dir() {
            found.extend(contents(&entry));
        } else {
            found.push((entry.clone(), fs::read(&entry).unwrap()));
        }
    }
    found.sort();
    found
}
