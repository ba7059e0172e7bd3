//! The index is trusted after a clean stop, if nobody touched it; in any other case it is made
//! again, and nobody can tell.

use std::fs;
use std::path::PathBuf;

use super::contents;
use crate::fixtures::{House, make_fifo};

const REBUILDING: &str = "rebuilding the index";

async fn stopped_with_contacts(house: &House) {
    let opened = house.open();
    for name in ["ada", "bob", "cy"] {
        opened.sign_up(name).await.unwrap();
    }
    opened.forget("cy").await.unwrap();
    opened.stop();
}

async fn check(house: &House, is_rebuilt: bool) {
    let (opened, log) = house.open_logged();
    assert_eq!(log.contains(REBUILDING), is_rebuilt, "{log}");
    opened.assert_has(&["ada", "bob"], &["cy"]).await;
    opened.stop();
}

/// Every file of the index.
fn files(house: &House) -> Vec<PathBuf> {
    contents(&house.file("index"))
        .into_iter()
        .map(|(path, _)| path)
        .collect()
}

#[tokio::test]
async fn after_a_clean_stop_the_index_is_used_as_it_is() {
    let house = House::new();
    stopped_with_contacts(&house).await;
    for _ in 0..3 {
        check(&house, false).await;
    }
}

#[tokio::test]
async fn after_a_crash_the_index_is_made_again() {
    let house = House::new();
    stopped_with_contacts(&house).await;
    house.open().crash();
    check(&house, true).await;
    check(&house, false).await;
}

#[tokio::test]
async fn a_lost_index_is_made_again() {
    let house = House::new();
    stopped_with_contacts(&house).await;
    fs::remove_dir_all(house.file("index")).unwrap();
    check(&house, true).await;
    fs::remove_dir_all(house.file("index")).unwrap();
    fs::write(house.file("index"), "not a directory").unwrap();
    check(&house, true).await;
}

#[tokio::test]
async fn a_fifo_in_the_place_of_an_index_or_its_files_does_not_hang_the_start() {
    for place in [
        "index",
        "index/clean",
        // The erasure made the second one.
        "index/2/db",
        "index/2/conf",
        "index/2/blobs/1",
    ] {
        let house = House::new();
        stopped_with_contacts(&house).await;
        let path = house.file(place);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        }
        let _ = fs::remove_file(&path);
        make_fifo(&path);
        check(&house, true).await;
    }
}

#[tokio::test]
async fn an_index_with_any_file_changed_is_made_again() {
    let house = House::new();
    stopped_with_contacts(&house).await;
    let is_marker = |path: &PathBuf| path.ends_with("clean");
    assert!(files(&house).iter().any(is_marker));
    let count = files(&house).len();
    assert!(count >= 3, "{:?}", files(&house));
    for number in 0..count {
        for damage in [cut_in_half, flip_a_bit, fill_with_garbage, remove] {
            let files = files(&house);
            let path = &files[number % files.len()];
            damage(path);
            check(&house, true).await;
        }
    }
}

fn cut_in_half(path: &PathBuf) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

fn flip_a_bit(path: &PathBuf) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(path, bytes).unwrap();
}

fn fill_with_garbage(path: &PathBuf) {
    let length = fs::read(path).unwrap().len();
    fs::write(path, b"\xdeadbeef".repeat(length / 8 + 1)).unwrap();
}

fn remove(path: &PathBuf) {
    fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_marker_of_another_state_of_the_ledger_is_not_believed() {
    let house = House::new();
    stopped_with_contacts(&house).await;
    let index_then = contents(&house.file("index"));
    let opened = house.open();
    opened.sign_up("dan").await.unwrap();
    opened.stop();
    // An index from a backup, beside the ledger of today.
    fs::remove_dir_all(house.file("index")).unwrap();
    for (path, bytes) in index_then {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let (opened, log) = house.open_logged();
    assert!(log.contains(REBUILDING), "{log}");
    opened.assert_has(&["ada", "bob", "dan"], &["cy"]).await;
}

#[tokio::test]
async fn an_earlier_ledger_beside_the_index_is_believed_once_the_loss_is_accepted() {
    let house = House::new();
    stopped_with_contacts(&house).await;
    let ledger_then = house.ledger();
    let opened = house.open();
    opened.sign_up("dan").await.unwrap();
    opened.stop();
    house.write_ledger(&ledger_then);
    let refusal = house.refusal();
    assert!(
        refusal.contains("the last stop left 4 entries"),
        "{refusal}"
    );
    house.accept_damage();
    let (opened, log) = house.open_logged();
    assert!(log.contains(REBUILDING), "{log}");
    opened.assert_has(&["ada", "bob"], &["cy", "dan"]).await;
    opened.stop();
    check(&house, false).await;
}

#[tokio::test]
async fn a_marker_with_any_byte_changed_holds_no_ledger_up() {
    let house = House::new();
    stopped_with_contacts(&house).await;
    let marker = house.file("index/clean");
    for position in 0..fs::read(&marker).unwrap().len() {
        let mut bytes = fs::read(&marker).unwrap();
        bytes[position] ^= 1;
        fs::write(&marker, bytes).unwrap();
        let opened = house.open();
        opened.assert_has(&["ada", "bob"], &["cy"]).await;
        opened.stop();
    }
}
