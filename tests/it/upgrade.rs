//! The data directories of releases are opened with everything in them.
//!
//! `tests/fixtures` has one of each format of the ledger, as the program left it after a clean stop. A release
//! that changes what a data directory holds adds one, and this test goes through all of them.

use landing_api::domain::hourly_counts::{Counted, Hour};
use landing_api::domain::policy::Policies;
use landing_api::domain::text::Label;
use landing_api::ports::{ContactStore, CountStore, KeyIssuer, RevocationList};

use crate::fixtures::imported;
use crate::limiter::copy_dir;
use crate::prelude::*;

/// "ada" signed up twice, "bob" once, "imported" was imported, and "zoe" forgotten; two keys, the second
/// revoked; a revoked registration; the windows and the counts of all this.
const DIRECTORIES: [&str; 1] = ["format_7"];

const KEYS: [&str; 2] = [
    "lak_xW8INaY9Nw488VfAJwI7RESYqKRDre2mXg2l",
    "lak_ffM2na0XQmgPpObciTzylV7n00e4ld0JgMGe",
];
const REGISTRATION: &str = "reg_AGRKMWL47INQHIUUZIEFKOSGGXN5PRFTFEKA";
/// When the service that left it was stopped.
const STOPPED: Timestamp = Timestamp::from_ms(1_795_495_212_700);

/// A copy of the directory that was left.
fn left(name: &str) -> House {
    let house = House::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    copy_dir(&fixtures.join(name), &house.path);
    set_permissions(&house.path, Permissions::from_mode(0o700)).unwrap();
    // git keeps no modes either.
    for file in ["counts.jsonl", "ledger.jsonl", "mark", "secret"] {
        set_permissions(house.file(file), Permissions::from_mode(0o600)).unwrap();
    }
    // git keeps no empty directories.
    fs::create_dir_all(house.file("windows/blobs")).unwrap();
    house
}

#[tokio::test]
async fn the_record_is_opened_with_everything_in_it() {
    for name in DIRECTORIES {
        let house = left(name);
        let before = house.ledger();
        let (opened, log) = house.open_logged();
        assert!(!log.contains("WARN"), "{name}: {log}");
        assert_eq!(house.ledger(), before, "{name}");

        let contacts = listed(ContactStore::list(&*opened.store, None, None).await).await;
        let contacts = contacts.iter().map(|it| {
            let signers = it.signers.iter().count();
            let (first, last) = (it.subscribed_at.as_ms(), it.last_seen_at.as_ms());
            (it.email.clone(), signers, first, last)
        });
        let expected = [
            (address("ada"), 1, 1_795_495_212_201, 1_795_495_212_229),
            (address("bob"), 1, 1_795_495_212_215, 1_795_495_212_215),
            (address("imported"), 0, 1_769_860_800_000, 1_769_860_800_000),
        ];
        assert_eq!(contacts.collect::<Vec<_>>(), expected, "{name}");

        let keys = listed(KeyIssuer::list(&*opened.store).await).await;
        assert_eq!(keys.len(), KEYS.len(), "{name}");
        for (key, text) in keys.iter().zip(KEYS) {
            let known = ApiKey::parse(text).unwrap();
            assert_eq!((key.fingerprint, key.id), (known.fingerprint(), known.id()));
            assert_eq!(key.expires_at.ms_since(key.issued_at), 90 * 86_400_000);
        }
        let label = Label::parse("build \"server\"".to_owned()).unwrap();
        assert_eq!((&keys[0].label, &keys[1].label), (&None, &Some(label)));
        let revoked_at = Some(Timestamp::from_ms(1_795_495_212_619));
        assert_eq!((keys[0].revoked_at, keys[1].revoked_at), (None, revoked_at));

        let registration = Registration::from_client_id(REGISTRATION).unwrap();
        assert_eq!(opened.store.is_revoked(&registration).await, Ok(true));
        let revoked = listed(RevocationList::list(&*opened.store).await).await;
        assert_eq!(revoked[0].registration, registration, "{name}");

        let forgotten = opened.store.import(vec![imported("zoe", STOPPED)], false);
        let forgotten = forgotten.await.unwrap();
        assert_eq!(format!("{forgotten:?}"), "[Forgotten]", "{name}");
        opened.stop();
        house
            .open()
            .assert_has(&["ada", "bob", "imported"], &["zoe"])
            .await;
    }
}

#[tokio::test]
async fn windows_and_counts_go_on() {
    for name in DIRECTORIES {
        let house = left(name);
        let clock = Arc::new(ManualClock::new(STOPPED));
        let open =
            || SledRateLimiter::open(&house.file("windows"), &Policies::default(), clock).unwrap();
        let (limiter, log) = logged(open);
        assert_eq!(log, "", "{name}");
        assert!(limiter.windows() >= 8, "{name}: {}", limiter.windows());

        let (counts, log) = logged(|| FileCountStore::open(&house.file("counts.jsonl")));
        assert_eq!(log, "", "{name}");
        let hour = Hour::of(STOPPED);
        let counted = counts.list(hour, hour.next()).await.unwrap();
        for (what, number) in [
            (Counted::SignUps, 3),
            (Counted::Renewals, 1),
            (Counted::Keys, 2),
        ] {
            assert_eq!(counted[&hour].get(what), number, "{name}");
        }
    }
}
