//! Writing the ledger anew: what no longer counts goes, what counts stays, whenever the power goes.

use landing_api::domain::contact::Subscription;
use landing_api::domain::credential::KeyRecord;
use landing_api::ports::{ContactStore, KeyIssuer, RevocationList, StoreMaintenance};

use tokio::task::spawn_blocking;

use super::erasure::holders;
use super::faults::{FaultyFiles, faulty};
use crate::fixtures::{eventually, origin, registration, sign_up_at, sign_up_by};
use crate::prelude::*;

/// How long what has expired stays.
const RETENTION_MS: u64 = 400 * 86_400_000;

fn eager() -> Tuning {
    Tuning {
        superfluous_min: 10,
        ..Tuning::default()
    }
}

/// A number of the ledger's head.
fn in_head(house: &House, name: &str) -> u64 {
    let text = house.ledger_text();
    let (_, rest) = text.split_once(&format!("\"{name}\":")).unwrap();
    rest.split(',').next().unwrap().parse().unwrap()
}

fn generation(house: &House) -> u64 {
    in_head(house, "generation")
}

/// How many lines the generation began with.
fn base(house: &House) -> u64 {
    in_head(house, "base")
}

/// Issues a key when most tests begin.
async fn issue(opened: &Opened, seed: u8, lifetime_ms: u64) -> KeyRecord {
    let mut record = key_record(seed, Some("label"));
    record.issued_at = START;
    record.expires_at = START.plus_ms(lifetime_ms);
    opened.store.issue(record.clone()).await.unwrap();
    record
}

fn lines(house: &House) -> usize {
    house.ledger_text().lines().count() - 1
}

#[tokio::test]
async fn endless_repeats_do_not_grow_the_file() {
    let house = House::new();
    let opened = house.try_open(eager()).unwrap();
    for round in 0..100 {
        opened.sign_up_all(["ada", "bob"]).await;
        // A compaction runs beside the writer.
        eventually(&format!("round {round}"), || lines(&house) <= 13).await;
    }
    assert!(generation(&house) > 10);
    opened.sign_up("cy").await.unwrap();
    let before = opened.find("ada").await;
    opened.stop();

    let opened = house.open_quietly();
    opened.assert_has_all(["ada", "bob", "cy"]).await;
    opened.crash();
    assert_eq!(house.open().find("ada").await, before);
}

#[tokio::test]
async fn the_last_signers_of_a_contact_outlive_every_rewrite() {
    let house = House::new();
    let opened = house.try_open(eager()).unwrap();
    for round in 0..40 {
        let origin = origin(round % 6, Some(round % 5));
        sign_up_by(&opened.store, "ada", origin).await.unwrap();
    }
    eventually("a compaction", || generation(&house) > 1).await;
    let before = opened.find("ada").await.unwrap();
    let last = (36..40).map(|round| origin(round % 6, Some(round % 5)));
    assert_eq!(before.signers, last.collect());
    opened.crash();
    for is_crash in [true, false, false] {
        let opened = house.open();
        assert_eq!(opened.find("ada").await.as_ref(), Some(&before));
        opened.end(is_crash);
    }
    let opened = house.open();
    for (origin, by_same_client) in [(origin(9, Some(9)), false), (origin(3, None), true)] {
        let renewed = sign_up_by(&opened.store, "ada", origin).await;
        assert_eq!(renewed, Ok(Subscription::Renewed { by_same_client }));
    }
}

#[tokio::test]
async fn a_tombstone_is_all_that_a_compaction_keeps_of_a_forgotten_address() {
    for is_crash in [false, true] {
        let (house, opened) = House::opened_with(["ada", "zoe", "zoe"]).await;
        assert_eq!(opened.forget("zoe").await, Ok(true));
        opened.end(is_crash);
        let opened = house.open_quietly();
        opened.assert_has(&["ada"], &["zoe"]).await;
        // One contact and one tombstone.
        assert_eq!(lines(&house), 2);
        opened.sign_up("bob").await.unwrap();
        opened.stop();
        assert!(holders(&house, &["zoe"]).is_empty());
        let opened = house.open_quietly();
        opened.assert_has(&["ada", "bob"], &["zoe"]).await;
    }
}

/// Has "ada" sign up at `at`, and the ledger compacted.
async fn compact_at(opened: &Opened, at: Timestamp) {
    let origin = origin(7, None);
    sign_up_at(&opened.store, "ada", origin, at).await.unwrap();
    opened.store.compact().await.unwrap();
}

