//! What was acknowledged is never cut: the start is refused, with the line and what to do.

use landing_api::ports::DeliveryQueue as _;

use super::deliveries::delivery;
use super::maintenance::refusals;
use super::{contents, ends, sealed};
use crate::prelude::*;

/// A ledger of four batches, a line each, behind the head.
async fn ledger_of_four() -> (House, String) {
    let (house, opened) = House::opened_with(["ada", "bob", "cy", "dan"]).await;
    opened.crash();
    let text = house.ledger_text();
    (house, text)
}

/// The start with this ledger is refused for that line, and changes nothing.
pub(super) fn check_refused(house: &House, bytes: &[u8], line: usize) {
    house.write_ledger(bytes);
    let before = contents(&house.path);
    let refusal = house.refusal();
    assert_present(&refusal, &[&format!("damaged at line {line}: ")]);
    assert!(refusal.contains("restore it from a backup"), "{refusal}");
    assert_eq!(contents(&house.path), before, "something was changed");
}

/// Verifying the ledger names this line, too.
pub(super) fn check_verified(house: &House, line: usize) {
    let told = verify_ledger(&house.path).unwrap_err().to_string();
    assert_present(&told, &[&format!("damaged at line {line}: ")]);
    assert!(told.contains("ledger repair"), "{told}");
}

/// The start with this ledger is refused for that line; once it is repaired, there is what is `kept` and not what is
/// `lost`.
pub(super) async fn check_repaired(
    house: &House,
    bytes: &[u8],
    line: usize,
    kept: &[&str],
    lost: &[&str],
) {
    check_refused(house, bytes, line);
    house.repair();
    house.open_quietly().assert_has(kept, lost).await;
}

#[tokio::test]
async fn any_changed_byte_before_the_last_batch_is_refused_with_its_line() {
    let (house, whole) = ledger_of_four().await;
    let last = whole.trim_end().rfind('\n').unwrap();
    for is_marked in [true, false] {
        if !is_marked {
            fs::remove_file(house.file("mark")).unwrap();
        }
        for position in 0..=last {
            let mut bytes = whole.clone().into_bytes();
            bytes[position] ^= 1;
            check_refused(&house, &bytes, 1 + whole[..position].matches('\n').count());
        }
    }
}

#[tokio::test]
async fn a_batch_is_not_cut_with_a_torn_later_one_whose_beginning_follows_it() {
    let (house, whole) = ledger_of_four().await;
    fs::remove_file(house.file("mark")).unwrap();
    let last = whole.trim_end().rfind('\n').unwrap();
    let batch = whole.rfind(",\"batch\":4,").unwrap() + ",\"batch\":4".len();
    for length in batch..whole.len() {
        let mut bytes = whole.as_bytes()[..length].to_vec();
        bytes[last] = 0;
        check_refused(&house, &bytes, 4);
    }
    // Not even if that is damaged up to its numbers.
    let mut bytes = whole.clone().into_bytes();
    bytes[last..last + r#" {"crc":"00000000""#.len()].fill(0);
    check_refused(&house, &bytes, 4);
}

#[tokio::test]
async fn the_longest_lines_are_not_cut_for_a_lost_newline() {
    let (house, opened) = House::opened();
    for number in 1..=2 {
        let mut long = delivery(number);
        long.body = "x".repeat(12_000);
        opened.store.add(vec![long]).await.unwrap();
    }
    opened.crash();
    fs::remove_file(house.file("mark")).unwrap();
    let mut bytes = house.ledger();
    let newline = ends(&bytes)[1] - 1;
    bytes[newline] = b' ';
    check_refused(&house, &bytes, 2);
}

#[tokio::test]
async fn missing_repeated_and_swapped_lines_are_refused() {
    let (house, text) = ledger_of_four().await;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let cases: [(&[usize], usize); 8] = [
        (&[0, 2, 3, 4], 2),
        (&[0, 1, 3, 4], 3),
        (&[0, 1, 2, 4], 4),
        (&[0, 1, 1, 2, 3, 4], 3),
        (&[0, 2, 1, 3, 4], 2),
        (&[0, 1, 2, 3, 4, 4], 6),
        (&[1, 2, 3, 4], 1),
        (&[0, 0, 1, 2, 3, 4], 2),
    ];
    for (kept, line) in cases {
        let bytes: String = kept.iter().map(|number| lines[*number]).collect();
        check_refused(&house, bytes.as_bytes(), line);
        check_verified(&house, line);
    }
    // Without the head the first event is where the file begins.
    let headless = lines[1..].concat();
    let all = ["ada", "bob", "cy", "dan"];
    check_repaired(&house, headless.as_bytes(), 1, &all, &[]).await;
}

#[tokio::test]
async fn a_foreign_file_is_refused() {
    let house = House::stopped();
    for bytes in [&b"\n"[..], b"hello", b"{\"format\":7}\n"] {
        check_refused(&house, bytes, 1);
        check_verified(&house, 1);
    }
}

#[tokio::test]
async fn another_format_is_refused_at_a_start_and_by_commands_and_left_alone() {
    let (house, text) = ledger_of_four().await;
    let of_format = |format: &str| text.replace("\"format\":7", &format!("\"format\":{format}"));
    for (other, format) in [
        (sealed(&of_format("8")), "8"),
        (sealed(&of_format("4")), "4"),
        ("{\"format\":1}\n".to_owned(), "1"),
        // Sealed as nobody can foresee.
        (of_format("17").replacen("\"crc\"", "\"hash\"", 1), "17"),
    ] {
        house.write_ledger(other.as_bytes());
        let before = contents(&house.path);
        let of_maintenance = refusals(&house.path).map(|refused| refused.unwrap_err().to_string());
        for refusal in of_maintenance.into_iter().chain([house.refusal()]) {
            let words = format!("has format {format}, but this version reads format 7: ");
            assert_present(&refusal, &[&words, "restore a backup"]);
        }
        assert_eq!(contents(&house.path), before);
    }
}
