//! A data directory whose last process kept a journal beside the ledger, as versions before this one
//! did: what the journal has is taken over once.

use std::fs;
use std::path::PathBuf;

use super::damage::{check_accepted, check_refused};
use super::faults::FaultyFiles;
use super::faults::set;
use super::{ends, sealed};
use crate::fixtures::House;

/// As the last version with a journal left them, when it was killed, beside the secret that every
/// [`House`] has: 65 lines of "ada", which were synced, and four more, which are in the journal, too.
/// The head names a later format than theirs, or else the ledger would be written anew.
const LEDGER: &[u8] = include_bytes!("with_journal/ledger.jsonl");
const JOURNAL: &[u8] = include_bytes!("with_journal/ledger.journal");

/// The line of the ledger after which the journal begins, the head included.
const SYNCED: usize = 66;

fn journal(house: &House) -> PathBuf {
    house.file("ledger.journal")
}

/// A house that was left with `ledger` and `journal`.
fn left_with(ledger: &[u8], journal_bytes: &[u8]) -> House {
    let house = House::new();
    house.open().stop();
    house.write_ledger(ledger);
    fs::write(journal(&house), journal_bytes).unwrap();
    house
}

/// The start takes all of the journal over without a word.
async fn check_taken_over(ledger: &[u8]) {
    let house = left_with(ledger, JOURNAL);
    let (opened, log) = house.open_logged();
    assert!(!log.contains("WARN"), "{log}");
    assert_eq!(house.ledger(), LEDGER);
    assert!(!journal(&house).exists());
    opened.assert_has(&["ada", "bob", "cy", "dan"], &[]).await;
    opened.sign_up("eve").await.unwrap();
    opened.crash();
    let opened = house.open();
    opened.assert_has(&["ada", "dan", "eve"], &[]).await;
}

/// The start takes nothing over that is not certain, and keeps the journal for people to look at.
async fn check_set_aside(ledger: &[u8], journal_bytes: &[u8], present: &[&str], absent: &[&str]) {
    let house = left_with(ledger, journal_bytes);
    let (opened, log) = house.open_logged();
    assert!(log.contains("set aside"), "{log}");
    opened.assert_has(present, absent).await;
    assert!(!journal(&house).exists());
    assert_eq!(
        fs::read(house.file("ledger.journal.1")).unwrap(),
        journal_bytes
    );
}

#[tokio::test]
async fn after_a_kill_the_ledger_has_all_and_the_journal_goes() {
    check_taken_over(LEDGER).await;
}

#[tokio::test]
async fn a_ledger_of_their_format_is_written_anew_with_what_the_journal_has() {
    let synced = ends(LEDGER)[SYNCED - 1];
    let text = String::from_utf8(LEDGER[..synced].to_vec()).unwrap();
    let text = sealed(&text.replace("\"format\":4", "\"format\":2"));
    let house = left_with(text.as_bytes(), JOURNAL);
    for is_crash in [true, false, false] {
        let opened = house.open();
        assert!(!journal(&house).exists());
        assert!(
            house
                .ledger_text()
                .contains("\"format\":4,\"generation\":2")
        );
        opened.assert_has(&["ada", "bob", "cy", "dan"], &[]).await;
        opened.end(is_crash);
    }
}

#[tokio::test]
async fn what_a_power_cut_took_from_the_ledger_is_written_from_the_journal() {
    let ends = ends(LEDGER);
    let synced = ends[SYNCED - 1];
    // Any length of what was not synced, and any line of it lost.
    for length in (synced..=LEDGER.len()).step_by(37) {
        check_taken_over(&LEDGER[..length]).await;
    }
    for lost in ends[SYNCED - 1..].windows(2) {
        let mut bytes = LEDGER.to_vec();
        bytes[lost[0]..lost[1]].fill(0);
        check_taken_over(&bytes).await;
    }
    // Blocks of another file have come to stand there: earlier lines.
    let mut bytes = LEDGER.to_vec();
    let earlier = &LEDGER[ends[20]..ends[22]];
    bytes[synced..synced + earlier.len()].copy_from_slice(earlier);
    check_taken_over(&bytes).await;
}

#[tokio::test]
async fn a_journal_is_taken_over_even_if_the_power_fails_meanwhile() {
    let synced = ends(LEDGER)[SYNCED - 1];
    let house = left_with(&LEDGER[..synced], JOURNAL);
    let files = FaultyFiles::default();
    for fault in [
        files.fault(|faults| &faults.overwrite),
        files.fault(|faults| &faults.sync),
    ] {
        set(fault, true);
        assert!(house.try_open(files.tuning()).is_err());
        assert_eq!(fs::read(journal(&house)).unwrap(), JOURNAL);
        set(fault, false);
    }
    house.open().assert_has(&["ada", "bob", "dan"], &[]).await;
    assert_eq!(house.ledger(), LEDGER);
}

