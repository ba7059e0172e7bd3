//! Disks, power and processes that fail: what was acknowledged is there afterwards, or the start says
//! what is not.

pub(crate) mod kill;
pub(crate) mod left;
pub(crate) mod memory;
pub(crate) mod power;

use std::fs;

use rustix::process::Pid;
use tempfile::TempDir;

use crate::fixtures::House;

/// A directory in memory, if there is any: nobody cuts the power for real, and a sync costs nothing.
pub(crate) fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

fn house() -> House {
    House::within(directory())
}

/// The most memory that the process ever had.
pub(crate) fn peak_mib(process: Pid) -> u64 {
    let process = process.as_raw_nonzero();
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let (_, rest) = status.split_once("VmHWM:").unwrap();
    let kib: u64 = rest.split_whitespace().next().unwrap().parse().unwrap();
    kib / 1024
}
