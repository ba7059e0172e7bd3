//! What a move copies into PostgreSQL, imports of many rows, and what upkeep deletes.

use landing_api::adapters::cluster::postgres::counts_of;
use landing_api::adapters::system::SystemClock;
use landing_api::domain::consent::{Confirmation, EndedConsent, SignUpWay};
use landing_api::domain::contact::{Contact, ImportOutcome, SignUp, Tombstone};
use landing_api::domain::credential::KeyRecord;
use landing_api::domain::delivery::{Channel, DeliveryKind};
use landing_api::domain::hourly_counts::{Counts, Hour};
use landing_api::domain::secret::Secret;
use landing_api::domain::time::DAY_MS;
use landing_api::domain::{Registration, RevokedRegistration};
use landing_api::operator::import::IMPORT_ROWS;
use landing_api::ports::{
    Clock as _, CountStore, DeliveryQueue, KeyIssuer, RevocationList, StoreError, StoreMaintenance,
};

use crate::contracts::count_store::counts;
use crate::contracts::delivery_queue::delivery;
use crate::fixtures::{bare_consent, key_record, listed, registration, sign_up_by, sign_up_of};
use crate::postgres::{open_with, settings};
use crate::prelude::*;

/// In another order than that of the addresses, signed up by none to four clients.
fn contacts() -> Vec<Contact> {
    let contact = |number: u8| Contact {
        email: address(&format!("copy{}", 7 * number % 12)),
        signers: (0..number % 5)
            .map(|signer| origin(signer, (signer % 2 == 0).then_some(number)))
            .collect(),
        subscribed_at: Timestamp::from_ms(1000 + u64::from(number)),
        last_seen_at: Timestamp::from_ms(2000 + u64::from(number)),
        consent: None,
        // Some are to be confirmed, some have.
        confirmation: number.is_multiple_of(3).then(|| Confirmation {
            mailed_at: Some(START),
            undeliverable_at: number.is_multiple_of(2).then_some(START),
            confirmed_at: number.is_multiple_of(2).then_some(START),
            ip: "2001:db8::1".parse().ok(),
        }),
        left_at: None,
        // Some were back before.
        previous: number.is_multiple_of(4).then(|| EndedConsent {
            consent: number
                .is_multiple_of(8)
                .then(|| bare_consent(START, SignUpWay::Api)),
            confirmation: None,
            left_at: START,
        }),
        leave_token: None,
    };
    (0..12).map(contact).collect()
}

fn keys() -> [KeyRecord; 3] {
    let mut keys = [1, 2, 3].map(|seed| key_record(seed, Some("build")));
    keys[0].revoked_at = Some(START);
    keys[2].label = None;
    keys
}

fn revocations() -> [RevokedRegistration; 2] {
    let revoked = |seed| RevokedRegistration {
        registration: registration(seed),
        revoked_at: START,
    };
    [2, 1].map(revoked)
}

#[tokio::test]
async fn a_copy_is_all_or_nothing_and_keeps_order_times_and_signers() {
    let (server, store) = Postgres::with_store().await;
    let (key, now) = (Secret::new([7; 32]).keys().tombstone, SystemClock.now());
    let tombstones = [("forgotten", None), ("refuser", Some(now))];
    let tombstones = tombstones.map(|(name, refused_at)| Tombstone {
        address: address(name).tombstone(&key),
        refused_at,
    });
    let hours = [1, 2].map(|number| (Hour::of(START.plus_ms(number * 3_600_000)), counts(number)));
    for is_kept in [false, true] {
        let filling = store.begin_filling().await.unwrap();
        assert_eq!(filling.is_empty().await, Ok(true));
        filling.add(contacts()).await.unwrap();
        filling.add(keys().to_vec()).await.unwrap();
        filling.add(revocations().to_vec()).await.unwrap();
        filling.add(tombstones.to_vec()).await.unwrap();
        let counted = [hours[0], (Hour::of(START), Counts::default()), hours[1]];
        let counted = counted
            .iter()
            .flat_map(|(hour, counts)| counts_of(*hour, counts));
        filling.add(counted.collect()).await.unwrap();
        filling.add::<Contact>(Vec::new()).await.unwrap();
        assert_eq!(filling.is_empty().await, Ok(false));
        if !is_kept {
            drop(filling);
            until("nothing to be kept", async || {
                let filling = store.begin_filling().await.unwrap();
                filling.is_empty().await == Ok(true)
            })
            .await;
            continue;
        }
        filling.commit().await.unwrap();
        let kept = listed(ContactStore::list(&*store, None, None).await).await;
        assert_eq!(kept, contacts());
        assert_eq!(listed(KeyIssuer::list(&*store).await).await, keys());
        let revoked = listed(RevocationList::list(&*store).await).await;
        assert_eq!(revoked, revocations());
        let end = Hour::of(START.plus_ms(9 * 3_600_000));
        let counted = CountStore::list(&*store, Hour::of(START), end).await;
        assert_eq!(counted.unwrap(), hours.into());
        assert_eq!(server.sql("SELECT count(*) FROM tombstone").await, ["2"]);
    }
    let outcomes = store.import(vec![imported("forgotten", START)], false);
    assert_eq!(outcomes.await, Ok(vec![ImportOutcome::Forgotten]));
    // Who wanted no mail gets none there, either.
    for (name, waiting) in [("refuser", 0), ("other", 1)] {
        assert_eq!(asked(&store, name, now).await, waiting, "{name}");
    }
}

