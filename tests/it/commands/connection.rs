//! How commands reach the service, or the data directory without one.

use std::os::unix::fs::FileTypeExt as _;

use tempfile::tempdir;

use super::run;
use crate::prelude::*;

const SHOW: &str = "contacts show ada@example.com";

#[test]
fn the_socket_is_the_owners_alone_and_goes_with_the_service() {
    let (dir, service) = Program::fresh(&[]);
    let socket = dir.path().join("admin.sock");
    let metadata = fs::symlink_metadata(&socket).unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    service.stopped();
    assert!(!socket.exists());
}

#[test]
fn a_socket_that_a_killed_service_left_does_not_matter() {
    let (dir, service) = Program::fresh(&[]);
    service.sign_up("ada@example.com");
    service.status_after(Signal::KILL);
    assert!(dir.path().join("admin.sock").exists());
    run(SHOW, dir.path()).done();
    let service = Program::on(dir.path());
    run(SHOW, dir.path()).done();
    service.stopped();
}

#[test]
fn a_path_longer_than_a_sockets_address_is_no_obstacle() {
    let dir = tempdir().unwrap();
    let deep = dir.path().join("d".repeat(200));
    let service = Program::on(&deep);
    service.sign_up("ada@example.com");
    run(SHOW, &deep).done();
    service.stopped();
}

#[test]
fn what_is_no_data_directory_is_named_and_left_as_it_is() {
    let dir = tempdir().unwrap();
    for path in [dir.path().to_owned(), dir.path().join("missing")] {
        let message = format!("error: {} is not a data directory", path.display());
        run(SHOW, &path).refused(1, &message);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_in_use_without_a_socket_is_not_opened() {
    let (dir, service) = Program::fresh(&[]);
    fs::remove_file(dir.path().join("admin.sock")).unwrap();
    run(SHOW, dir.path()).refused(1, "in use");
    service.stopped();
}
