//! A batch that was not written whole was never acknowledged, and goes without a trace.

use super::ends;
use super::faults::faulty;
use crate::fixtures::House;

/// A house whose ledger ends with a batch that signs up `last`, after "ada" and "held"; that ledger, and where the batch
/// begins there.
pub(super) async fn ledger_with_batch(
    last: &[&'static str],
    is_crash: bool,
) -> (House, Vec<u8>, usize) {
    let (house, files, opened) = faulty(["ada"]).await;
    // While the writer writes another contact, these gather.
    let gathered = files.gather(&opened, last).await;
    gathered.all_created().await;
    opened.end(is_crash);
    let start = ends(&house.ledger())[2];
    let text = house.ledger_text();
    let lines: Vec<&str> = text[start..].lines().collect();
    assert_eq!(lines.len(), last.len());
    assert!(lines[0].contains(&format!("\"left\":{}", last.len() - 1)));
    (house, text.into_bytes(), start)
}

#[tokio::test]
async fn a_batch_cut_at_any_byte_is_cut_whole() {
    let (house, whole, start) = ledger_with_batch(&["x", "y"], true).await;
    for length in start..whole.len() - 1 {
        house.cut_power(&whole[..length]);
        let (opened, log) = house.open_logged();
        assert_eq!(house.ledger().len(), start, "cut at {length}");
        let is_warned = log.contains("WARN");
        assert_eq!(is_warned, length > start, "cut at {length}: {log}");
        opened.assert_has(&["ada", "held"], &["x", "y"]).await;
        opened.crash();
    }
    // Nothing is missing without the last newline.
    for bytes in [&whole[..whole.len() - 1], &whole] {
        house.write_ledger(bytes);
        let opened = house.open_quietly();
        opened.assert_has_all(["ada", "held", "x", "y"]).await;
        assert_eq!(house.ledger(), whole);
        opened.crash();
    }
}

#[tokio::test]
async fn a_last_batch_with_bytes_that_never_reached_the_disk_is_cut_whole() {
    let (house, whole, start) = ledger_with_batch(&["x", "y", "z"], true).await;
    for hole in (start..whole.len()).step_by(7) {
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
    let house = House::stopped_with(["ada"]).await;
    let whole = house.ledger();
    // The trial write of a start, which was cut at any byte, is no batch.
    let garbage: [(Vec<u8>, bool); 6] = [
        (b"\n".to_vec(), false),
        (b"\n\n\n\n".repeat(1024), false),
        (b"\n".repeat(4097), true),
        (b"{}\n".to_vec(), true),
        (vec![0; 100_000], true),
        (whole[..20].to_vec(), true),
    ];
    for (garbage, is_told) in garbage {
        house.cut_power(&[whole.as_slice(), &garbage].concat());
        let (opened, log) = house.open_logged();
        assert_eq!(log.contains("unfinished batch"), is_told, "{log}");
        assert_eq!(house.ledger(), whole);
        opened.assert_has(&["ada"], &["bob"]).await;
        opened.sign_up("bob").await.unwrap();
        opened.crash();
        house.open().assert_has_all(["ada", "bob"]).await;
    }
}

#[tokio::test]
async fn an_unfinished_first_batch_leaves_an_empty_ledger() {
    let house = House::stopped();
    let head = house.ledger();
    house.write_ledger(&[&head[..], b"{\"crc\":"].concat());
    let opened = house.open();
    assert_eq!(house.ledger(), head);
    opened.sign_up("ada").await.unwrap();
    opened.stop();
    house.open().assert_has(&["ada"], &[]).await;
}