/// Asks somebody by mail to confirm. Returns how many mails wait.
async fn asked(store: &PostgresStore, name: &str, now: Timestamp) -> u64 {
    let sign_up = sign_up_of(address(name), origin(1, None), now);
    let mail = delivery(DeliveryKind::ConfirmationMail, &sign_up, now);
    let asked = SignUp {
        notice: Some(mail),
        is_to_be_confirmed: true,
        ..sign_up
    };
    store.sign_up(asked).await.unwrap();
    store.standing(Channel::Mail).await.unwrap().waiting
}

#[tokio::test]
async fn who_refused_mail_gets_none_after_the_secret_was_replaced() {
    let server = Postgres::start().await;
    let (store, now) = (server.store().await, SystemClock.now());
    for name in ["ada", "bea", "cleo"] {
        assert_eq!(asked(&store, name, now).await, 1);
        let token = sign_up_of(address(name), origin(1, None), now).leave_token;
        assert_eq!(store.refuse(&token, now).await, Ok(true));
        // It is no contact any more.
        assert_eq!(store.refuse(&token, now).await, Ok(false));
    }
    let mut settings = settings(&server.url());
    for seed in [8, 9] {
        let new = Secret::new([seed; 32]);
        settings.secret_ids.insert(0, new.id());
        settings.tombstone_keys.insert(0, new.keys().tombstone);
    }
    let store = open_with(&settings).await.unwrap();
    for name in ["ada", "bea", "cleo"] {
        assert_eq!(asked(&store, name, now.plus_ms(1)).await, 0, "{name}");
    }
    assert_eq!(asked(&store, "other", now).await, 1);
    let tombstones = "SELECT count(refused_at) FROM tombstone";
    assert_eq!(server.sql(tombstones).await, ["3"]);
}

