//! The rules of the data directory, each broken in every way that matters.

mod alone;
mod compaction;
mod damage;
mod directory;
mod faults;
mod foreign;
mod format;
mod index;
mod journal;
mod outages;
mod power;
mod rot;
mod secret;
mod torn;

use std::fs;
use std::path::{Path, PathBuf};

/// The ledger `text` with a checksum that is right for its head.
pub(crate) fn sealed(text: &str) -> String {
    let (head, rest) = text.split_once('\n').unwrap();
    let members = &head["{\"crc\":\"01234567\"".len()..];
    let crc = crc32fast::hash(members.as_bytes());
    format!("{{\"crc\":\"{crc:08x}\"{members}\n{rest}")
}

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
