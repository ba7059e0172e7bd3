//! Who may use the data directory, and what in it is ours.

use std::os::unix::fs::symlink;

use landing_api::adapters::files::OpenError;
use landing_api::adapters::files::data_dir::{DataDir, ENTRIES};
use landing_api::adapters::ledger::LedgerStore;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::contents;
use crate::prelude::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_second_user_is_refused_and_touches_nothing() {
    let (house, opened) = House::opened_with(["ada"]).await;
    // Whatever a second one could be tempted to repair.
    fs::write(house.file("ledger.jsonl.new"), "half").unwrap();
    let before = contents(&house.path);
    let refusal = house.refusal();
    assert!(refusal.contains("in use by another process"), "{refusal}");
    assert_eq!(contents(&house.path), before);
    // The first one is not disturbed.
    opened.sign_up("bob").await.unwrap();
    opened.stop();
    house.open().assert_has_all(["ada", "bob"]).await;
}

#[tokio::test]
async fn the_lock_lasts_as_long_as_the_store() {
    let house = House::new();
    let Opened { store, _data_dir } = house.open();
    drop(_data_dir);
    assert!(house.refusal().contains("in use by another process"));
    drop(store);
    house.open().stop();
}

#[tokio::test]
async fn what_is_made_is_private() {
    let (house, opened) = House::opened_with(["ada"]).await;
    assert_eq!(mode(&house.path), 0o700);
    opened.stop();
    for name in ["lock", "secret", "ledger.jsonl", "mark"] {
        assert_eq!(mode(&house.file(name)), 0o600, "{name}");
    }
    let whole = house.ledger();
    house.write_ledger(&whole[..whole.len() - 9]);
    house.repair();
    for name in ["ledger.jsonl", "ledger.damaged"] {
        assert_eq!(mode(&house.file(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_start_removes_what_an_interrupted_restore_left() {
    let house = House::stopped();
    fs::write(house.file("restoring"), "").unwrap();
    house.open().stop();
    assert!(!house.file("restoring").exists());
}

#[tokio::test]
async fn a_directory_that_is_there_is_closed_to_others_and_keeps_foreign_files() {
    let house = House::new();
    fs::create_dir_all(house.file("windows")).unwrap();
    set_permissions(&house.path, Permissions::from_mode(0o750)).unwrap();
    fs::write(house.file("notes.txt"), "mine").unwrap();
    fs::write(house.file("windows/data"), "theirs").unwrap();
    for _ in 0..2 {
        let opened = house.open();
        opened.sign_up("ada").await.unwrap();
        opened.stop();
    }
    assert_eq!(mode(&house.path), 0o700);
    assert_eq!(fs::read(house.file("notes.txt")).unwrap(), b"mine");
    assert_eq!(fs::read(house.file("windows/data")).unwrap(), b"theirs");
}

#[tokio::test]
async fn a_path_that_cannot_be_a_directory_is_one_clear_line() {
    for is_fifo in [false, true] {
        let house = House::new();
        if is_fifo {
            mknodat(CWD, &house.path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        } else {
            fs::write(&house.path, "a file").unwrap();
        }
        let refusal = house.refusal();
        assert_present(&refusal, &["cannot open", "data"]);
    }
}

#[test]
fn a_pipe_in_place_of_a_file_is_one_clear_line() {
    for name in ["ledger.jsonl", "mark", "secret", "lock"] {
        let house = House::stopped();
        fs::remove_file(house.file(name)).unwrap();
        mknodat(CWD, house.file(name), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let refusal = house.refusal();
        assert!(refusal.contains(name), "{name}: {refusal}");
    }
}

#[test]
fn what_cannot_be_looked_at_is_not_taken_for_missing() {
    let house = House::stopped();
    let ledger = house.file("ledger.jsonl");
    let data_dir = DataDir::open(&house.path, &SeededEntropy::default()).unwrap();
    fs::remove_file(&ledger).unwrap();
    // A link to itself: the system answers with an error that is not "not found".
    symlink(&ledger, &ledger).unwrap();
    let opened = LedgerStore::open(&data_dir);
    assert!(matches!(opened, Err(OpenError::Io { .. })), "{opened:?}");
    assert!(ledger.is_symlink());
}

#[test]
fn all_that_a_service_leaves_is_an_entry_of_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let program = Program::start(&mut command(&path));
    program.sign_up("ada@example.com");
    // What is there while it runs, and what a stop leaves.
    let mut found: Vec<_> = contents_of(&path);
    assert_eq!(program.stop(Signal::TERM).0, Some(0));
    found.extend(contents_of(&path));
    for name in found {
        assert!(
            ENTRIES.contains(&&*name),
            "{name}: add it to ENTRIES in src/adapters/files/data_dir.rs"
        );
    }
}

fn contents_of(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    entries.map(|it| name(it).into_string().unwrap()).collect()
}
