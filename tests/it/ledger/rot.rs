//! A rotten byte and a power cut at once: what stands whole in the ledger or in its journal is kept,
//! and what was acknowledged and does so nowhere is not cut: the start is refused.

use std::fs;

use super::damage::{check_accepted, check_refused};
use super::journal::{crash_after, crash_with, ends, journal};
use super::sealed;
use crate::fixtures::House;

/// What a busy process leaves behind that is killed once four others than "ada" have signed up.
async fn crash_with_four(house: &House) -> (Vec<u8>, Vec<u8>) {
    crash_with(house, &["bob", "cy", "dan", "eve"]).await
}

/// Where `name` is signed up in `bytes`.
fn place(bytes: &[u8], name: &str) -> usize {
    let address = format!("\"{name}@");
    bytes
        .windows(address.len())
        .position(|window| window == address.as_bytes())
        .unwrap()
}

/// A good line of no event.
fn line(sequence: u64, batch: u64) -> String {
    let members = format!(",\"seq\":{sequence},\"batch\":{batch},\"left\":0,\"event\":{{}}}}");
    format!(
        "{{\"crc\":\"{:08x}\"{members}\n",
        crc32fast::hash(members.as_bytes())
    )
}

#[tokio::test]
async fn a_rotten_batch_that_the_journal_continues_is_not_cut() {
    let house = House::new();
    let names = ["ada"; 65].into_iter().chain(["bob", "cy"]);
    let (whole, copy) = crash_after(&house, names).await;
    let ends = ends(&whole);
    // In the last line that was synced, and in the byte that ends it.
    for rotten in [ends[64], ends[64] + 30, ends[65] - 1] {
        // What a power cut may leave of what was not synced.
        for behind in [&[][..], &[0; 5000], &whole[ends[65]..ends[65] + 20]] {
            let mut bytes = [&whole[..ends[65]], behind].concat();
            bytes[rotten] ^= 1;
            fs::write(journal(&house), &copy).unwrap();
            check_accepted(&house, &bytes, 66, &["ada", "bob", "cy"], &[]).await;
        }
    }
}

#[tokio::test]
async fn a_line_that_is_lost_in_ledger_and_journal_refuses_the_start() {
    let house = House::new();
    let (whole, copy) = crash_with_four(&house).await;
    let ends = ends(&whole);
    let cy = place(&copy, "cy");
    let end_of_cy = cy + copy[cy..].iter().position(|b| *b == b'\n').unwrap();
    for rotten in [cy, end_of_cy] {
        let mut damaged = copy.clone();
        damaged[rotten] ^= 1;
        // Nothing of them in the ledger, all before "cy", some of that, zeros in its place.
        for (length, zeros) in [
            (ends[65], 0),
            (ends[71], 0),
            (ends[71] + 30, 0),
            (ends[71], 5000),
        ] {
            fs::write(journal(&house), &damaged).unwrap();
            let bytes = [&whole[..length], &vec![0; zeros]].concat();
            let kept = ["ada", "bob", "dan", "eve"];
            check_accepted(&house, &bytes, 73, &kept, &["cy"]).await;
        }
    }
    assert!(house.file("ledger.journal.8").exists());
}

#[tokio::test]
async fn a_line_that_is_lost_in_the_journal_alone_is_kept_when_damage_is_accepted() {
    let house = House::new();
    let (whole, mut copy) = crash_with_four(&house).await;
    let ends = ends(&whole);
    let cy = place(&copy, "cy");
    copy[cy] ^= 1;
    fs::write(journal(&house), &copy).unwrap();
    let mut bytes = whole.clone();
    bytes[ends[72]..].fill(0);
    let all = ["ada", "bob", "cy", "dan", "eve"];
    check_accepted(&house, &bytes, 74, &all, &[]).await;
}

#[tokio::test]
async fn what_a_power_cut_shows_of_earlier_lines_refuses_no_start() {
    let house = House::new();
    let (whole, copy) = crash_with_four(&house).await;
    let ends = ends(&whole);
    // Blocks of a removed journal have come to stand where the ledger lost some lines.
    let mut bytes = whole.clone();
    bytes[ends[66]..ends[71]].fill(0);
    bytes[ends[67]..ends[69]].copy_from_slice(&whole[ends[20]..ends[22]]);
    house.write_ledger(&bytes);
    let (opened, log) = house.open_logged();
    assert!(log.contains("written from the journal"), "{log}");
    assert_eq!(house.ledger(), whole);
    opened.crash();
    // And in the journal some of an earlier generation, whose batches were shorter.
    let mut bytes = copy;
    let earlier = line(60, 500);
    let blank = 1000 + bytes.iter().rposition(|byte| *byte == b'\n').unwrap();
    bytes[blank..blank + earlier.len()].copy_from_slice(earlier.as_bytes());
    fs::write(journal(&house), &bytes).unwrap();
    let (opened, log) = house.open_logged();
    assert!(!log.contains("WARN"), "{log}");
    assert_eq!(house.ledger(), whole);
    opened.crash();
}

