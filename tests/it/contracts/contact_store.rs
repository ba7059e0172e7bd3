use std::sync::Arc;

use landing_api::adapters::memory::MemoryContactStore;
use landing_api::domain::contact::{Contact, Origin, SignUp, Subscription};
use landing_api::domain::email::EmailAddress;
use landing_api::domain::time::Timestamp;
use landing_api::ports::ContactStore;

use crate::fixtures::House;

const EARLY: Timestamp = Timestamp::from_ms(1_000);
const LATE: Timestamp = Timestamp::from_ms(2_000);

fn email(text: &str) -> EmailAddress {
    EmailAddress::parse(text).unwrap()
}

fn origin(seed: u8, credential: Option<u8>) -> Origin {
    Origin {
        network: [seed; 16],
        credential: credential.map(|seed| [seed; 16]),
    }
}

fn sign_up(text: &str, origin: Origin, at: Timestamp) -> SignUp {
    SignUp {
        email: email(text),
        origin,
        at,
    }
}

/// The whole contract; `store` is empty.
async fn check(store: Arc<dyn ContactStore>) {
    assert_eq!(store.check().await, Ok(()));
    a_new_address_is_created_once(&*store).await;
    addresses_are_told_apart(&*store).await;
    a_forgotten_address_is_new_again(&*store).await;
    of_racing_sign_ups_one_creates(&store).await;
    assert_eq!(store.check().await, Ok(()));
}

async fn a_new_address_is_created_once(store: &dyn ContactStore) {
    let address = email("ada@example.com");
    assert_eq!(store.find(&address).await, Ok(None));
    let first = origin(1, Some(2));
    let created = store.subscribe(sign_up("ada@example.com", first, EARLY));
    assert_eq!(created.await, Ok(Subscription::Created));
    let mut kept = Contact {
        email: address.clone(),
        origin: first,
        subscribed_at: EARLY,
        last_seen_at: EARLY,
    };
    assert_eq!(store.find(&address).await, Ok(Some(kept.clone())));

    // A repeat tells who was first, and changes nothing but when the address was last seen.
    let second = origin(3, None);
    let renewed = store.subscribe(sign_up("ada@example.com", second, LATE));
    assert_eq!(renewed.await, Ok(Subscription::Renewed(first)));
    kept.last_seen_at = LATE;
    assert_eq!(store.find(&address).await, Ok(Some(kept.clone())));

    // The clock may have been set back.
    let renewed = store.subscribe(sign_up("ada@example.com", second, EARLY));
    assert_eq!(renewed.await, Ok(Subscription::Renewed(first)));
    kept.last_seen_at = EARLY;
    assert_eq!(store.find(&address).await, Ok(Some(kept)));
}

async fn addresses_are_told_apart(store: &dyn ContactStore) {
    for text in ["bob@example.com", "bo@example.com", "bob@example.co"] {
        let created = store.subscribe(sign_up(text, origin(1, None), EARLY));
        assert_eq!(created.await, Ok(Subscription::Created), "{text}");
    }
    assert_eq!(store.find(&email("b@example.com")).await, Ok(None));
}

async fn a_forgotten_address_is_new_again(store: &dyn ContactStore) {
    let address = email("cy@example.com");
    assert_eq!(store.forget(&address, EARLY).await, Ok(false));
    for round in 1..=2 {
        let created = store.subscribe(sign_up("cy@example.com", origin(round, None), EARLY));
        assert_eq!(created.await, Ok(Subscription::Created));
        let renewed = store.subscribe(sign_up("cy@example.com", origin(9, None), LATE));
        let first = origin(round, None);
        assert_eq!(renewed.await, Ok(Subscription::Renewed(first)));
        assert_eq!(store.forget(&address, LATE).await, Ok(true));
        assert_eq!(store.find(&address).await, Ok(None));
        assert_eq!(store.forget(&address, LATE).await, Ok(false));
    }
}

async fn of_racing_sign_ups_one_creates(store: &Arc<dyn ContactStore>) {
    for round in 0..20 {
        let text = format!("racer{round}@example.com");
        let racers: Vec<_> = (0..32)
            .map(|racer| {
                let store = Arc::clone(store);
                let sign_up = sign_up(&text, origin(racer, None), EARLY);
                tokio::spawn(async move { store.subscribe(sign_up).await.unwrap() })
            })
            .collect();
        let mut created = 0;
        let mut told = Vec::new();
        for racer in racers {
            match racer.await.unwrap() {
                Subscription::Created => created += 1,
                Subscription::Renewed(first) => told.push(first),
            }
        }
        assert_eq!((created, told.len()), (1, 31));
        // Everyone is told of the same first one.
        let winner = store.find(&email(&text)).await.unwrap().unwrap().origin;
        assert!(told.iter().all(|first| *first == winner));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_twin_in_memory_keeps_contacts() {
    check(Arc::new(MemoryContactStore::default())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_ledger_keeps_contacts() {
    let house = House::new();
    check(house.open().store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn contacts_are_the_same_after_a_clean_stop_and_after_a_crash() {
    let house = House::new();
    let opened = house.open();
    check(opened.store.clone()).await;
    let names: Vec<EmailAddress> = (0..20)
        .map(|round| format!("racer{round}@example.com"))
        .chain(["ada", "bob", "bo", "cy"].map(|name| format!("{name}@example.com")))
        .map(|text| email(&text))
        .collect();
    let mut before = Vec::new();
    for name in &names {
        before.push(ContactStore::find(&*opened.store, name).await.unwrap());
    }
    assert_eq!(before.iter().flatten().count(), names.len() - 1);
    opened.stop();
    for is_crash in [false, true, true, false] {
        let opened = house.open();
        for (name, before) in names.iter().zip(&before) {
            let after = ContactStore::find(&*opened.store, name).await;
            assert_eq!(after.as_ref(), Ok(before), "{name:?}");
        }
        opened.end(is_crash);
    }
}
