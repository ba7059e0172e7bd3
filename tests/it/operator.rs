//! What the operator does with contacts, keys and agents, over the stores in memory.

use landing_api::adapters::memory::{MemoryContactStore, MemoryKeyIssuer, MemoryRevocationList};
use landing_api::domain::agent::Registration;
use landing_api::domain::credential::{ApiKey, KeyName, KeyRecord, KeyState};
use landing_api::domain::time::Timestamp;
use landing_api::ports::{ContactStore as _, KeyIssuer, RevocationList, StoreError};
use landing_api::usecases::agents::{self, AgentRevocation};
use landing_api::usecases::contacts::{self, Imported};
use landing_api::usecases::keys::{self, RevokedKey};

use crate::fixtures::{START, address, imported, key_record, listed, registration};

fn failure() -> StoreError {
    StoreError::Unavailable("on purpose".to_owned())
}

#[tokio::test]
async fn contacts_are_imported_counted_and_forgotten() {
    let store = MemoryContactStore::default();
    let names = ["ada", "bob", "cy"];
    let mut done = Imported::default();
    for _ in 0..2 {
        let rows = names.iter().zip(0..).map(|(name, day)| {
            let at = START.plus_ms(day * 1000);
            imported(name, at)
        });
        let added = contacts::import(&store, rows.collect(), false, &mut done).await;
        assert_eq!(added, Ok(()));
    }
    let expected = Imported {
        created: 3,
        known: 3,
        forgotten: 0,
    };
    assert_eq!(done, expected);
    let second = Some(START.plus_ms(1000));
    for (since, until, count) in [(None, None, 3), (second, None, 2), (None, second, 1)] {
        assert_eq!(contacts::count(&store, since, until).await, Ok(count));
        let found = listed(store.list(since, until).await).await;
        assert_eq!(found.len() as u64, count);
    }
    let erasure = store.forget(&[address("bob"), address("zoe")], START).await;
    let erasure = erasure.unwrap();
    assert_eq!(erasure.was_known, [true, false]);
    assert!(erasure.is_complete());
    assert_eq!(store.find(&address("bob")).await, Ok(None));
    let again = vec![imported("bob", START), imported("zoe", START)];
    let mut done = Imported::default();
    let added = contacts::import(&store, again, false, &mut done).await;
    assert_eq!((added, done.forgotten), (Ok(()), 2));
    store.fail_with(Some(failure()));
    let refused = contacts::import(&store, vec![imported("dan", START)], false, &mut done).await;
    assert_eq!((refused, done.created), (Err(failure()), 0));
    assert_eq!(contacts::count(&store, None, None).await, Err(failure()));
}

fn mint(seed: u8) -> ApiKey {
    let mut next = seed;
    let minted = ApiKey::mint(|bytes| {
        for byte in bytes {
            next = next.wrapping_mul(31).wrapping_add(17);
            *byte = next;
        }
        Ok::<_, std::convert::Infallible>(())
    });
    minted.unwrap()
}

fn record(key: &ApiKey, has_id: bool) -> KeyRecord {
    KeyRecord {
        fingerprint: key.fingerprint(),
        id: has_id.then(|| key.id()),
        ..key_record(0, None)
    }
}

#[tokio::test]
async fn a_key_is_revoked_by_each_of_its_names() {
    let now = Timestamp::from_ms(2_000);
    let key = mint(1);
    let id = key.id().to_string();
    for (has_id, name, is_named) in [
        (true, id.clone(), true),
        (true, ["lak_", &id].concat(), true),
        (true, key.fingerprint().name(), true),
        (true, key.expose().to_owned(), true),
        (false, key.fingerprint().name(), true),
        (false, key.expose().to_owned(), true),
        (false, id, false),
        (true, mint(2).id().to_string(), false),
        (true, mint(2).expose().to_owned(), false),
    ] {
        let store = MemoryKeyIssuer::default();
        let issued = record(&key, has_id);
        store.issue(issued.clone()).await.unwrap();
        let name = KeyName::parse(&name).unwrap();
        let revoked = keys::revoke(&store, &name, now).await;
        if !is_named {
            assert_eq!(revoked, Ok(None));
            continue;
        }
        let mut expected = RevokedKey {
            record: KeyRecord {
                revoked_at: Some(now),
                ..issued
            },
            before: KeyState::Active,
        };
        assert_eq!(revoked, Ok(Some(expected.clone())));
        let found = keys::find(&store, &name).await.unwrap();
        assert_eq!(found, Some(expected.record.clone()));
        assert_eq!(expected.record.state(now), KeyState::Revoked);
        // The first revocation counts.
        expected.before = KeyState::Revoked;
        let again = keys::revoke(&store, &name, now.plus_ms(1)).await;
        assert_eq!(again, Ok(Some(expected)));
    }
}

#[tokio::test]
async fn keys_with_one_id_are_told_apart_by_their_fingerprints() {
    let now = Timestamp::from_ms(2_000);
    let store = MemoryKeyIssuer::default();
    let (first, second) = (mint(1), mint(2));
    let records = [record(&first, true), {
        KeyRecord {
            id: Some(first.id()),
            ..record(&second, true)
        }
    }];
    for record in &records {
        store.issue(record.clone()).await.unwrap();
    }
    let name = KeyName::parse(&first.id().to_string()).unwrap();
    assert_eq!(
        keys::find(&store, &name).await,
        Ok(Some(records[0].clone()))
    );
    assert_eq!(listed(store.list().await).await, records);
    let name = KeyName::parse(&second.fingerprint().name()).unwrap();
    let revoked = keys::revoke(&store, &name, now).await.unwrap().unwrap();
    assert_eq!(revoked.record.fingerprint, second.fingerprint());
}

#[tokio::test]
async fn an_expired_key_is_left_as_it_is() {
    let store = MemoryKeyIssuer::default();
    let key = mint(1);
    let issued = record(&key, true);
    store.issue(issued.clone()).await.unwrap();
    let name = KeyName::Whole(key);
    let revoked = keys::revoke(&store, &name, issued.expires_at).await;
    let expected = RevokedKey {
        record: issued,
        before: KeyState::Expired,
    };
    assert_eq!(revoked, Ok(Some(expected)));
    store.fail_with(Some(failure()));
    let refused = keys::revoke(&store, &name, START).await;
    assert_eq!(refused, Err(failure()));
}

#[tokio::test]
async fn an_agent_is_revoked_once_and_only_while_that_matters() {
    let store = MemoryRevocationList::default();
    let id = registration(1).client_id();
    let named = Registration::from_client_id(&id).unwrap();
    for expected in [AgentRevocation::Revoked, AgentRevocation::AlreadyRevoked] {
        assert_eq!(agents::revoke(&store, &named, START).await, Ok(expected));
    }
    let expired = registration(2);
    let revoked = agents::revoke(&store, &expired, expired.expires_at()).await;
    assert_eq!(revoked, Ok(AgentRevocation::Expired));
    let found = listed(store.list().await).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name(), id);
    assert_eq!(store.is_revoked(&named).await, Ok(true));
}
