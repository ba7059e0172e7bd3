//! Disks, power and processes that fail: what was acknowledged is there afterwards, or the start says
//! what is not.

pub(crate) mod flips;
pub(crate) mod kill;
pub(crate) mod left;
pub(crate) mod memory;
pub(crate) mod power;

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use tempfile::TempDir;

use crate::fixtures::House;

/// A directory in memory, if there is any: nobody cuts the power for real, and a sync costs nothing.
pub(crate) fn directory() -> TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory.unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

fn house() -> House {
    House::within(directory())
}

pub(crate) fn copy_dir(from: &Path, to: &Path) {
    DirBuilder::new().mode(0o700).create(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
