//! What the system says of a process and of a directory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::support::Server;

/// What a process takes.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) resident_mib: f64,
    /// The most it ever was.
    pub(crate) peak_mib: f64,
    /// Without the pages of files, such as those of the binary.
    pub(crate) anonymous_mib: f64,
}

/// What the server takes now.
pub(crate) fn memory(server: &Server) -> Memory {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let mib = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        let kib = line.split_whitespace().nth(1).unwrap();
        kib.parse::<f64>().unwrap() / 1024.0
    };
    Memory {
        resident_mib: mib("VmRSS:"),
        peak_mib: mib("VmHWM:"),
        anonymous_mib: mib("RssAnon:"),
    }
}

/// What the files under `path` take of the disk, in bytes.
pub(crate) fn disk(path: &Path) -> u64 {
    const BLOCK_BYTES: u64 = 512;
    // A file may go while it is looked at.
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let within: u64 = entries.map(|entry| disk(&entry.path())).sum();
    metadata.blocks() * BLOCK_BYTES + within
}

pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}
