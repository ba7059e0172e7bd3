//! A data directory of an earlier version is opened as if it were of this one, and loses nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use landing_api::domain::agent::Registration;
use landing_api::domain::contact::{Contact, ImportOutcome, Subscription};
use landing_api::domain::credential::{ApiKey, KeyName, KeyRecord};
use landing_api::domain::text::Label;
use landing_api::domain::time::Timestamp;
use landing_api::ports::{ContactStore, KeyIssuer, RevocationList};

use super::faults::FaultyFiles;
use super::sealed;
use crate::fixtures::{
    House, Opened, START, address, imported, key_record, listed, origin, registration, sign_up_by,
};

/// As the last version with format 1 wrote it, beside the secret that every [`House`] has.
const FORMAT_1: &str = include_str!("format_1.jsonl");

/// The ledger's head.
fn head(house: &House) -> String {
    house.ledger_text().lines().next().unwrap().to_owned()
}

/// Everything behind the head.
fn events(text: &str) -> Vec<&str> {
    let lines = text.lines().skip(1);
    lines
        .map(|line| line.split_once("\"event\":").unwrap().1)
        .collect()
}

/// A house with a ledger of format 1.
fn lived_in() -> House {
    let house = House::new();
    house.open().stop();
    house.write_ledger(FORMAT_1.as_bytes());
    house
}

/// What stands in `format_1.jsonl`.
async fn assert_has_everything(opened: &Opened) {
    let ninety_days_on = START.plus_ms(90 * 86_400_000);
    for (name, origin) in [("ada", origin(7, None)), ("bob", origin(8, Some(9)))] {
        let contact = ContactStore::find(&*opened.store, &address(name)).await;
        let expected = Contact {
            email: address(name),
            signers: [origin].into_iter().collect(),
            subscribed_at: START,
            last_seen_at: START,
        };
        assert_eq!(contact, Ok(Some(expected)));
    }
    for (seed, label, revoked_at) in [(1, None, None), (2, Some("build \"server\""), Some(START))] {
        let expected = KeyRecord {
            label: label.map(|label| Label::parse(label.to_owned()).unwrap()),
            id: None,
            issued_at: START,
            expires_at: ninety_days_on,
            revoked_at,
            ..key_record(seed, None)
        };
        let found = KeyIssuer::find(&*opened.store, &expected.fingerprint).await;
        assert_eq!(found, Ok(Some(expected)));
    }
}

#[tokio::test]
async fn a_ledger_of_the_first_format_is_written_anew_with_everything_in_it() {
    let house = lived_in();
    let opened = house.open();
    assert_has_everything(&opened).await;
    assert!(head(&house).contains("\"format\":4,\"generation\":2,\"base\":6"));
    assert_eq!(events(&house.ledger_text()), events(FORMAT_1));

    // What the first format had no word for.
    let revoked = registration(1);
    let is_first = RevocationList::revoke(&*opened.store, &revoked, START).await;
    assert_eq!(is_first, Ok(true));
    opened.crash();
    for is_crash in [true, false] {
        let before = house.ledger();
        let opened = house.open();
        assert_has_everything(&opened).await;
        assert_eq!(opened.store.is_revoked(&revoked).await, Ok(true));
        assert_eq!(house.ledger(), before, "once is enough");
        opened.end(is_crash);
    }
}

#[tokio::test]
async fn the_index_that_the_version_before_left_clean_is_used() {
    let house = House::new();
    let opened = house.open();
    opened.sign_up("ada").await.unwrap();
    opened.sign_up("bob").await.unwrap();
    opened.stop();
    // The head that the version before would have written.
    let text = house.ledger_text().replace("\"format\":4", "\"format\":2");
    house.write_ledger(sealed(&text).as_bytes());

    let (opened, log) = house.open_logged();
    assert!(!log.contains("rebuilding"), "{log}");
    opened.assert_has(&["ada", "bob"], &[]).await;
    assert!(head(&house).contains("\"format\":4,\"generation\":2,\"base\":2"));
    opened.stop();
    let (opened, log) = house.open_logged();
    assert!(!log.contains("rebuilding"), "{log}");
    opened.assert_has(&["ada", "bob"], &[]).await;
}

#[tokio::test]
async fn a_client_of_an_earlier_format_is_known_by_its_longer_hashes() {
    for is_crash in [false, true] {
        let house = lived_in();
        house.open().end(is_crash);
        let opened = house.open();
        for (name, origin, by_same_client) in [
            // Seen again in the first format, which did not record by whom.
            ("ada", origin(1, None), false),
            ("ada", origin(7, None), true),
            ("ada", origin(1, None), true),
            ("bob", origin(2, Some(9)), true),
            ("bob", origin(3, Some(8)), false),
            ("bob", origin(8, None), true),
        ] {
            let renewed = sign_up_by(&opened.store, name, origin).await;
            assert_eq!(renewed, Ok(Subscription::Renewed { by_same_client }));
        }
    }
}

#[tokio::test]
async fn a_ledger_that_cannot_be_written_anew_is_left_as_it_was() {
    let house = lived_in();
    let files = FaultyFiles::default();
    files.fail_renames(true);
    assert!(house.try_open(files.tuning()).is_err());
    assert_eq!(house.ledger_text(), FORMAT_1);
    assert_has_everything(&house.open()).await;
}