#[tokio::test]
async fn expired_keys_and_their_revocations_go_and_others_stay() {
    let house = House::new();
    let opened = house.try_open(eager()).unwrap();
    let mut records = Vec::new();
    for (seed, lifetime_ms) in [(1, 1_000), (2, 1_000), (3, 9_000), (4, 9_000)] {
        records.push(issue(&opened, seed, lifetime_ms).await);
    }
    for record in [&records[1], &records[3]] {
        KeyIssuer::revoke(&*opened.store, &record.fingerprint, START)
            .await
            .unwrap();
    }
    compact_at(&opened, START.plus_ms(RETENTION_MS + 1_000)).await;
    // "ada" is one of them.
    assert_eq!(base(&house), 3);
    records[3].revoked_at = Some(START);
    let mut opened = opened;
    for _ in 0..2 {
        for (number, record) in records.iter().enumerate() {
            let found = KeyIssuer::find(&*opened.store, &record.fingerprint).await;
            let expected = (number >= 2).then(|| record.clone());
            assert_eq!(found, Ok(expected), "{number}");
        }
        opened.stop();
        opened = house.open();
    }
}

#[tokio::test]
async fn revocations_of_expired_registrations_go_and_others_stay() {
    let house = House::new();
    let opened = house.try_open(eager()).unwrap();
    // They expire after 1, 2 and 3 seconds.
    let registrations = [1, 2, 3].map(|seconds| {
        let made_at_ms = START.as_ms() + seconds * 1000 - Registration::LIFETIME_MS;
        Registration::new([7; 16], Timestamp::from_ms(made_at_ms))
    });
    for registration in &registrations {
        let revoked = RevocationList::revoke(&*opened.store, registration, START).await;
        assert_eq!(revoked, Ok(true));
    }
    compact_at(&opened, START.plus_ms(RETENTION_MS + 2_000)).await;
    assert_eq!(base(&house), 2);
    for (registration, is_kept) in registrations.iter().zip([false, false, true]) {
        assert_eq!(opened.store.is_revoked(registration).await, Ok(is_kept));
    }
}

#[tokio::test]
async fn a_ledger_written_anew_while_the_clock_is_a_year_ahead_keeps_every_good_key() {
    const YEAR_MS: u64 = 365 * 86_400_000;
    let house = House::new();
    let opened = house.try_open(eager()).unwrap();
    let record = issue(&opened, 1, 1_000).await;
    let revoked = registration(1);
    let revocation = RevocationList::revoke(&*opened.store, &revoked, START).await;
    assert_eq!(revocation, Ok(true));
    for _ in 0..3 {
        compact_at(&opened, START.plus_ms(YEAR_MS)).await;
    }
    opened.sign_up("zoe").await.unwrap();
    opened.forget("zoe").await.unwrap();
    opened.stop();
    // This start writes the ledger anew, too.
    let opened = house.open();
    assert!(!house.ledger_text().contains("zoe"));
    let found = KeyIssuer::find(&*opened.store, &record.fingerprint).await;
    assert_eq!(found, Ok(Some(record)));
    assert_eq!(opened.store.is_revoked(&revoked).await, Ok(true));
}

#[tokio::test]
async fn an_interrupted_compaction_leaves_the_old_ledger() {
    let (house, opened) = House::opened_with(["ada"]).await;
    opened.crash();
    let whole = house.ledger();
    for half in [&b""[..], b"half a line", &whole[..whole.len() - 3], &whole] {
        fs::write(house.file("ledger.jsonl.new"), half).unwrap();
        let opened = house.open();
        assert!(!house.file("ledger.jsonl.new").exists());
        opened.assert_has(&["ada"], &[]).await;
        assert_eq!(house.ledger(), whole);
        opened.crash();
    }
}

#[tokio::test]
async fn a_compaction_that_fails_disturbs_nobody() {
    let (house, files) = (House::new(), FaultyFiles::default());
    let tuning = Tuning {
        superfluous_min: 10,
        ..files.tuning()
    };
    let opened = house.try_open(tuning).unwrap();
    files.fail_renames(true);
    opened.sign_up_all(["ada"; 20]).await;
    assert!(opened.store.compact().await.is_err());
    assert_eq!(generation(&house), 1);
    assert!(!house.file("ledger.jsonl.new").exists());
    assert_eq!(ContactStore::check(&*opened.store), Ok(()));
    files.fail_renames(false);
    // It is tried again once there is twice as much to leave out.
    opened.sign_up_all(["ada"; 40]).await;
    eventually("another try", || generation(&house) > 1).await;
    assert_eq!(ContactStore::check(&*opened.store), Ok(()));
}

