//! Writing the ledger anew: what no longer counts goes, what counts stays, whenever the power goes.

use std::fs;

use landing_api::adapters::ledger::Tuning;
use landing_api::domain::agent::Registration;
use landing_api::domain::contact::Subscription;
use landing_api::domain::time::Timestamp;
use landing_api::ports::{ContactStore, KeyIssuer, RevocationList};

use super::faults::FaultyFiles;
use crate::fixtures::{
    House, Opened, START, address, key_record, origin, registration, sign_up_at, sign_up_by,
};

/// How long what has expired stays.
const RETENTION_MS: u64 = 400 * 86_400_000;

fn eager() -> Tuning {
    Tuning {
        growth_min: 10,
        ..Tuning::default()
    }
}

fn generation(house: &House) -> u64 {
    let text = house.ledger_text();
    let (_, rest) = text.split_once("\"generation\":").unwrap();
    rest.split(',').next().unwrap().parse().unwrap()
}

/// Lines behind the head.
fn lines(house: &House) -> usize {
    house.ledger_text().lines().count() - 1
}

#[tokio::test]
async fn endless_repeats_do_not_grow_the_file() {
    let house = House::new();
    let opened = house.try_open(eager()).unwrap();
    for round in 0..100 {
        for name in ["ada", "bob"] {
            opened.sign_up(name).await.unwrap();
        }
        assert!(lines(&house) <= 4 + 11, "round {round}: {}", lines(&house));
    }
    assert!(generation(&house) > 10);
    opened.sign_up("cy").await.unwrap();
    let before = ContactStore::find(&*opened.store, &address("ada")).await;
    opened.stop();

    // The index went along with every generation.
    let (opened, log) = house.open_logged();
    assert!(!log.contains("rebuilding"), "{log}");
    opened.assert_has(&["ada", "bob", "cy"], &[]).await;
    opened.crash();
    let opened = house.open();
    let after = ContactStore::find(&*opened.store, &address("ada")).await;
    assert_eq!(before, after);
}

#[tokio::test]
async fn the_last_signers_of_a_contact_outlive_every_rewrite() {
    let house = House::new();
    let opened = house.try_open(eager()).unwrap();
    for round in 0..40 {
        let origin = origin(round % 6, Some(round % 5));
        sign_up_by(&opened.store, "ada", origin).await.unwrap();
    }
    assert!(generation(&house) > 1);
    let before = ContactStore::find(&*opened.store, &address("ada")).await;
    let signers = before.clone().unwrap().unwrap().signers;
    let last = (36..40).map(|round| origin(round % 6, Some(round % 5)));
    assert_eq!(signers, last.collect());
    opened.crash();
    for is_crash in [true, false, false] {
        let opened = house.open();
        let after = ContactStore::find(&*opened.store, &address("ada")).await;
        assert_eq!(before, after);
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
        let house = House::new();
        let opened = house.open();
        for name in ["ada", "zoe", "zoe"] {
            opened.sign_up(name).await.unwrap();
        }
        assert_eq!(opened.forget("zoe").await, Ok(true));
        opened.end(is_crash);
        let opened = house.open();
        opened.assert_has(&["ada"], &["zoe"]).await;
        // One contact and one tombstone.
        assert_eq!(lines(&house), 2);
        assert!(!house.ledger_text().contains("zoe"));
        opened.stop();
        house.open().assert_has(&["ada"], &["zoe"]).await;
    }
}

/// Has the ledger written anew by so many sightings of "ada" at `at`: one is kept, beside her sign-up.
async fn write_anew_at(opened: &Opened, house: &House, at: Timestamp) {
    let before = generation(house);
    opened.sign_up("ada").await.unwrap();
    while generation(house) == before {
        let origin = origin(7, None);
        sign_up_at(&opened.store, "ada", origin, at).await.unwrap();
    }
}

