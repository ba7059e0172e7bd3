//! A data directory of an earlier version is opened as if it were of this one, and loses nothing.

use landing_api::domain::contact::{Contact, Subscription};
use landing_api::domain::credential::KeyRecord;
use landing_api::domain::text::Label;
use landing_api::ports::{ContactStore, KeyIssuer, RevocationList};

use super::faults::FaultyFiles;
use super::sealed;
use crate::fixtures::{
    House, Opened, START, address, key_record, origin, registration, sign_up_by,
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
    assert!(head(&house).contains("\"format\":3,\"generation\":2,\"base\":6"));
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
    let text = house.ledger_text().replace("\"format\":3", "\"format\":2");
    house.write_ledger(sealed(&text).as_bytes());

    let (opened, log) = house.open_logged();
    assert!(!log.contains("rebuilding"), "{log}");
    opened.assert_has(&["ada", "bob"], &[]).await;
    assert!(head(&house).contains("\"format\":3,\"generation\":2,\"base\":2"));
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
