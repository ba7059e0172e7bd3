//! A journal that does not continue its ledger: neither takes anything from the other.

use std::fs;

use super::damage::check_accepted;
use super::journal::{crash_with, ends, journal};
use crate::fixtures::House;

/// A ledger that went on without its journal, from before that begun: "ada" and `names` are in it.
/// "bob" is in the journal alone, which is handed out.
async fn diverge(house: &House, names: &[&str]) -> Vec<u8> {
    let (whole, copy) = crash_with(house, &["bob"]).await;
    fs::remove_file(journal(house)).unwrap();
    house.write_ledger(&whole[..ends(&whole)[65]]);
    let opened = house.open();
    for name in names {
        opened.sign_up(name).await.unwrap();
    }
    opened.crash();
    fs::write(journal(house), &copy).unwrap();
    copy
}

#[tokio::test]
async fn lines_that_a_ledger_went_on_with_are_not_replaced_by_its_journal() {
    // Fewer than the journal has, and more.
    for names in [&["cy"][..], &["cy", "dan", "e", "f", "g", "h", "i", "j"]] {
        let house = House::new();
        let copy = diverge(&house, names).await;
        let before = house.ledger();
        let (opened, log) = house.open_logged();
        assert!(log.contains("set aside"), "{log}");
        assert_eq!(house.ledger(), before);
        opened.assert_has(names, &["bob"]).await;
        assert_eq!(fs::read(house.file("ledger.journal.1")).unwrap(), copy);
    }
}

#[tokio::test]
async fn accepting_damage_replaces_no_good_line() {
    let house = House::new();
    let copy = diverge(&house, &["cy", "dan"]).await;
    let mut bytes = house.ledger();
    let ends = ends(&bytes);
    // The line behind the place where the journal begins is lost, the next one is not.
    bytes[ends[65] + 30] ^= 1;
    check_accepted(&house, &bytes, 67, &["ada", "dan"], &["bob", "cy"]).await;
    assert_eq!(fs::read(house.file("ledger.journal.1")).unwrap(), copy);
}

#[tokio::test]
async fn accepting_damage_replaces_no_good_line_across_the_place_of_the_journal() {
    let house = House::new();
    let (whole, copy) = crash_with(&house, &["bob"]).await;
    fs::remove_file(journal(&house)).unwrap();
    let place = ends(&whole)[65];
    house.write_ledger(&whole[..ends(&whole)[63]]);
    let opened = house.open();
    for name in ["cy", "dan"] {
        opened.sign_up(name).await.unwrap();
    }
    opened.crash();
    let mut bytes = house.ledger();
    let ends = ends(&bytes);
    assert!((ends[64] + 1..ends[65]).contains(&place));
    bytes[ends[3] + 30] ^= 1;
    house.write_ledger(&bytes);
    fs::write(journal(&house), &copy).unwrap();
    house.accept_damage();
    house
        .open()
        .assert_has(&["ada", "cy", "dan"], &["bob"])
        .await;
    assert_eq!(fs::read(house.file("ledger.journal.1")).unwrap(), copy);
}

#[tokio::test]
async fn accepting_damage_puts_nothing_behind_a_line_that_is_not_the_journals() {
    let house = House::new();
    let (whole, copy) = crash_with(&house, &["bob"]).await;
    let ends = ends(&whole);
    // Another one than the journal continues, or a later one before a line that cannot be read.
    let earlier = [&whole[..ends[64]], &whole[ends[63]..ends[64]]].concat();
    let mut later = [&whole[..ends[63]], &whole[ends[65]..ends[66]], &earlier].concat();
    later.truncate(ends[65]);
    for bytes in [earlier, later] {
        assert_eq!(bytes.len(), ends[65]);
        house.write_ledger(&bytes);
        fs::write(journal(&house), &copy).unwrap();
        assert!(house.refusal().contains("damaged at line"));
        house.accept_damage();
        house.open().assert_has(&["ada"], &["bob"]).await;
    }
    assert_eq!(fs::read(house.file("ledger.journal.2")).unwrap(), copy);
}

#[tokio::test]
async fn a_journal_of_later_lines_than_the_ledger_has_is_set_aside() {
    let house = House::new();
    let (whole, copy) = crash_with(&house, &["bob"]).await;
    let ends = ends(&whole);
    // A copy of the ledger that was made before the journal began, whole or not.
    for length in [ends[40], ends[40] + 20] {
        house.write_ledger(&whole[..length]);
        fs::write(journal(&house), &copy).unwrap();
        let (opened, log) = house.open_logged();
        assert!(log.contains("set aside"), "{log}");
        assert_eq!(house.ledger(), &whole[..ends[40]]);
        opened.assert_has(&["ada"], &["bob"]).await;
        opened.stop();
    }
    assert_eq!(fs::read(house.file("ledger.journal.1")).unwrap(), copy);
    assert_eq!(fs::read(house.file("ledger.journal.2")).unwrap(), copy);
    assert!(!journal(&house).exists());
}

#[tokio::test]
async fn a_journal_of_another_ledger_changes_nothing() {
    let house = House::new();
    let (_, copy) = crash_with(&house, &[]).await;
    // One that was written anew since.
    let opened = house.open();
    opened.forget("ada").await.unwrap();
    opened.stop();
    house.open().stop();
    let compacted = house.ledger();
    fs::write(journal(&house), &copy).unwrap();
    let (opened, log) = house.open_logged();
    assert!(log.contains("set aside"), "{log}");
    opened.stop();
    assert_eq!(house.ledger(), compacted);
    assert_eq!(fs::read(house.file("ledger.journal.1")).unwrap(), copy);
    // And none at all.
    fs::remove_file(house.file("ledger.jsonl")).unwrap();
    fs::write(journal(&house), &copy).unwrap();
    house.open().assert_has(&[], &["ada"]).await;
    assert_eq!(fs::read(house.file("ledger.journal.2")).unwrap(), copy);
}