#[tokio::test]
async fn expired_keys_and_their_revocations_go_and_others_stay() {
    let house = House::new();
    let opened = house.try_open(eager()).unwrap();
    let mut records: Vec<_> = (1..=4)
        .map(|seed| key_record(seed, Some("label")))
        .collect();
    for (record, lifetime_ms) in records.iter_mut().zip([1_000, 1_000, 9_000, 9_000]) {
        record.issued_at = START;
        record.expires_at = START.plus_ms(lifetime_ms);
        opened.store.issue(record.clone()).await.unwrap();
    }
    for record in [&records[1], &records[3]] {
        KeyIssuer::revoke(&*opened.store, &record.fingerprint, START)
            .await
            .unwrap();
    }
    write_anew_at(&opened, &house, START.plus_ms(RETENTION_MS + 1_000)).await;
    // The sign-up and the last sighting of "ada" are two of them.
    assert!(
        house.ledger_text().contains("\"base\":5,"),
        "{}",
        house.ledger_text()
    );
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
    write_anew_at(&opened, &house, START.plus_ms(RETENTION_MS + 2_000)).await;
    assert!(
        house.ledger_text().contains("\"base\":3,"),
        "{}",
        house.ledger_text()
    );
    for (registration, is_kept) in registrations.iter().zip([false, false, true]) {
        assert_eq!(opened.store.is_revoked(registration).await, Ok(is_kept));
    }
}

#[tokio::test]
async fn a_ledger_written_anew_while_the_clock_is_a_year_ahead_keeps_every_good_key() {
    const YEAR_MS: u64 = 365 * 86_400_000;
    let house = House::new();
    let opened = house.try_open(eager()).unwrap();
    let mut record = key_record(1, None);
    record.issued_at = START;
    record.expires_at = START.plus_ms(1_000);
    opened.store.issue(record.clone()).await.unwrap();
    let revoked = registration(1);
    let revocation = RevocationList::revoke(&*opened.store, &revoked, START).await;
    assert_eq!(revocation, Ok(true));
    for _ in 0..3 {
        write_anew_at(&opened, &house, START.plus_ms(YEAR_MS)).await;
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
    let house = House::new();
    let opened = house.open();
    opened.sign_up("ada").await.unwrap();
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
    let house = House::new();
    let files = FaultyFiles::default();
    let tuning = Tuning {
        growth_min: 10,
        ..files.tuning()
    };
    let opened = house.try_open(tuning).unwrap();
    files.fail_renames(true);
    for _ in 0..20 {
        opened.sign_up("ada").await.unwrap();
    }
    assert_eq!(generation(&house), 1);
    assert!(!house.file("ledger.jsonl.new").exists());
    assert_eq!(ContactStore::check(&*opened.store).await, Ok(()));
    files.fail_renames(false);
    for _ in 0..20 {
        opened.sign_up("ada").await.unwrap();
    }
    assert!(generation(&house) > 1, "it is tried again later");
    assert_eq!(ContactStore::check(&*opened.store).await, Ok(()));
}

#[tokio::test]
async fn nothing_is_acknowledged_in_a_generation_that_may_lose_its_name() {
    let house = House::new();
    let files = FaultyFiles::default();
    let tuning = Tuning {
        growth_min: 10,
        ..files.tuning()
    };
    let opened = house.try_open(tuning).unwrap();
    files.fail_directory_syncs(true);
    let mut refused = 0;
    for _ in 0..20 {
        refused += usize::from(opened.sign_up("ada").await.is_err());
    }
    assert_eq!(generation(&house), 2);
    assert!(refused > 0);
    assert!(ContactStore::check(&*opened.store).await.is_err());
    files.fail_directory_syncs(false);
    assert_eq!(ContactStore::check(&*opened.store).await, Ok(()));
    opened.sign_up("bob").await.unwrap();
    opened.crash();
    house.open().assert_has(&["ada", "bob"], &[]).await;
}

#[tokio::test]
async fn lines_that_a_generation_began_with_are_never_cut() {
    let house = House::new();
    let opened = house.open();
    for name in ["ada", "bob", "zoe"] {
        opened.sign_up(name).await.unwrap();
    }
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
