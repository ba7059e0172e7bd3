//! With engines and a secret file, a node keeps nothing itself.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use rustix::process::Pid;

use crate::prelude::*;

/// What the process has open that is a file of a disk.
fn open_files(process: Pid) -> Vec<PathBuf> {
    let process = process.as_raw_nonzero();
    let open = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let open = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let is_of_system = |path: &PathBuf| {
        let systems = ["/proc", "/dev", "/sys"];
        !path.is_absolute() || systems.iter().any(|system| path.starts_with(system))
    };
    open.filter(|path| !is_of_system(path)).collect()
}

fn written_bytes(process: Pid) -> u64 {
    let process = process.as_raw_nonzero();
    let io = fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    let line = io
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes: "));
    line.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_writes_nothing_to_disk() {
    let (_postgres, _redis, urls) = engines().await;
    let nodes = Nodes::prepare(1, &urls, &[]);
    nodes.migrate();
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o500)).unwrap();
    let mut command = nodes.command(0);
    let home = directory.path();
    command
        .current_dir(home)
        .env("HOME", home)
        .env("TMPDIR", home);
    // Its log goes to a pipe.
    let program = Program::start(&mut command);
    let client = Client::new();
    for number in 0..20 {
        let visitor = format!("192.0.2.{number}");
        for call in [
            Call::sign_up(&format!("ada{number}@example.com")),
            Call::chat(),
            Call::mint(),
            Call::register(),
            Call::health(),
            Call::get("/"),
        ] {
            let answer = client.send(&program.address, &call.from(&visitor)).await;
            assert!([200, 201].contains(&answer.status), "{answer:?}");
        }
    }
    assert_eq!(open_files(program.pid()), Vec::<PathBuf>::new());
    assert_eq!(written_bytes(program.pid()), 0);
    assert_eq!(program.stop(Signal::TERM).0, Some(0));
    assert_eq!(fs::read_dir(home).unwrap().count(), 0);
}
