//! The cache of look-ups over the stores of a network.

use landing_api::adapters::cluster::credential_cache::CredentialCache;
use landing_api::domain::credential::KeyRecord;
use landing_api::ports::{KeyIssuer, RevocationList};
use tokio::sync::oneshot;

use crate::prelude::*;
use crate::twins::{MemoryKeyIssuer, MemoryRevocationList};

const START: Timestamp = Timestamp::from_ms(1_800_000_000_000);

/// A node, and the stores that it shares with others.
#[derive(Default)]
struct Node {
    keys: MemoryKeyIssuer,
    revocations: MemoryRevocationList,
    known_keys: CredentialCache<KeyRecord>,
    known_revocations: CredentialCache<bool>,
}

impl Node {
    async fn with_key() -> Self {
        let node = Self::default();
        node.keys.issue(key()).await.unwrap();
        node
    }

    async fn revoke_elsewhere(&self) {
        assert_eq!(self.keys.revoke(&key().fingerprint, START).await, Ok(true));
        let revoked = self.revocations.revoke(&registration(), START).await;
        assert_eq!(revoked, Ok(true));
    }

    /// Fails unless the key is there, and this is told of it and of the registration.
    async fn check_revoked(&self, expected: Result<bool, StoreError>) {
        assert_eq!(self.key().await, expected.clone().map(Some));
        assert_eq!(self.is_revoked(&registration()).await, expected);
    }

    fn fail(&self, failure: Option<StoreError>) {
        self.keys.fail_with(failure.clone());
        self.revocations.fail_with(failure);
    }

    async fn key(&self) -> Result<Option<bool>, StoreError> {
        let fingerprint = key().fingerprint;
        let ask = self.keys.find(&fingerprint);
        let found = self.known_keys.look_up(fingerprint, ask).await?;
        Ok(found.map(|key| key.revoked_at.is_some()))
    }

    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError> {
        let ask = async { self.revocations.is_revoked(registration).await.map(Some) };
        let known = &self.known_revocations;
        let found = known.look_up(registration.fingerprint(), ask).await?;
        Ok(found.unwrap())
    }
}

fn key() -> KeyRecord {
    KeyRecord {
        issued_at: START,
        expires_at: START.plus_ms(1_000_000),
        ..key_record(1, None)
    }
}

fn registration() -> Registration {
    Registration::new([1; 16], START)
}

fn away() -> StoreError {
    StoreError::Unavailable("away".to_owned())
}

#[tokio::test(start_paused = true)]
async fn what_is_revoked_elsewhere_is_refused_after_five_seconds() {
    let node = Node::with_key().await;
    node.check_revoked(Ok(false)).await;
    node.revoke_elsewhere().await;
    advance(Duration::from_millis(4_999)).await;
    node.check_revoked(Ok(false)).await;
    advance(Duration::from_millis(1)).await;
    node.check_revoked(Ok(true)).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_revoked_here_is_refused_at_once() {
    let (key, registration) = (key().fingerprint, registration());
    // After an error, too: the store may have done it.
    for answer in [Ok(true), Err(away())] {
        let node = Node::with_key().await;
        node.check_revoked(Ok(false)).await;
        let change = async {
            assert_eq!(node.key().await, Ok(Some(false)));
            let revoked = node.keys.revoke(&key, START).await;
            revoked.and_then(|_| answer.clone())
        };
        assert_eq!(node.known_keys.revoke(key, change).await, answer);
        let change = async {
            assert_eq!(node.is_revoked(&registration).await, Ok(false));
            let revoked = node.revocations.revoke(&registration, START).await;
            revoked.and_then(|_| answer.clone())
        };
        let (known, print) = (&node.known_revocations, registration.fingerprint());
        assert_eq!(known.revoke(print, change).await, answer);
        node.check_revoked(Ok(true)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_not_known_is_looked_up_each_time() {
    let node = Node::default();
    assert_eq!(node.key().await, Ok(None));
    // Another node issues it.
    node.keys.issue(key()).await.unwrap();
    assert_eq!(node.key().await, Ok(Some(false)));
}

#[tokio::test(start_paused = true)]
async fn while_the_store_is_away_answers_are_used_for_a_minute() {
    let node = Node::with_key().await;
    node.check_revoked(Ok(false)).await;
    node.fail(Some(away()));
    for _ in 0..6 {
        node.check_revoked(Ok(false)).await;
        advance(Duration::from_millis(10_000)).await;
    }
    assert_eq!(node.key().await, Ok(Some(false)));
    advance(Duration::from_millis(5_000)).await;
    node.check_revoked(Err(away())).await;
    node.fail(None);
    assert_eq!(node.key().await, Ok(Some(false)));
    // Too many look-ups at a time are one, other failures are not.
    node.fail(Some(StoreError::Overloaded));
    advance(Duration::from_millis(5_000)).await;
    assert_eq!(node.key().await, Ok(Some(false)));
    let displaced = StoreError::Displaced("it is another".to_owned());
    node.fail(Some(displaced.clone()));
    advance(Duration::from_millis(5_000)).await;
    assert_eq!(node.key().await, Err(displaced));
    // What was never seen is not known.
    node.fail(Some(away()));
    let other = Registration::new([2; 16], START);
    assert_eq!(node.is_revoked(&other).await, Err(away()));
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_vain_is_not_asked_for_again_at_once_and_makes_none_good_for_longer() {
    let node = Node::with_key().await;
    node.check_revoked(Ok(false)).await;
    node.fail(Some(away()));
    advance(Duration::from_millis(5_000)).await;
    node.check_revoked(Ok(false)).await;
    node.fail(None);
    node.revoke_elsewhere().await;
    advance(Duration::from_millis(4_999)).await;
    node.check_revoked(Ok(false)).await;
    advance(Duration::from_millis(1)).await;
    node.check_revoked(Ok(true)).await;

    let node = Node::with_key().await;
    node.check_revoked(Ok(false)).await;
    node.fail(Some(away()));
    advance(Duration::from_millis(59_000)).await;
    node.check_revoked(Ok(false)).await;
    advance(Duration::from_millis(1_001)).await;
    node.check_revoked(Err(away())).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_a_revocation_overtook_is_not_remembered() {
    let (cache, print) = (CredentialCache::default(), key().fingerprint);
    let (arrive, arrived) = oneshot::channel();
    let mut slow = Box::pin(cache.look_up(print, async { Ok(arrived.await.ok()) }));
    assert!(futures_util::poll!(&mut slow).is_pending());
    let revoke = async || cache.revoke(print, async { true }).await;
    assert!(revoke().await);
    arrive.send("before").unwrap();
    assert_eq!(slow.await, Ok(Some("before")));
    let found = cache.look_up(print, async { Ok(Some("after")) });
    assert_eq!(found.await, Ok(Some("after")));
    // Nor is one that was known before the store was away.
    advance(Duration::from_millis(5_000)).await;
    let (give_up, given_up) = oneshot::channel::<()>();
    let mut slow = Box::pin(cache.look_up(print, async {
        assert!(given_up.await.is_err());
        Err(away())
    }));
    assert!(futures_util::poll!(&mut slow).is_pending());
    assert!(revoke().await);
    drop(give_up);
    assert_eq!(slow.await, Ok(Some("after")));
    let found = cache.look_up(print, async { Err(away()) });
    assert_eq!(found.await, Err(away()));
}
