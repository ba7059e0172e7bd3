//! What was marked as durable is there at the next start, or the start is refused: up to there a bad line is
//! damage, not a torn end.

use super::damage::{check_refused, check_repaired, check_verified};
use super::ends;
use super::torn::ledger_with_batch;
use crate::prelude::*;

/// All that it has.
const ALL: [&str; 5] = ["ada", "held", "x", "y", "z"];

/// A house whose ledger ends with a batch of "x", "y" and "z", that ledger, and where the batch begins there.
async fn ended(is_crash: bool) -> (House, Vec<u8>, usize) {
    ledger_with_batch(&["x", "y", "z"], is_crash).await
}

#[tokio::test]
async fn any_changed_byte_of_the_last_batch_is_refused_with_its_line() {
    for is_crash in [false, true] {
        let (house, whole, begin) = ended(is_crash).await;
        for position in begin..whole.len() {
            let mut bytes = whole.clone();
            bytes[position] ^= 1;
            let line = 1 + whole[..position].iter().filter(|b| **b == b'\n').count();
            check_refused(&house, &bytes, line);
            if ![whole[position], bytes[position]].contains(&b'\n') {
                let refusal = house.refusal();
                assert!(!refusal.contains("are bad"), "one is: {refusal}");
            }
        }
        house.write_ledger(&whole);
        house.open().assert_has_all(ALL).await;
    }
}

#[tokio::test]
async fn any_missing_end_is_refused_with_the_line_that_is_missing() {
    for is_crash in [false, true] {
        let (house, whole, _) = ended(is_crash).await;
        let head = ends(&whole)[0];
        for length in head - 1..whole.len() - 1 {
            // A line that lacks only its newline is there.
            let lines = (0..whole.len()).filter(|at| whole[*at] == b'\n' && *at <= length);
            check_refused(&house, &whole[..length], 1 + lines.count());
        }
    }
}

#[tokio::test]
async fn a_last_line_without_its_newline_is_whole() {
    let (house, whole, _) = ended(false).await;
    for is_crash in [false, true, false] {
        let bytes = house.ledger();
        house.write_ledger(&bytes[..bytes.len() - 1]);
        verify_ledger(&house.path).unwrap();
        let opened = house.open_quietly();
        assert_eq!(house.ledger(), bytes);
        opened.assert_has_all(ALL).await;
        opened.sign_up("ada").await.unwrap();
        opened.end(is_crash);
    }
    assert!(house.ledger().starts_with(&whole));
    // Not even the head needs it.
    let house = House::stopped();
    let head = house.ledger();
    house.write_ledger(&head[..head.len() - 1]);
    verify_ledger(&house.path).unwrap();
    house.open().sign_up("ada").await.unwrap();
    house.open().assert_has(&["ada"], &[]).await;
}

#[tokio::test]
async fn a_repair_keeps_the_file_as_it_was() {
    let (house, whole, begin) = ended(false).await;
    let mut bytes = whole.clone();
    bytes[begin + 30] ^= 1;
    bytes.truncate(bytes.len() - 10);
    let (kept, lost) = (["ada", "held", "y"], ["x", "z"]);
    check_repaired(&house, &bytes, 4, &kept, &lost).await;
    assert_eq!(house.kept(), Some(bytes));
    house.open().assert_has(&kept, &lost).await;
}

#[tokio::test]
async fn all_bad_lines_are_counted() {
    let house = House::stopped_with((0..50).map(|number| format!("x{number}"))).await;
    let whole = house.ledger();
    let ends = ends(&whole);
    let with_bad = |lines: &[usize]| {
        let mut bytes = whole.clone();
        for line in lines {
            bytes[ends[line - 2] + 20] ^= 1;
        }
        bytes
    };
    for (lines, words) in [
        (vec![3], "damaged at line 3: it is corrupt"),
        (vec![3, 7, 51], "(3 lines are bad)"),
        ((3..40).collect(), "(37 lines are bad)"),
    ] {
        check_refused(&house, &with_bad(&lines), 3);
        check_verified(&house, 3);
        let refusal = house.refusal();
        assert!(refusal.contains(words), "{refusal}");
    }
    // A line that is missing, and one that is bad.
    let mut bytes = with_bad(&[30]);
    bytes.drain(ends[5]..ends[6]);
    check_refused(&house, &bytes, 7);
    let refusal = house.refusal();
    assert!(refusal.contains("(2 lines are bad)"), "{refusal}");
}