#[tokio::test]
async fn refusals_and_counts_share_a_connection() {
    let server = Postgres::start().await;
    let (store, now) = (server.store().await, SystemClock.now());
    let of_store = "SELECT pid FROM pg_stat_activity WHERE application_name = 'landing-api' \
                    ORDER BY pid";
    let mut before = Vec::new();
    for name in ["ada", "bea", "cleo"] {
        asked(&store, name, now).await;
        let token = sign_up_of(address(name), origin(1, None), now).leave_token;
        assert_eq!(store.refuse(&token, now).await, Ok(true));
        assert_eq!(store.count(None, None).await, Ok(0));
        store.status_counts().await.unwrap();
        let connections = server.sql(of_store).await;
        assert_eq!(connections.len(), 6);
        assert!(before.is_empty() || before == connections);
        before = connections;
    }
    // One that the server has ended is replaced.
    server.sql(TERMINATE).await;
    until("another connection", async || {
        store.status_counts().await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn contacts_are_counted_as_they_are() {
    let (server, store) = Postgres::with_store().await;
    let add = "INSERT INTO contact (state) \
               SELECT jsonb_strip_nulls(jsonb_build_object('email', 'n' || n, 'at', 1000 * n, \
                   'left_at', CASE WHEN n <= 7 THEN 1 END)) FROM generate_series";
    for (range, count) in [("1, 99999", 99_999), ("0, 0", 100_000), ("-1, -1", 100_001)] {
        server.sql(&format!("{add}({range}) AS n")).await;
        assert_eq!(store.count(None, None).await, Ok(count), "{range}");
    }
    let until = Some(Timestamp::from_ms(3000));
    assert_eq!(store.count(None, until).await, Ok(4));
    let statuses = store.status_counts().await.unwrap();
    assert_eq!((statuses.pending, statuses.unsubscribed), (0, 9));
}

#[tokio::test]
async fn a_copy_is_refused_by_what_is_there_and_brings_signers_that_are_known() {
    let (_server, store) = Postgres::with_store().await;
    let [.., copied] = &contacts()[..10] else {
        panic!("there are ten");
    };
    let fill = async |contact: &Contact| {
        let filling = store.begin_filling().await.unwrap();
        filling.add(vec![contact.clone()]).await?;
        filling.commit().await
    };
    fill(copied).await.unwrap();
    let mut other = copied.clone();
    other.last_seen_at = START;
    let refused = fill(&other).await.unwrap_err().to_string();
    assert!(refused.contains("the table contact"), "{refused}");
    let kept = ContactStore::find(&*store, &copied.email).await;
    assert_eq!(kept, Ok(Some(copied.clone())));
    for (host, by_same_client) in [(9, false), (3, true)] {
        let (name, _) = copied.email.as_str().split_once('@').unwrap();
        let renewed = sign_up_by(&store, name, origin(host, None)).await;
        assert_eq!(renewed, Ok(Subscription::Renewed { by_same_client }));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_import_holds_up_no_other_sign_up() {
    let (_server, store) = Postgres::with_store().await;
    let rows: Vec<_> = (0..20_000)
        .map(|number| imported(&format!("n{}", 7919 * number % 20_000), START))
        .collect();
    // As the operation does it.
    let import = async |store: &PostgresStore, rows: &[Contact]| {
        let mut outcomes = Vec::new();
        for batch in rows.chunks(IMPORT_ROWS) {
            outcomes.extend(store.import(batch.to_vec(), false).await?);
        }
        Ok::<_, StoreError>(outcomes)
    };
    let importing = tokio::spawn({
        let (store, rows) = (store.clone(), rows.clone());
        async move { import(&store, &rows).await }
    });
    let mut signed_up = 0;
    while !importing.is_finished() {
        let created = sign_up(&store, &format!("other{signed_up}")).await;
        assert_eq!(created, Ok(Subscription::Created));
        signed_up += 1;
    }
    assert!(signed_up > 0);
    let outcomes = importing.await.unwrap().unwrap();
    assert!(outcomes.iter().all(|it| *it == ImportOutcome::Created));
    let again = import(&store, &rows).await.unwrap();
    assert!(again.iter().all(|it| *it == ImportOutcome::Known));
    let count = store.count(None, None).await;
    assert_eq!(count, Ok(20_000 + signed_up));
    let pages = listed(ContactStore::list(&*store, None, None).await).await;
    assert_eq!(Ok(pages.len() as u64), count);
}

#[tokio::test]
async fn upkeep_deletes_what_has_expired() {
    let (server, store) = Postgres::with_store().await;
    // By the clock of the server, 400 days ago; nodes' clocks do not matter.
    let days_ago = |days: u64| Timestamp::from_ms(SystemClock.now().as_ms() - days * DAY_MS);
    let mut keys = [1, 2].map(|seed| key_record(seed, None));
    for (key, days) in keys.iter_mut().zip([401, 399]) {
        key.expires_at = days_ago(days);
        store.issue(key.clone()).await.unwrap();
    }
    let [_, kept] = keys;
    let long_ago = Registration::new([1; 16], Timestamp::from_ms(0));
    for registration in [long_ago, registration(2)] {
        let revoked = RevocationList::revoke(&*store, &registration, START).await;
        assert_eq!(revoked, Ok(true));
    }
    store.drop_expired().await.unwrap();
    let refused = store.compact().await.unwrap_err().to_string();
    assert!(refused.contains("by itself"), "{refused}");
    let rows = "SELECT (SELECT count(*) FROM api_key) + (SELECT count(*) FROM revocation)";
    assert_eq!(server.sql(rows).await, ["2"]);
    assert_eq!(listed(KeyIssuer::list(&*store).await).await, [kept]);
    assert_eq!(store.is_revoked(&long_ago).await, Ok(false));
    assert_eq!(store.is_revoked(&registration(2)).await, Ok(true));
}
