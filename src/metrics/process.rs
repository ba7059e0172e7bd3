//! The kernel's numbers of this process.

use std::fs;

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

use crate::domain::Timestamp;

/// Resources used by this process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessUsage {
    pub started_at: Timestamp,
    /// CPU time in seconds.
    pub cpu_s: f64,
    /// Resident memory in bytes.
    pub resident_bytes: u64,
    /// Open files, including connections.
    pub open_files: u64,
    /// Limit of open files, if there is one.
    pub open_files_max: Option<u64>,
}

/// Current resources of this process; `None` without `/proc`.
#[allow(
    clippy::cast_precision_loss,
    reason = "exact for processes of a hundred thousand years"
)]
pub fn process_usage() -> Option<ProcessUsage> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may contain anything (proc_pid_stat(5)). The state, field 3, follows.
    let (_, fields) = stat.rsplit_once(") ")?;
    let field = |number: usize| fields.split(' ').nth(number - 3)?.parse::<u64>().ok();
    let ticks_per_s = clock_ticks_per_second();
    let since_boot_ms = field(22)?.saturating_mul(1000) / ticks_per_s;
    let system = fs::read_to_string("/proc/stat").ok()?;
    let boot_s = system.lines().find_map(|line| line.strip_prefix("btime "));
    let boot_ms = boot_s?.parse::<u64>().ok()?.saturating_mul(1000);
    Some(ProcessUsage {
        started_at: Timestamp::from_ms(boot_ms + since_boot_ms),
        cpu_s: (field(14)? + field(15)?) as f64 / ticks_per_s as f64,
        resident_bytes: field(24)?.saturating_mul(page_size() as u64),
        open_files: fs::read_dir("/proc/self/fd").ok()?.count() as u64,
        open_files_max: getrlimit(Resource::Nofile).current,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_numbers() {
        let usage = process_usage().unwrap();
        // 2020 or later.
        assert!(usage.started_at > Timestamp::from_ms(1_577_836_800_000));
        assert!(usage.resident_bytes > 1_000_000 && usage.cpu_s >= 0.0);
        assert!(usage.open_files >= 3 && usage.open_files_max.is_none_or(|most| most >= 3));
        assert_eq!(process_usage().unwrap().started_at, usage.started_at);
    }
}
