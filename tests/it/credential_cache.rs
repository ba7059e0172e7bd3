//! The cache of look-ups over the stores of a network.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use landing_api::adapters::cluster::credential_cache::CredentialCache;
use landing_api::domain::agent::Registration;
use landing_api::domain::credential::{Fingerprint, KeyRecord};
use landing_api::domain::time::Timestamp;
use landing_api::ports::{KeyIssuer, PageStream, RevocationList, StoreError};
use tokio::sync::Semaphore;
use tokio::time::advance;

use crate::fixtures::key_record;
use crate::twins::{MemoryKeyIssuer, MemoryRevocationList};

const START: Timestamp = Timestamp::from_ms(1_800_000_000_000);

/// A node, and the stores that it shares with others.
struct Node {
    keys: Arc<MemoryKeyIssuer>,
    revocations: Arc<MemoryRevocationList>,
    cache: CredentialCache,
}

impl Node {
    fn new() -> Self {
        let keys = Arc::new(MemoryKeyIssuer::default());
        let revocations = Arc::new(MemoryRevocationList::default());
        let cache = CredentialCache::new(keys.clone(), revocations.clone());
        Self {
            keys,
            revocations,
            cache,
        }
    }

    /// A node whose store has the key.
    async fn with_key() -> Self {
        let node = Self::new();
        node.keys.issue(key()).await.unwrap();
        node
    }

    /// Another node revokes the key and the registration.
    async fn revoke_elsewhere(&self) {
        let revoked = self.keys.revoke(&key().fingerprint, START).await;
        assert_eq!(revoked, Ok(true));
        let revoked = self.revocations.revoke(&registration(), START).await;
        assert_eq!(revoked, Ok(true));
    }

    /// Fails unless the key is there, and this is told of it and of the registration.
    async fn check_revoked(&self, expected: Result<bool, StoreError>) {
        assert_eq!(self.key().await, expected.clone().map(Some));
        assert_eq!(self.cache.is_revoked(&registration()).await, expected);
    }

    fn fail(&self, failure: Option<StoreError>) {
        self.keys.fail_with(failure.clone());
        self.revocations.fail_with(failure);
    }

    /// Whether the key is found, and whether it is revoked.
    async fn key(&self) -> Result<Option<bool>, StoreError> {
        let found = self.cache.find(&key().fingerprint).await?;
        Ok(found.map(|key| key.revoked_at.is_some()))
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
    let node = Node::new();
    node.cache.issue(key()).await.unwrap();
    node.check_revoked(Ok(false)).await;
    let revoked = KeyIssuer::revoke(&node.cache, &key().fingerprint, START).await;
    assert_eq!(revoked, Ok(true));
    assert_eq!(node.key().await, Ok(Some(true)));
    let revoked = RevocationList::revoke(&node.cache, &registration(), START).await;
    assert_eq!(revoked, Ok(true));
    node.check_revoked(Ok(true)).await;
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_not_known_is_looked_up_each_time() {
    let node = Node::new();
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
    assert_eq!(node.cache.is_revoked(&other).await, Err(away()));
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

/// Its answers are on their way until they may arrive.
struct SlowKeyIssuer {
    keys: MemoryKeyIssuer,
    may_arrive: Semaphore,
}

#[async_trait]
impl KeyIssuer for SlowKeyIssuer {
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError> {
        self.keys.issue(record).await
    }

    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError> {
        let found = self.keys.find(fingerprint).await;
        self.may_arrive.acquire().await.unwrap().forget();
        found
    }

    async fn list(&self) -> Result<PageStream<KeyRecord>, StoreError> {
        self.keys.list().await
    }

    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError> {
        self.keys.revoke(fingerprint, now).await
    }

    fn check(&self) -> Result<(), StoreError> {
        self.keys.check()
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_a_revocation_overtook_is_not_remembered() {
    let keys = Arc::new(SlowKeyIssuer {
        keys: MemoryKeyIssuer::default(),
        may_arrive: Semaphore::new(0),
    });
    let revocations = Arc::new(MemoryRevocationList::default());
    let cache = CredentialCache::new(keys.clone(), revocations);
    keys.issue(key()).await.unwrap();
    let print = key().fingerprint;
    let mut slow = Box::pin(cache.find(&print));
    assert!(futures_util::poll!(&mut slow).is_pending());
    let revoked = KeyIssuer::revoke(&cache, &print, START).await;
    assert_eq!(revoked, Ok(true));
    keys.may_arrive.add_permits(2);
    assert_eq!(slow.await, Ok(Some(key())));
    let found = cache.find(&print).await.unwrap().unwrap();
    assert_eq!(found.revoked_at, Some(START));
}
