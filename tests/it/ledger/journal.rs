//! A busy ledger is synced through its journal: nothing acknowledged is lost, whatever fails, and
//! whoever copies the ledger alone has all of it.

use std::fs;
use std::path::PathBuf;

use landing_api::adapters::store::Tuning;
use landing_api::domain::contact::Subscription;
use landing_api::ports::ContactStore;

use super::damage::check_accepted;
use super::faults::{FaultyFiles, WRITE_FAULTS, assert_unavailable, set};
use super::power::PowerFiles;
use crate::fixtures::{House, Opened};

/// Room for a journal of 16 KiB, which is full after some eighty sign-ups.
pub(super) const LITTLE_ROOM: u64 = 1024 * 1024;

pub(super) fn journal(house: &House) -> PathBuf {
    house.file("ledger.journal")
}

/// Opens a store and signs "ada" up so often that there is a journal with something in it.
pub(super) async fn open_busy(house: &House, tuning: Tuning) -> Opened {
    let opened = house.try_open(tuning).unwrap();
    for _ in 0..70 {
        opened.sign_up("ada").await.unwrap();
    }
    assert!(journal(house).exists(), "no journal");
    opened
}

/// What a busy process leaves behind that is killed once `names` have signed up: its ledger, and its
/// journal, which begins behind line 66.
pub(super) async fn crash_after<'a>(
    house: &House,
    names: impl IntoIterator<Item = &'a str>,
) -> (Vec<u8>, Vec<u8>) {
    let opened = house.open();
    for name in names {
        opened.sign_up(name).await.unwrap();
    }
    opened.crash();
    (house.ledger(), fs::read(journal(house)).unwrap())
}

/// The same when the ledger has 70 lines of "ada" before those of `names`.
pub(super) async fn crash_with(house: &House, names: &[&str]) -> (Vec<u8>, Vec<u8>) {
    let busy = ["ada"; 70];
    crash_after(house, busy.iter().chain(names).copied()).await
}

/// Where each line of the ledger ends, in bytes.
pub(super) fn ends(ledger: &[u8]) -> Vec<usize> {
    (1..=ledger.len())
        .filter(|end| ledger[end - 1] == b'\n')
        .collect()
}

#[tokio::test]
async fn a_clean_stop_takes_the_journal_away() {
    let house = House::new();
    let opened = open_busy(&house, Tuning::default()).await;
    let before = house.ledger();
    opened.stop();
    assert!(!journal(&house).exists());
    assert_eq!(house.ledger(), before);
    let (opened, log) = house.open_logged();
    assert!(
        !log.contains("WARN") && !log.contains("rebuilding"),
        "{log}"
    );
    opened.assert_has(&["ada"], &["bob"]).await;
}

#[tokio::test]
async fn after_a_crash_the_journal_goes_without_a_word() {
    let house = House::new();
    let (before, _) = crash_with(&house, &["bob"]).await;
    let (opened, log) = house.open_logged();
    assert!(!log.contains("WARN"), "{log}");
    assert!(!journal(&house).exists());
    assert_eq!(house.ledger(), before);
    opened.assert_has(&["ada", "bob"], &[]).await;
}

#[tokio::test]
async fn the_ledger_alone_is_a_whole_copy_at_any_time() {
    let house = House::new();
    let opened = open_busy(&house, Tuning::default()).await;
    for name in ["bob", "cy"] {
        opened.sign_up(name).await.unwrap();
        let copy = House::new();
        copy.open().stop();
        for file in ["ledger.jsonl", "secret"] {
            fs::copy(house.file(file), copy.file(file)).unwrap();
        }
        let (restored, log) = copy.open_logged();
        assert!(!log.contains("WARN"), "{log}");
        restored.assert_has(&["ada", name], &["dan"]).await;
    }
}

#[tokio::test]
async fn what_the_ledger_lost_is_written_from_the_journal() {
    let house = House::new();
    let (whole, copy) = crash_with(&house, &["bob", "cy"]).await;
    let ends = ends(&whole);
    // The first 65 lines behind the head were synced.
    for lost in [ends[65] + 1..whole.len(), ends[66]..ends[67]] {
        for is_cut in [false, true] {
            let mut bytes = whole.clone();
            bytes[lost.clone()].fill(0);
            bytes.truncate(if is_cut { lost.start } else { whole.len() });
            house.write_ledger(&bytes);
            fs::write(journal(&house), &copy).unwrap();
            let (opened, log) = house.open_logged();
            assert!(log.contains("written from the journal"), "{log}");
            assert_eq!(house.ledger(), whole);
            assert!(!journal(&house).exists());
            opened.assert_has(&["ada", "bob", "cy"], &[]).await;
            opened.crash();
        }
    }
}

#[tokio::test]
async fn a_write_that_fails_leaves_nothing_in_ledger_or_journal() {
    for (name, fault) in WRITE_FAULTS {
        let house = House::new();
        let files = FaultyFiles::default();
        let opened = open_busy(&house, files.tuning()).await;
        let before = house.ledger();
        set(files.fault(fault), true);
        assert_unavailable(opened.sign_up("bob").await);
        assert_unavailable(opened.store.check().await);
        opened.assert_has(&["ada"], &["bob"]).await;
        assert_eq!(house.ledger(), before, "{name}");
        assert!(!journal(&house).exists(), "{name}");

        set(files.fault(fault), false);
        assert_eq!(opened.sign_up("cy").await, Ok(Subscription::Created));
        opened.crash();
        house.open().assert_has(&["ada", "cy"], &["bob"]).await;
    }
}

