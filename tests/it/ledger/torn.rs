//! A batch that was not written whole was never acknowledged, and goes without a trace.

use std::fs;

use super::faults::FaultyFiles;
use crate::fixtures::House;

/// A ledger whose last batch signs up `last` together, after `first` one by one. Hands out where
/// that batch begins, in bytes.
async fn ledger_with_batch(house: &House, first: &[&str], last: &[&'static str]) -> usize {
    let files = FaultyFiles::default();
    let opened = house.try_open(files.tuning()).unwrap();
    for name in first {
        opened.sign_up(name).await.unwrap();
    }
    // While the writer writes a contact that is forgotten again, the others gather.
    let gathered = files.gather(&opened, last).await;
    let start = house.ledger().len();
    let (held, waiting) = gathered.release();
    held.await.unwrap().unwrap();
    let held_bytes = {
        let text = house.ledger_text();
        let line = text[start..].lines().next().unwrap();
        assert!(line.contains("\"left\":0"), "{line}");
        line.len() + 1
    };
    for sign_up in waiting {
        sign_up.await.unwrap().unwrap();
    }
    opened.crash();
    let text = house.ledger_text();
    let lines: Vec<&str> = text[start + held_bytes..].lines().collect();
    assert_eq!(lines.len(), last.len());
    assert!(lines[0].contains(&format!("\"left\":{}", last.len() - 1)));
    start + held_bytes
}

#[tokio::test]
async fn a_batch_cut_at_any_byte_is_cut_whole() {
    let house = House::new();
    let start = ledger_with_batch(&house, &["ada"], &["x", "y"]).await;
    let whole = house.ledger();
    for length in start..whole.len() - 1 {
        house.cut_power(&whole[..length]);
        let (opened, log) = house.open_logged();
        assert_eq!(house.ledger().len(), start, "cut at {length}");
        assert_eq!(
            log.contains("WARN"),
            length > start,
            "cut at {length}: {log}"
        );
        // The message names a file with what was cut.
        let kept = house.kept("cut");
        assert_eq!(kept.len(), length - start, "cut at {length}");
        if let Some(last) = kept.last() {
            assert_eq!(last, &whole[start..length]);
            assert!(log.contains(&format!("ledger.cut.{}", kept.len())), "{log}");
        }
        opened.assert_has(&["ada", "held"], &["x", "y"]).await;
        opened.crash();
    }
    // Nothing is missing without the last newline.
    house.write_ledger(&whole[..whole.len() - 1]);
    let (opened, log) = house.open_logged();
    assert!(!log.contains("WARN"), "{log}");
    opened.assert_has(&["ada", "held", "x", "y"], &[]).await;
    opened.crash();
    house.write_ledger(&whole);
    let (opened, log) = house.open_logged();
    assert!(!log.contains("WARN"), "{log}");
    opened.assert_has(&["ada", "held", "x", "y"], &[]).await;
    assert_eq!(house.ledger(), whole);
}

#[tokio::test]
async fn a_last_batch_with_bytes_that_never_reached_the_disk_is_cut_whole() {
    let house = House::new();
    let start = ledger_with_batch(&house, &["ada"], &["x", "y", "z"]).await;
    let whole = house.ledger();
    for hole in start..whole.len() {
        if (hole - start) % 7 != 0 {
            continue;
        }
        let mut bytes = whole.clone();
        let end = bytes.len().min(hole + 40);
        bytes[hole..end].fill(0);
        house.cut_power(&bytes);
        let opened = house.open();
        opened.assert_has(&["ada", "held"], &["x", "y", "z"]).await;
        assert_eq!(house.ledger().len(), start);
    }
}

#[tokio::test]
async fn garbage_behind_the_last_batch_is_cut_and_writing_goes_on() {
    let house = House::new();
    let opened = house.open();
    opened.sign_up("ada").await.unwrap();
    opened.stop();
    let whole = house.ledger();
    let garbage: [Vec<u8>; 5] = [
        b"\n".to_vec(),
        b"{}\n".to_vec(),
        vec![0; 100_000],
        b"\n\n\n\n".repeat(1024),
        whole[..20].to_vec(),
    ];
    for garbage in garbage {
        house.cut_power(&[whole.as_slice(), &garbage].concat());
        let (opened, log) = house.open_logged();
        assert!(log.contains("unfinished batch"), "{log}");
        assert_eq!(house.ledger(), whole);
        opened.assert_has(&["ada"], &["bob"]).await;
        opened.sign_up("bob").await.unwrap();
        opened.crash();
        let opened = house.open();
        opened.assert_has(&["ada", "bob"], &[]).await;
        opened.crash();
    }
}

#[tokio::test]
async fn an_unfinished_first_batch_leaves_an_empty_ledger() {
    let house = House::new();
    house.open().stop();
    let head = house.ledger();
    fs::write(
        house.file("ledger.jsonl"),
        [&head[..], b"{\"crc\":"].concat(),
    )
    .unwrap();
    let opened = house.open();
    assert_eq!(house.ledger(), head);
    opened.sign_up("ada").await.unwrap();
    opened.stop();
    house.open().assert_has(&["ada"], &[]).await;
}
