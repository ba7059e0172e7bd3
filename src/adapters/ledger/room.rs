//! Whether the machine has room for something large: a process that takes more memory than it may is killed,
//! and a disk that is filled takes no sign-ups.

use std::fs;
use std::io;
use std::path::Path;

use procfs::Current as _;
use procfs::process::Process;

/// Where control groups are.
const CGROUPS: &str = "/sys/fs/cgroup";

/// Checks that `disk_bytes` are free on the disk that has `directory`, and that the process may take
/// `memory_bytes` more, as far as the system tells.
///
/// # Errors
/// [`io::ErrorKind::StorageFull`] or [`io::ErrorKind::OutOfMemory`]. The text says how much is needed.
pub(super) fn check_room(directory: &Path, disk_bytes: u64, memory_bytes: u64) -> io::Result<()> {
    let disk = rustix::fs::statvfs(directory)?;
    // Some file systems tell nothing.
    if disk.f_blocks > 0 && disk.f_bavail.saturating_mul(disk.f_frsize) < disk_bytes {
        return Err(too_little(
            io::ErrorKind::StorageFull,
            disk_bytes,
            "on the disk",
        ));
    }
    let memory = procfs::Meminfo::current()
        .ok()
        .and_then(|it| it.mem_available);
    let lefts = [
        memory,
        left_in_cgroup(Path::new(CGROUPS), own_cgroup().as_deref()),
    ];
    if lefts.into_iter().flatten().any(|left| left < memory_bytes) {
        return Err(too_little(
            io::ErrorKind::OutOfMemory,
            memory_bytes,
            "in memory",
        ));
    }
    Ok(())
}

fn too_little(kind: io::ErrorKind, bytes: u64, place: &str) -> io::Error {
    let mib = bytes.div_ceil(1024 * 1024);
    io::Error::new(
        kind,
        format!("{mib} MiB are needed {place}, and less is free"),
    )
}

/// The path of the process's own control group (version 2).
fn own_cgroup() -> Option<String> {
    let cgroups = Process::myself().ok()?.cgroups().ok()?;
    let unified = cgroups.into_iter().find(|it| it.hierarchy == 0)?;
    Some(unified.pathname)
}

/// How much the processes of the control group at `path` below `root` may take beyond the pages that the
/// kernel cannot take back. `None` without a limit.
fn left_in_cgroup(root: &Path, path: Option<&str>) -> Option<u64> {
    let group = root.join(path?.trim_start_matches('/'));
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let limit: u64 = read("memory.max")?.trim().parse().ok()?;
    let taken: u64 = read("memory.current")?.trim().parse().ok()?;
    let stat = read("memory.stat")?;
    let cached = stat.lines().find_map(|line| line.strip_prefix("file "));
    let cached: u64 = cached?.parse().ok()?;
    Some(limit.saturating_sub(taken.saturating_sub(cached)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_what_it_needs() {
        let here = Path::new(".");
        check_room(here, 0, 0).unwrap();
        let disk = check_room(here, u64::MAX, 0).unwrap_err();
        assert_eq!(disk.kind(), io::ErrorKind::StorageFull);
        let memory = check_room(here, 0, 1 << 60).unwrap_err();
        assert_eq!(memory.kind(), io::ErrorKind::OutOfMemory);
        assert_eq!(
            memory.to_string(),
            "1099511627776 MiB are needed in memory, and less is free"
        );
    }

    #[test]
    fn pages_of_files_in_a_control_group_are_free() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("a/b");
        fs::create_dir_all(&group).unwrap();
        let left = || left_in_cgroup(root.path(), Some("/a/b"));
        assert_eq!(left(), None);
        assert_eq!(left_in_cgroup(root.path(), None), None);
        let stat = "anon 300\nfile 500\nfile_mapped 7";
        for (limit, current, stat, expected) in [
            ("max", "800", stat, None),
            ("1000", "800", stat, Some(700)),
            ("200", "800", stat, Some(0)),
            // More of its pages are of files than it takes.
            ("1000", "400", stat, Some(1000)),
            ("18446744073709551615", "800", stat, Some(u64::MAX - 300)),
            ("18446744073709551616", "800", stat, None),
            ("-1", "800", stat, None),
            ("1000", "", stat, None),
            ("1000", "800", "file_mapped 7", None),
        ] {
            for (file, text) in [
                ("memory.max", limit),
                ("memory.current", current),
                ("memory.stat", stat),
            ] {
                fs::write(group.join(file), format!("{text}\n")).unwrap();
            }
            assert_eq!(left(), expected, "{limit} {current} {stat}");
        }
    }

    #[test]
    fn the_own_control_group_is_that_of_version_2() {
        let all = fs::read_to_string("/proc/self/cgroup").unwrap();
        let unified = all.lines().find_map(|line| line.strip_prefix("0::"));
        assert_eq!(own_cgroup().as_deref(), unified);
    }
}