/// A data directory as the last version with format 3 left it: "ada" signed up twice, "bob" once; two
/// keys, the second revoked; a revoked registration.
fn left_with_format_3() -> House {
    let house = House::new();
    let left = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/ledger/format_3");
    fs::create_dir_all(house.file("index/1/blobs")).unwrap();
    for name in [
        "ledger.jsonl",
        "secret",
        "index/clean",
        "index/1/conf",
        "index/1/db",
    ] {
        fs::copy(left.join(name), house.file(name)).unwrap();
        fs::set_permissions(house.file(name), Permissions::from_mode(0o600)).unwrap();
    }
    house
}

/// The two keys of that directory.
const KEYS: [&str; 2] = [
    "lak_x5oaO4fj88PzK3IEP5YsAFmWKK36g91yCuid",
    "lak_RTynJ29DiPdPASTeZFJALxBDlnrRDb36U21W",
];

/// The instants of that directory, in milliseconds.
const ADA_MS: [u64; 2] = [1_795_397_787_378, 1_795_397_787_398];
const BOB_MS: u64 = 1_795_397_787_387;
const KEYS_MS: [u64; 2] = [1_795_397_787_406, 1_795_397_787_415];
const KEY_REVOKED_MS: u64 = 1_795_397_803_986;
const AGENT_REVOKED_MS: u64 = 1_795_397_804_015;

async fn assert_is_as_left(opened: &Opened) {
    let at = Timestamp::from_ms;
    let contacts = listed(ContactStore::list(&*opened.store, None, None).await).await;
    let signers = contacts[0].signers.clone();
    assert_eq!(signers.iter().count(), 1);
    let contact = |name, subscribed_at_ms, last_seen_at_ms| Contact {
        email: address(name),
        // All from one place.
        signers: signers.clone(),
        subscribed_at: at(subscribed_at_ms),
        last_seen_at: at(last_seen_at_ms),
    };
    let [first, last] = ADA_MS;
    let expected = [contact("ada", first, last), contact("bob", BOB_MS, BOB_MS)];
    assert_eq!(contacts, expected);
    let keys = listed(KeyIssuer::list(&*opened.store).await).await;
    let expected = [0, 1].map(|number| KeyRecord {
        fingerprint: ApiKey::parse(KEYS[number]).unwrap().fingerprint(),
        id: None,
        label: (number == 1).then(|| Label::parse("build \"server\"".to_owned()).unwrap()),
        issued_at: at(KEYS_MS[number]),
        expires_at: at(KEYS_MS[number] + 90 * 86_400_000),
        revoked_at: (number == 1).then_some(at(KEY_REVOKED_MS)),
    });
    assert_eq!(keys, expected);
    for (key, text) in keys.iter().zip(KEYS) {
        for name in [text, &key.name()] {
            assert!(KeyName::parse(name).unwrap().is_of(key), "{name}");
        }
    }
    let revoked = listed(RevocationList::list(&*opened.store).await).await;
    let registration =
        Registration::from_client_id("reg_AGRKBCZH3PBUUPTRPOJRMS2QNJBEDD5FK2IA").unwrap();
    let revoked: Vec<_> = revoked
        .iter()
        .map(|it| (it.fingerprint, it.registration, it.revoked_at, it.name()))
        .collect();
    let expected = (
        registration.fingerprint(),
        None,
        at(AGENT_REVOKED_MS),
        "fp:8342bb1b9e3f".to_owned(),
    );
    assert_eq!(revoked, [expected]);
    assert_eq!(opened.store.is_revoked(&registration).await, Ok(true));
}

#[tokio::test]
async fn a_directory_of_the_third_format_is_taken_over_with_everything_in_it() {
    let house = left_with_format_3();
    let (opened, log) = house.open_logged();
    assert!(!log.contains("rebuilding"), "{log}");
    assert!(head(&house).contains("\"format\":4,\"generation\":2,\"base\":7"));
    assert_is_as_left(&opened).await;

    // What the third format had no words for.
    assert_eq!(opened.forget("zoe").await, Ok(false));
    let rows = vec![imported("cy", START), imported("zoe", START)];
    let outcomes = opened.store.import(rows, false).await.unwrap();
    assert_eq!(outcomes, [ImportOutcome::Created, ImportOutcome::Forgotten]);
    let mut opened = opened;
    for is_crash in [true, false, true] {
        opened.end(is_crash);
        opened = house.open();
        opened.assert_has(&["ada", "bob", "cy"], &["zoe"]).await;
        let again = opened
            .store
            .import(vec![imported("zoe", START)], false)
            .await;
        assert_eq!(again, Ok(vec![ImportOutcome::Forgotten]));
    }
}

#[tokio::test]
async fn a_copy_from_before_the_upgrade_is_a_way_back() {
    let house = left_with_format_3();
    let before = house.ledger();
    let opened = house.open();
    opened.sign_up("cy").await.unwrap();
    opened.stop();
    // The version before refuses what this one wrote, as this one refuses the next format: the operator
    // restores a copy of ledger and secret in a directory of their own.
    let restored = House::new();
    fs::create_dir(&restored.path).unwrap();
    restored.write_ledger(&before);
    fs::copy(house.file("secret"), restored.file("secret")).unwrap();
    assert_is_as_left(&restored.open()).await;
}