#[tokio::test]
async fn while_the_ledger_cannot_be_cut_back_every_write_fails() {
    for (name, fault) in WRITE_FAULTS {
        let house = House::new();
        let files = FaultyFiles::default();
        let opened = open_busy(&house, files.tuning()).await;
        let before = house.ledger();
        set(files.fault(|faults| &faults.truncate), true);
        set(files.fault(fault), true);
        assert_unavailable(opened.sign_up("bob").await);
        set(files.fault(fault), false);
        assert_unavailable(opened.sign_up("cy").await);
        opened.assert_has(&["ada"], &["bob", "cy"]).await;

        set(files.fault(|faults| &faults.truncate), false);
        assert_eq!(opened.store.check().await, Ok(()), "{name}");
        assert_eq!(house.ledger(), before, "{name}");
        assert_eq!(opened.sign_up("bob").await, Ok(Subscription::Created));
        opened.stop();
        house.open().assert_has(&["ada", "bob"], &["cy"]).await;
    }
}

#[tokio::test]
async fn a_journal_that_takes_no_writes_is_done_without() {
    let house = House::new();
    let files = FaultyFiles::default();
    let opened = open_busy(&house, files.tuning()).await;
    set(files.fault(|faults| &faults.overwrite), true);
    for name in ["bob", "cy"] {
        assert_eq!(opened.sign_up(name).await, Ok(Subscription::Created));
        // It may not be readable either, and the next start would ask for it.
        assert!(!journal(&house).exists());
    }
    opened.crash();
    house.open().assert_has(&["ada", "bob", "cy"], &[]).await;
}

#[tokio::test]
async fn the_journal_leaves_its_room_to_the_ledger() {
    let house = House::new();
    let files = FaultyFiles::default();
    let opened = open_busy(&house, files.tuning()).await;
    set(files.fault(|faults| &faults.full_with_journal), true);
    for number in 0..100 {
        // One is made anew after a while, and given back again.
        let created = opened.sign_up(&format!("x{number}")).await;
        assert_eq!(created, Ok(Subscription::Created));
    }
    opened.crash();
    house.open().assert_has(&["ada", "x0", "x99"], &[]).await;
}

#[tokio::test]
async fn a_disk_with_little_left_has_a_short_journal_or_none() {
    for (free_bytes, length) in [
        (u64::MAX, 1024 * 1024),
        (LITTLE_ROOM, 16 * 1024),
        (99_999, 0),
    ] {
        let house = House::new();
        let files = PowerFiles::new(0, free_bytes);
        let opened = house.try_open(files.tuning()).unwrap();
        for _ in 0..300 {
            opened.sign_up("ada").await.unwrap();
        }
        let found = fs::metadata(journal(&house)).map_or(0, |found| found.len());
        assert_eq!(found, length);
        opened.stop();
        assert!(!journal(&house).exists());
    }
}

#[tokio::test]
async fn a_journal_is_kept_until_half_its_room_is_gone() {
    let house = House::new();
    let files = PowerFiles::new(0, LITTLE_ROOM);
    let opened = open_busy(&house, files.tuning()).await;
    for (free_bytes, length) in [
        (LITTLE_ROOM - 64 * 1024, 16 * 1024),
        (LITTLE_ROOM / 2 + 4096, 16 * 1024),
        (LITTLE_ROOM / 2 - 4096, 4 * 1024),
    ] {
        files.set_free_bytes(free_bytes);
        for _ in 0..200 {
            opened.sign_up("ada").await.unwrap();
        }
        assert_eq!(fs::metadata(journal(&house)).unwrap().len(), length);
    }
}

#[tokio::test]
async fn a_journal_that_cannot_be_read_is_named_and_can_be_moved_away() {
    let house = House::new();
    house.open().stop();
    fs::create_dir(journal(&house)).unwrap();
    let refusal = house.refusal();
    assert!(
        refusal.contains("ledger.journal: ") && refusal.contains("move it away"),
        "{refusal}"
    );
    fs::rename(journal(&house), house.file("away")).unwrap();
    house.open().stop();
}

#[tokio::test]
async fn a_changed_byte_in_the_journal_harms_no_ledger_that_is_whole() {
    let house = House::new();
    let (whole, copy) = crash_with(&house, &[]).await;
    for position in (0..1500).step_by(11) {
        let mut bytes = copy.clone();
        bytes[position] ^= 1;
        fs::write(journal(&house), &bytes).unwrap();
        let (opened, log) = house.open_logged();
        assert!(!log.contains("WARN"), "{position}: {log}");
        assert_eq!(house.ledger(), whole);
        opened.crash();
    }
}

#[tokio::test]
async fn accepting_damage_keeps_what_the_journal_has() {
    let house = House::new();
    let (whole, _) = crash_with(&house, &["bob"]).await;
    let ends = ends(&whole);
    let mut bytes = whole[..ends[65]].to_vec();
    bytes[ends[3] + 30] ^= 1;
    check_accepted(&house, &bytes, 5, &["ada", "bob"], &[]).await;
    assert!(house.file("ledger.journal.1").exists());
}

#[tokio::test]
async fn a_busy_ledger_is_written_anew_as_any_other() {
    let house = House::new();
    let tuning = Tuning {
        dead_lines_min: 100,
        ..PowerFiles::new(1, LITTLE_ROOM).tuning()
    };
    let opened = house.try_open(tuning).unwrap();
    for _ in 0..300 {
        opened.sign_up("ada").await.unwrap();
    }
    opened.sign_up("bob").await.unwrap();
    assert!(house.ledger_text().lines().count() < 150);
    opened.crash();
    let (opened, log) = house.open_logged();
    assert!(!log.contains("WARN"), "{log}");
    opened.assert_has(&["ada", "bob"], &[]).await;
}