#[tokio::test]
async fn nothing_is_acknowledged_in_a_generation_that_may_lose_its_name() {
    let (house, files, opened) = faulty(["ada"]).await;
    files.fail_directory_syncs(true);
    assert!(opened.store.compact().await.is_err());
    assert_eq!(generation(&house), 2);
    assert!(opened.sign_up("ada").await.is_err());
    assert!(ContactStore::check(&*opened.store).is_err());
    files.fail_directory_syncs(false);
    opened.recovers().await;
    opened.sign_up("bob").await.unwrap();
    opened.crash();
    house.open().assert_has(&["ada", "bob"], &[]).await;
}

#[tokio::test]
async fn what_happens_while_a_generation_is_copied_is_in_it() {
    let (house, files, opened) = faulty(["ada", "bob", "zoe"]).await;
    let mut record = issue(&opened, 1, 1_000).await;
    let (compaction, released) = files.hold_compaction(&opened).await;
    opened.sign_up("cy").await.unwrap();
    let by = origin(3, Some(3));
    sign_up_by(&opened.store, "ada", by).await.unwrap();
    KeyIssuer::revoke(&*opened.store, &record.fingerprint, START)
        .await
        .unwrap();
    record.revoked_at = Some(START);
    let store = Arc::clone(&opened.store);
    let erasure = tokio::spawn(async move { store.forget(&[address("zoe")], START).await });
    eventually("the erasure", || house.ledger_text().contains("removed")).await;
    opened.sign_up("new").await.unwrap();
    assert!(!compaction.is_finished() && !erasure.is_finished());
    released.send(()).unwrap();
    compaction.await.unwrap().unwrap();
    // It waits for a compaction that began after it.
    assert_eq!(erasure.await.unwrap().unwrap().remaining, None);
    assert_eq!(generation(&house), 3);
    assert!(!house.ledger_text().contains("zoe"));
    let before = opened.find("ada").await;
    let mut opened = opened;
    for is_crash in [true, false, true] {
        opened.assert_has(&["ada", "cy", "new"], &["zoe"]).await;
        assert_eq!(opened.find("ada").await, before);
        let key = KeyIssuer::find(&*opened.store, &record.fingerprint).await;
        assert_eq!(key, Ok(Some(record.clone())));
        opened.end(is_crash);
        opened = house.open();
    }
}

#[tokio::test]
async fn a_stop_ends_a_compaction() {
    let (house, files, opened) = faulty((0..100).map(|number| format!("x{number}"))).await;
    let (compaction, released) = files.hold_compaction(&opened).await;
    let store = Arc::clone(&opened.store);
    let closing = spawn_blocking(move || store.close());
    while opened.sign_up("x0").await.is_ok() {}
    released.send(()).unwrap();
    assert!(compaction.await.unwrap().is_err());
    assert_eq!(closing.await.unwrap(), Ok(()));
    assert!(!house.file("ledger.jsonl.new").exists());
    drop(opened);
    assert_eq!(generation(&house), 1);
    house.open_quietly().assert_has_all(["x0", "x99"]).await;
}

#[tokio::test]
async fn lines_that_a_generation_began_with_are_never_cut() {
    let (house, opened) = House::opened_with(["ada", "bob", "zoe"]).await;
    opened.forget("zoe").await.unwrap();
    opened.crash();
    house.open().crash();
    let whole = house.ledger();
    assert_eq!(lines(&house), 3);
    let last = house.ledger_text().lines().last().unwrap().len() + 1;
    for length in [whole.len() - 2, whole.len() - 5, whole.len() - last] {
        house.write_ledger(&whole[..length]);
        let refusal = house.refusal();
        assert!(refusal.contains("damaged at line 4"), "{refusal}");
    }
    // Nothing is missing without the last newline.
    house.write_ledger(&whole[..whole.len() - 1]);
    house.open().crash();
    assert_eq!(house.ledger(), whole);
    // What was appended later may be torn as ever.
    house.write_ledger(&[&whole[..], b"{\"crc\":\"0"].concat());
    house.open().assert_has(&["ada", "bob"], &["zoe"]).await;
}
