//! Who may use the data directory, and what in it is ours.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use landing_api::adapters::data_dir::DataDir;
use landing_api::adapters::ledger::LedgerStore;
use landing_api::adapters::open_error::OpenError;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::contents;
use crate::fixtures::{House, Opened};
use crate::twins::SeededEntropy;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_second_user_is_refused_and_touches_nothing() {
    let house = House::new();
    let opened = house.open();
    opened.sign_up("ada").await.unwrap();
    // Whatever a second one could be tempted to repair.
    fs::write(house.file("ledger.jsonl.new"), "half").unwrap();
    house.accept_damage();
    // The first one's sled may write its own file at any time: of that one only the name counts.
    let settled = || {
        let mut files = contents(&house.path);
        for (path, bytes) in &mut files {
            if path.ends_with("db") {
                bytes.clear();
            }
        }
        files
    };
    let before = settled();
    let refusal = house.refusal();
    assert!(refusal.contains("in use by another process"), "{refusal}");
    assert_eq!(settled(), before);
    // The first one is not disturbed.
    opened.sign_up("bob").await.unwrap();
    opened.stop();
    house.open().assert_has(&["ada", "bob"], &[]).await;
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
    let house = House::new();
    let opened = house.open();
    opened.sign_up("ada").await.unwrap();
    assert_eq!(mode(&house.path), 0o700);
    assert_eq!(mode(&house.file("index")), 0o700);
    for name in ["lock", "secret", "ledger.jsonl"] {
        assert_eq!(mode(&house.file(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_directory_that_is_there_keeps_its_mode_and_foreign_files() {
    let house = House::new();
    fs::create_dir_all(house.file("windows")).unwrap();
    fs::set_permissions(&house.path, Permissions::from_mode(0o750)).unwrap();
    fs::write(house.file("notes.txt"), "mine").unwrap();
    fs::write(house.file("windows/data"), "theirs").unwrap();
    for _ in 0..2 {
        let opened = house.open();
        opened.sign_up("ada").await.unwrap();
        opened.stop();
    }
    assert_eq!(mode(&house.path), 0o750);
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
        assert!(refusal.contains("cannot open"), "{refusal}");
        assert!(refusal.contains("data"), "{refusal}");
    }
}

#[test]
fn what_cannot_be_looked_at_is_not_taken_for_missing() {
    let house = House::new();
    house.open().stop();
    let [ledger, journal] = ["ledger.jsonl", "ledger.journal"].map(|name| house.file(name));
    // A link to itself: the system answers with an error that is not "not found".
    symlink(&journal, &journal).unwrap();
    let refusal = house.refusal();
    assert!(refusal.contains("take over the journal"), "{refusal}");
    fs::remove_file(&journal).unwrap();

    let data_dir = DataDir::open(&house.path, &SeededEntropy::default()).unwrap();
    fs::remove_file(&ledger).unwrap();
    symlink(&ledger, &ledger).unwrap();
    let opened = LedgerStore::open(&data_dir);
    assert!(matches!(opened, Err(OpenError::Io { .. })), "{opened:?}");
    assert!(ledger.is_symlink());
}