#[tokio::test]
async fn behind_the_mark_the_last_batch_may_be_torn() {
    let (house, whole, _) = ended(false).await;
    let mark = fs::read(house.file("mark")).unwrap();
    let opened = house.open();
    opened.sign_up("zoe").await.unwrap();
    opened.crash();
    // The power was cut: the mark of before is on the disk, and part of the batch.
    fs::write(house.file("mark"), mark).unwrap();
    let bytes = house.ledger();
    house.write_ledger(&bytes[..bytes.len() - 2]);
    house.open().crash();
    assert_eq!(house.ledger(), whole);
}

#[tokio::test]
async fn an_earlier_copy_in_the_place_of_the_running_ledger_is_refused_at_the_next_start() {
    for is_crash in [false, true] {
        let (house, opened) = House::opened();
        opened.sign_up("ada").await.unwrap();
        let earlier = house.ledger();
        opened.sign_up("bob").await.unwrap();
        fs::write(house.file("copy"), &earlier).unwrap();
        fs::rename(house.file("copy"), house.file("ledger.jsonl")).unwrap();
        if is_crash {
            opened.crash();
        } else {
            let stopped = opened.store.close();
            assert!(matches!(stopped, Err(StoreError::Displaced(_))));
            drop(opened);
        }
        check_repaired(&house, &earlier, 3, &["ada"], &["bob"]).await;
    }
}

#[tokio::test]
async fn a_copy_from_before_the_ledger_was_written_anew_is_an_earlier_one() {
    let (house, opened) = House::opened_with(["ada", "zoe"]).await;
    let before = house.ledger();
    opened.forget("zoe").await.unwrap();
    opened.stop();
    check_refused(&house, &before, 1);
    assert!(house.refusal().contains("an earlier copy"));
}

#[tokio::test]
async fn what_was_marked_is_required_after_every_crash() {
    let (house, whole, begin) = ended(false).await;
    house.open().crash();
    let opened = house.open();
    opened.sign_up("zoe").await.unwrap();
    opened.crash();
    check_refused(&house, &whole[..begin], 4);
    assert!(house.refusal().contains("at least 6 acknowledged entries"));
    house.repair();
    let opened = house.open();
    opened.assert_has(&["ada", "held"], &["x", "zoe"]).await;
    opened.crash();
    // The loss was accepted for good.
    house.open().assert_has(&["ada", "held"], &["x"]).await;
}

/// A mark without what names its file: checksum and place.
fn counted(mark: &[u8]) -> String {
    let text = str::from_utf8(mark).unwrap();
    let (from, to) = (
        text.find(",\"secret\"").unwrap(),
        text.find(",\"place\"").unwrap(),
    );
    text[from..to].to_owned()
}

#[tokio::test]
async fn a_mark_with_any_byte_changed_holds_no_ledger_up() {
    let (house, whole, _) = ended(false).await;
    let mark = house.file("mark");
    let written = fs::read(&mark).unwrap();
    for position in 0..written.len() {
        let mut bytes = written.clone();
        bytes[position] ^= 1;
        fs::write(&mark, bytes).unwrap();
        let (opened, log) = house.open_logged();
        opened.assert_has_all(ALL).await;
        // It ends without one, so only the mark can be missing.
        assert!(
            log.contains("mark of the ledger's end") || position == written.len() - 1,
            "{position}: {log}"
        );
        opened.stop();
        assert_eq!(counted(&fs::read(&mark).unwrap()), counted(&written));
    }
    let half = &written[..written.len() / 2];
    for bytes in [&b""[..], b"\n", half, &[b'x'; 100_000]] {
        fs::write(&mark, bytes).unwrap();
        house.open().assert_has(&["ada", "held"], &[]).await;
    }
    assert_eq!(house.ledger(), whole);
}
