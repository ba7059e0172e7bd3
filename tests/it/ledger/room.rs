//! A busy ledger has room behind its last line, which is never taken for a line or for damage.

use landing_api::adapters::store::{OpenError, Tuning};
use landing_api::domain::contact::Subscription;
use landing_api::ports::ContactStore;

use super::faults::{FaultyFiles, WRITE_FAULTS, assert_unavailable, set};
use crate::fixtures::{House, Opened};

/// Opens a store and signs "ada" up so often that there is room.
async fn open_busy(house: &House, files: &FaultyFiles) -> Opened {
    let opened = house.try_open(files.tuning()).unwrap();
    for _ in 0..80 {
        opened.sign_up("ada").await.unwrap();
    }
    assert!(lines(house).len() < house.ledger().len(), "no room");
    opened
}

/// The ledger without the room behind it.
fn lines(house: &House) -> Vec<u8> {
    let mut bytes = house.ledger();
    let end = bytes.iter().rposition(|byte| *byte != b' ').unwrap();
    bytes.truncate(end + 1);
    assert_eq!(bytes.last(), Some(&b'\n'));
    bytes
}

#[tokio::test]
async fn a_clean_stop_takes_the_room_back() {
    let house = House::new();
    let opened = open_busy(&house, &FaultyFiles::default()).await;
    let whole = lines(&house);
    opened.stop();
    assert_eq!(house.ledger(), whole);
    let (opened, log) = house.open_logged();
    assert!(
        !log.contains("WARN") && !log.contains("rebuilding"),
        "{log}"
    );
    opened.assert_has(&["ada"], &["bob"]).await;
}

#[tokio::test]
async fn room_that_a_crash_left_is_cut_without_a_word() {
    let house = House::new();
    let opened = open_busy(&house, &FaultyFiles::default()).await;
    opened.sign_up("bob").await.unwrap();
    opened.crash();
    let whole = lines(&house);
    // A backup that was copied meanwhile may end anywhere in it.
    for room in [0, 1, 63, 16 * 1024, 64 * 1024, 200_000] {
        house.write_ledger(&[whole.as_slice(), &vec![b' '; room]].concat());
        let (opened, log) = house.open_logged();
        assert!(!log.contains("WARN"), "{room}: {log}");
        assert_eq!(house.ledger(), whole, "{room}");
        opened.assert_has(&["ada", "bob"], &["cy"]).await;
        opened.sign_up("bob").await.unwrap();
        opened.crash();
    }
}

#[tokio::test]
async fn a_batch_of_which_the_room_still_shows_is_cut_whole() {
    let house = House::new();
    let opened = open_busy(&house, &FaultyFiles::default()).await;
    let before = lines(&house);
    opened.sign_up("bob").await.unwrap();
    opened.crash();
    let (after, with_room) = (lines(&house), house.ledger());
    for kept in (before.len() + 1..after.len()).step_by(6) {
        // Either end of the batch may have reached the disk alone.
        for missing in [kept..after.len(), before.len()..kept] {
            let mut bytes = with_room.clone();
            bytes[missing].fill(b' ');
            house.write_ledger(&bytes);
            let (opened, log) = house.open_logged();
            assert!(log.contains("unfinished batch"), "{kept}: {log}");
            assert_eq!(house.ledger(), before, "{kept}");
            opened.assert_has(&["ada"], &["bob"]).await;
            opened.crash();
        }
    }
}

#[tokio::test]
async fn room_in_front_of_a_later_batch_is_damage() {
    let house = House::new();
    open_busy(&house, &FaultyFiles::default()).await.stop();
    let whole = house.ledger();
    let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    // All of line 5 but its newline, that too, a line's first byte, and several lines.
    for blank in [
        ends[3] + 1..ends[4],
        ends[3] + 1..ends[4] + 1,
        ends[3] + 1..ends[3] + 2,
        ends[3] + 1..ends[40],
    ] {
        let mut bytes = whole.clone();
        bytes[blank].fill(b' ');
        house.write_ledger(&bytes);
        match house.try_open(Tuning::default()).err() {
            Some(OpenError::Damaged { line, .. }) => assert_eq!(line, 5),
            other => panic!("expected damage, got {other:?}"),
        }
        assert_eq!(house.ledger(), bytes, "nothing is changed");
    }
}

#[tokio::test]
async fn a_write_into_room_that_fails_leaves_nothing() {
    for (name, fault) in WRITE_FAULTS {
        let house = House::new();
        let files = FaultyFiles::default();
        let opened = open_busy(&house, &files).await;
        let before = lines(&house);

        set(files.fault(fault), true);
        assert_unavailable(opened.sign_up("bob").await);
        assert_unavailable(opened.store.check().await);
        opened.assert_has(&["ada"], &["bob"]).await;
        assert_eq!(house.ledger(), before, "{name}");

        set(files.fault(fault), false);
        let created = opened.sign_up("bob").await;
        assert_eq!(created, Ok(Subscription::Created), "{name}");
        assert_eq!(opened.store.check().await, Ok(()), "{name}");
        opened.crash();
        house.open().assert_has(&["ada", "bob"], &[]).await;
    }
}

#[tokio::test]
async fn while_room_cannot_be_cut_back_every_write_fails() {
    for (name, fault) in WRITE_FAULTS {
        let house = House::new();
        let files = FaultyFiles::default();
        let opened = open_busy(&house, &files).await;
        let before = lines(&house);
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
async fn changes_that_wait_share_one_batch_in_the_room() {
    let house = House::new();
    let files = FaultyFiles::default();
    let opened = open_busy(&house, &files).await;
    let gathered = files.gather(&opened, &["x", "y", "x", "held"]).await;
    let (held, waiting) = gathered.release();
    assert_eq!(held.await.unwrap(), Ok(Subscription::Created));
    let mut created = Vec::new();
    for answer in waiting {
        created.push(answer.await.unwrap() == Ok(Subscription::Created));
    }
    assert_eq!(created, [true, true, false, false]);
    opened.crash();
    house
        .open()
        .assert_has(&["ada", "held", "x", "y"], &[])
        .await;
}
