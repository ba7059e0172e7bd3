//! The file of settings, which commands read if they have no data directory.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;

use rustix::process::geteuid;

use super::{House, feed};
use crate::prelude::*;

fn run_with(file: &Path, words: &str, variables: &[(&str, &str)]) -> Ran {
    let words: Vec<_> = words.split_whitespace().collect();
    let mut command = landing_api(&words);
    let command = command.envs(variables.iter().copied());
    Ran::of(command.env("LANDING_ENV_FILE", file))
}

#[test]
fn a_command_without_a_data_directory_takes_the_settings_of_the_service() {
    let (house, dir) = (House::stopped(), private_dir());
    feed("contacts import -", &house.path, "ada@example.com\n").done();
    let file = dir.path().join("landing-api.env");
    // Other variables could do more than the service's settings.
    let settings =
        "# The service's.\nLD_PRELOAD=/missing.so\nLANDING_LIMIT=\"keys=7/1h\"\nLANDING_DATA_DIR=";
    fs::write(&file, format!("{settings}{}\n", house.path.display())).unwrap();
    set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let run = |words, variables: &[_]| run_with(&file, words, variables);
    let counted = run("contacts count", &[]).done();
    assert_eq!(counted.out, "1\n");
    assert!(!counted.err.contains("missing.so"), "{counted:?}");
    let shown = run("limits show", &[]).done().out;
    assert!(shown.contains("  7/1h  "), "{shown}");
    // The environment counts more, and flags count most.
    let shown = run("limits show", &[("LANDING_LIMIT", "keys=8/1h")]).done();
    assert!(shown.out.contains("  8/1h  "), "{shown:?}");
    let other = dir.path().join("other");
    let other = other.to_str().unwrap();
    let check = format!("check --listen=127.0.0.1:0 --data-dir {other}");
    assert!(run(&check, &[]).done().out.contains("does not exist"));
    let checked = run("check --listen=127.0.0.1:0", &[]).done().out;
    assert!(checked.contains("is readable"), "{checked}");
    run("check --limit=keys=off --listen=x", &[]).refused(2, "--listen");
    // The service gets them from systemd.
    run("", &[]).refused(2, "no data directory");
}

#[test]
fn a_file_of_settings_that_cannot_be_used_is_told_in_a_line() {
    let dir = private_dir();
    let file = dir.path().join("landing-api.env");
    run_with(&file, "status", &[]).refused_in_a_line(1, "landing-api.env: No such file");
    run_with(&file, "handbook", &[]).done();
    for (text, status, told) in [
        ("", 2, "no data directory"),
        ("\u{1}\n", 2, "line 1: must be NAME=VALUE"),
        ("\nA=1\nLANDING_DATA_DIR\n", 2, "line 3: must be NAME=VALUE"),
        ("A='1\n", 2, "line 1: backslashes are not supported"),
        ("A=1\n", 2, "no data directory: set --data-dir DIR"),
        ("LANDING_DATA_DIR=d\nLANDING_LIMIT=x\n", 2, "--limit"),
        (&"x".repeat(65_537), 1, "is larger than 65536 bytes"),
    ] {
        fs::write(&file, text).unwrap();
        set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        run_with(&file, "status", &[]).refused(status, told);
    }
    fs::write(&file, "LANDING_DATA_DIR=d\n").unwrap();
    for mode in [0o620, 0o602] {
        set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        run_with(&file, "status", &[]).refused_in_a_line(1, "can be changed by other users");
    }
    if geteuid().is_root() {
        set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        chown(&file, Some(65_534), None).unwrap();
        run_with(&file, "status", &[]).refused_in_a_line(1, "make root its owner");
        chown(&file, Some(0), None).unwrap();
        set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let mut command = landing_api(&["status"]);
        let command = command.uid(65_534).gid(65_534);
        let ran = Ran::of(command.env("LANDING_ENV_FILE", &file));
        ran.refused_in_a_line(1, "run the command as root or as the service's user");
    }
}

#[test]
fn root_checks_as_the_owner_of_the_data_directory() {
    if !geteuid().is_root() {
        return;
    }
    let (dir, other) = (private_dir(), private_dir());
    let key = other.path().join("key");
    fs::write(&key, "sk").unwrap();
    // That the directory has root's group gives no rights of that group.
    set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    chown(&key, Some(0), Some(0)).unwrap();
    set_permissions(other.path(), Permissions::from_mode(0o755)).unwrap();
    chown(dir.path(), Some(65_534), Some(0)).unwrap();
    let check = |variables: &[(&str, &str)]| {
        let flags = ["--listen=127.0.0.1:0", "--model=m", "--model-key-file"];
        let mut command = landing_api(&["check", "--model-url=http://127.0.0.1:9/v1"]);
        let command = command.args(flags).arg(&key).arg("--data-dir");
        let ran = Ran::of(command.arg(dir.path()).envs(variables.iter().copied()));
        assert_eq!(ran.status, Some(2), "{ran:?}");
        ran
    };
    let ran = check(&[("LD_PRELOAD", "/missing.so")]);
    assert_present(&ran.out, &["belongs to user 65534; it is empty"]);
    // That user cannot read root's file.
    assert!(ran.out.contains("Permission denied"), "{ran:?}");
    // The first process tells of it, and it goes no further.
    assert_eq!(ran.err.matches("missing.so").count(), 1, "{ran:?}");
    let ran = check(&[("PATH", "/missing")]);
    assert_present(&ran.out, &["checking as root: cannot run setpriv"]);
    assert!(ran.out.contains("sudo -u '#65534'"), "{ran:?}");
}

#[test]
fn flags_of_another_users_service_are_not_used() {
    if !geteuid().is_root() {
        return;
    }
    let (dir, service) = Program::fresh(&[]);
    set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    let socket = dir.path().join("admin.sock");
    set_permissions(&socket, Permissions::from_mode(0o777)).unwrap();
    let mut command = landing_api(&["check", "--data-dir"]);
    let command = command.arg(dir.path());
    let ran = Ran::of(command.uid(65_534).gid(65_534));
    assert_present(&ran.out, &["the service's cannot be read: "]);
    let told = "belongs to user 0: run the command as that user";
    assert!(ran.out.contains(told), "{ran:?}");
    service.stopped();
}
