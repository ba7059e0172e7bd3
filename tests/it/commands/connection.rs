//! How commands reach the service, or the data directory without one.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};

use rustix::process::Signal;
use tempfile::tempdir;

use super::run;
use crate::program::{Program, command};

const SHOW: [&str; 3] = ["contacts", "show", "ada@example.com"];

#[test]
fn the_socket_is_the_owners_alone_and_goes_with_the_service() {
    let dir = tempdir().unwrap();
    let service = Program::start(&mut command(dir.path()));
    let socket = dir.path().join("admin.sock");
    let metadata = fs::symlink_metadata(&socket).unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    assert_eq!(service.stop(Signal::TERM).0, Some(0));
    assert!(!socket.exists());
}

#[test]
fn a_socket_that_a_killed_service_left_does_not_matter() {
    let dir = tempdir().unwrap();
    let service = Program::start(&mut command(dir.path()));
    service.sign_up("ada@example.com");
    service.status_after(Signal::KILL);
    assert!(dir.path().join("admin.sock").exists());
    assert_eq!(run(&SHOW, dir.path()).status, Some(0));
    let service = Program::start(&mut command(dir.path()));
    assert_eq!(run(&SHOW, dir.path()).status, Some(0));
    assert_eq!(service.stop(Signal::TERM).0, Some(0));
}

#[test]
fn a_path_longer_than_a_sockets_address_is_no_obstacle() {
    let dir = tempdir().unwrap();
    let deep = dir.path().join("d".repeat(200));
    let service = Program::start(&mut command(&deep));
    service.sign_up("ada@example.com");
    assert_eq!(run(&SHOW, &deep).status, Some(0));
    assert_eq!(service.stop(Signal::TERM).0, Some(0));
}

#[test]
fn what_is_no_data_directory_is_named_and_left_as_it_is() {
    let dir = tempdir().unwrap();
    for path in [dir.path().to_owned(), dir.path().join("missing")] {
        let refused = run(&SHOW, &path);
        assert_eq!(refused.status, Some(1));
        let message = format!("error: {} is no data directory", path.display());
        assert!(refused.err.starts_with(&message), "{refused:?}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_in_use_without_a_socket_is_not_opened() {
    let dir = tempdir().unwrap();
    let service = Program::start(&mut command(dir.path()));
    fs::remove_file(dir.path().join("admin.sock")).unwrap();
    let refused = run(&SHOW, dir.path());
    assert_eq!(refused.status, Some(1));
    assert!(refused.err.contains("in use"), "{refused:?}");
    assert_eq!(service.stop(Signal::TERM).0, Some(0));
}