#[tokio::test]
async fn nothing_is_cut_where_the_journal_goes_on_but_makes_no_whole_ledger() {
    let house = House::new();
    let (whole, _) = crash_with_four(&house).await;
    let ends = ends(&whole);
    let mut bytes = whole.clone();
    bytes[ends[66]..].fill(0);
    // Right behind what the journal has.
    bytes.extend_from_slice(&whole[ends[20]..ends[21]]);
    let all = ["ada", "bob", "cy", "dan", "eve"];
    check_accepted(&house, &bytes, 68, &all, &[]).await;
}

#[tokio::test]
async fn lines_of_two_uses_of_the_journal_take_no_place_of_the_ledgers_own() {
    let house = House::new();
    let (whole, mut copy) = crash_with_four(&house).await;
    let ends = ends(&whole);
    // The power failed when the journal began anew: its first block is still the old one.
    let cy = place(&copy, "cy");
    let begin = 1 + copy[..cy].iter().rposition(|byte| *byte == b'\n').unwrap();
    let later = line(90, 90);
    copy[begin..begin + later.len()].copy_from_slice(later.as_bytes());
    fs::write(journal(&house), &copy).unwrap();
    let mut bytes = whole.clone();
    bytes[ends[3] + 30] ^= 1;
    bytes[ends[70]..ends[71]].fill(0);
    let all = ["ada", "bob", "cy", "dan", "eve"];
    check_accepted(&house, &bytes, 5, &all, &[]).await;
}

#[tokio::test]
async fn later_lines_behind_a_rotten_first_line_of_the_journal_refuse_the_start() {
    let house = House::new();
    let (whole, copy) = crash_with(&house, &["bob"]).await;
    let ends = ends(&whole);
    let begin = 1 + copy.iter().position(|byte| *byte == b'\n').unwrap();
    for (number, rotten) in [0, 30, begin - 1].into_iter().enumerate() {
        let mut damaged = copy.clone();
        damaged[rotten] ^= 1;
        // Without "bob" alone, with some of that, with nothing that was not synced.
        for (length, line) in [(ends[70], 72), (ends[70] + 30, 72), (ends[65], 67)] {
            fs::write(journal(&house), &damaged).unwrap();
            check_refused(&house, &whole[..length], line);
        }
        house.accept_damage();
        house.open().assert_has(&["ada"], &["bob"]).await;
        let aside = house.file(&format!("ledger.journal.{}", number + 1));
        assert_eq!(fs::read(aside).unwrap(), damaged);
    }
}

#[tokio::test]
async fn a_batch_that_never_was_is_cut_though_the_journal_has_the_end_of_it() {
    let house = House::new();
    let (whole, mut copy) = crash_with(&house, &["bob"]).await;
    let ends = ends(&whole);
    // The first block of the first write to the journal did not reach the disk, the next one did.
    let used = 1 + copy.iter().rposition(|byte| *byte == b'\n').unwrap();
    copy[..used].fill(b' ');
    let last = used - (ends[71] - ends[70]);
    copy[last - 1] = b'\n';
    copy[last..used].copy_from_slice(&whole[ends[70]..]);
    fs::write(journal(&house), &copy).unwrap();
    house.write_ledger(&whole[..ends[70] + 30]);
    let (opened, log) = house.open_logged();
    assert!(log.contains("never acknowledged"), "{log}");
    opened.assert_has(&["ada"], &["bob"]).await;
    assert!(!house.file("ledger.journal.1").exists());
}

#[tokio::test]
async fn a_first_line_of_the_journal_that_nothing_can_follow_is_a_rotten_one() {
    let house = House::new();
    let (whole, copy) = crash_with(&house, &["bob"]).await;
    let text = String::from_utf8(copy).unwrap();
    let (begin, _) = text.split_once('\n').unwrap();
    let begin: serde_json::Value = serde_json::from_str(begin).unwrap();
    for (number, (member, value)) in [("length", 0), ("batch", u64::MAX)].into_iter().enumerate() {
        let forged = text.replacen(
            &format!("\"{member}\":{}", begin[member]),
            &format!("\"{member}\":{value}"),
            1,
        );
        let forged = sealed(&forged);
        assert_ne!(forged, text);
        fs::write(journal(&house), &forged).unwrap();
        let bytes = &whole[..ends(&whole)[0] + 20];
        check_accepted(&house, bytes, 2, &[], &["ada", "bob"]).await;
        let aside = house.file(&format!("ledger.journal.{}", number + 1));
        assert_eq!(fs::read_to_string(aside).unwrap(), forged);
    }
}

#[tokio::test]
async fn accepting_damage_replaces_no_earlier_line_that_is_whole_nowhere_else() {
    let house = House::new();
    let names = ["ann"].into_iter().chain(["ada"; 69]).chain(["bob", "cy"]);
    let (whole, copy) = crash_after(&house, names).await;
    let ends = ends(&whole);
    // Where "ann" belongs it is rotten; where "bob" was, a block of another file shows it.
    let mut bytes = whole.clone();
    let ann = &whole[ends[0]..ends[1]];
    bytes[ends[70]..ends[71] - 1].fill(0);
    bytes[ends[70]..ends[70] + ann.len()].copy_from_slice(ann);
    bytes[ends[0] + 30] ^= 1;
    check_accepted(&house, &bytes, 2, &["ann", "ada", "cy"], &["bob"]).await;
    assert_eq!(fs::read(house.file("ledger.journal.1")).unwrap(), copy);
}