#[tokio::test]
async fn what_stands_behind_a_gap_in_the_journal_is_kept_aside() {
    let cy = JOURNAL.windows(3).position(|it| it == b"cy@").unwrap();
    let mut damaged = JOURNAL.to_vec();
    damaged[cy] ^= 1;
    let synced = ends(LEDGER)[SYNCED - 1];
    check_set_aside(&LEDGER[..synced], &damaged, &["ada", "bob"], &["cy", "dan"]).await;
    // A ledger that has it all loses nothing.
    check_set_aside(LEDGER, &damaged, &["ada", "bob", "cy", "dan"], &[]).await;
}

#[tokio::test]
async fn a_changed_byte_in_the_journal_harms_no_ledger_that_is_whole() {
    for position in (0..800).step_by(7) {
        let mut bytes = JOURNAL.to_vec();
        bytes[position] ^= 1;
        let house = left_with(LEDGER, &bytes);
        let opened = house.open();
        assert_eq!(house.ledger(), LEDGER);
        assert!(!journal(&house).exists());
        opened.assert_has(&["ada", "bob", "cy", "dan"], &[]).await;
    }
}

#[tokio::test]
async fn a_journal_that_does_not_continue_the_ledger_replaces_nothing() {
    let ends = ends(LEDGER);
    // An earlier copy of the ledger, whole or not.
    for length in [ends[40], ends[40] + 20] {
        check_set_aside(&LEDGER[..length], JOURNAL, &["ada"], &["bob"]).await;
    }
    // One that went on without the journal, with fewer lines than it has, and with more.
    for names in [
        &["eve"][..],
        &["eve", "f", "g", "h", "i", "j", "k", "l", "m"],
    ] {
        let house = House::new();
        house.open().stop();
        house.write_ledger(&LEDGER[..ends[SYNCED - 1]]);
        let opened = house.open();
        for name in names {
            opened.sign_up(name).await.unwrap();
        }
        opened.crash();
        check_set_aside(&house.ledger(), JOURNAL, names, &["bob"]).await;
    }
    // None at all: the one that is begun is not the journal's.
    let house = left_with(LEDGER, JOURNAL);
    fs::remove_file(house.file("ledger.jsonl")).unwrap();
    assert!(house.refusal().contains("accept-empty"));
    fs::write(house.file("accept-empty"), "").unwrap();
    house.open().assert_has(&[], &["ada", "bob"]).await;
    assert_eq!(fs::read(house.file("ledger.journal.1")).unwrap(), JOURNAL);
}

#[tokio::test]
async fn a_journal_of_another_generation_changes_nothing() {
    let house = House::new();
    let opened = house.open();
    for name in ["ada", "zoe"] {
        opened.sign_up(name).await.unwrap();
    }
    opened.forget("zoe").await.unwrap();
    opened.stop();
    house.open().stop();
    let compacted = house.ledger();
    for number in 1..=2 {
        fs::write(journal(&house), JOURNAL).unwrap();
        let (opened, log) = house.open_logged();
        assert!(log.contains("set aside"), "{log}");
        opened.stop();
        assert_eq!(house.ledger(), compacted);
        let aside = house.file(&format!("ledger.journal.{number}"));
        assert_eq!(fs::read(aside).unwrap(), JOURNAL);
    }
}

#[tokio::test]
async fn accepting_damage_keeps_what_the_journal_has() {
    let ends = ends(LEDGER);
    let mut bytes = LEDGER[..ends[SYNCED - 1]].to_vec();
    bytes[ends[3] + 30] ^= 1;
    let house = left_with(&bytes, JOURNAL);
    assert!(house.refusal().contains("damaged at line 5"));
    house.accept_damage();
    let opened = house.open();
    opened.assert_has(&["ada", "bob", "cy", "dan"], &[]).await;
    opened.stop();
    // The same without a journal.
    let whole = [&bytes[..], &LEDGER[ends[SYNCED - 1]..]].concat();
    let house = House::new();
    house.open().stop();
    check_refused(&house, &whole, 5);
    check_accepted(&house, &whole, 5, &["ada", "bob", "cy", "dan"], &[]).await;
}

#[tokio::test]
async fn a_journal_that_cannot_be_read_is_named() {
    let house = House::new();
    house.open().stop();
    fs::create_dir(journal(&house)).unwrap();
    let refusal = house.refusal();
    assert!(
        refusal.contains("ledger.journal is no regular file"),
        "{refusal}"
    );
    fs::rename(journal(&house), house.file("away")).unwrap();
    house.open().stop();
}
