//! What a node remembers of the credentials that it looked up in a store on a network.
//!
//! A key or a registration that was revoked at another node is refused here after the time that an answer is
//! fresh. While the store is away, answers are used for longer. What is revoked here is refused here at once.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;

use crate::domain::agent::{Registration, RevokedRegistration};
use crate::domain::credential::{Fingerprint, KeyRecord};
use crate::domain::time::Timestamp;
use crate::ports::{Clock, KeyIssuer, PageStream, RevocationList, StoreError};

use super::mutex::lock;

/// How old an answer may be while the store is away.
const STALE_MS_MAX: u64 = 60_000;
/// How many answers of each kind are remembered: those of the last so many look-ups, and up to as many
/// before them.
const GENERATION_LEN: usize = 32_768;

/// Keys and revocations, each answer remembered for a while.
pub struct CredentialCache {
    keys: Arc<dyn KeyIssuer>,
    revocations: Arc<dyn RevocationList>,
    clock: Arc<dyn Clock>,
    fresh_ms: u64,
    known_keys: Mutex<Answers<Option<KeyRecord>>>,
    known_revocations: Mutex<Answers<bool>>,
}

impl fmt::Debug for CredentialCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialCache(..)")
    }
}

impl CredentialCache {
    /// Remembers nothing yet. An answer is not asked for again for as long as it is `fresh`.
    pub fn new(
        keys: Arc<dyn KeyIssuer>,
        revocations: Arc<dyn RevocationList>,
        clock: Arc<dyn Clock>,
        fresh: Duration,
    ) -> Self {
        Self {
            keys,
            revocations,
            clock,
            fresh_ms: u64::try_from(fresh.as_millis()).unwrap_or(u64::MAX),
            known_keys: Mutex::default(),
            known_revocations: Mutex::default(),
        }
    }

    /// The answer that is remembered if it is fresh, or the one that `ask` gives, or the one that is
    /// remembered if there is no other and it is not too old.
    async fn look_up<V: Clone>(
        &self,
        known: &Mutex<Answers<V>>,
        fingerprint: Fingerprint,
        ask: impl Future<Output = Result<V, StoreError>>,
        is_worth_it: fn(&V) -> bool,
    ) -> Result<V, StoreError> {
        let (remembered, changes) = lock(known).find(&fingerprint);
        let now = self.clock.now();
        if let Some(answer) = &remembered
            && answer.asked_at <= now
            && now.ms_since(answer.asked_at) < self.fresh_ms
            && now.ms_since(answer.given_at) <= STALE_MS_MAX
        {
            return Ok(answer.value.clone());
        }
        match (ask.await, remembered) {
            (Ok(value), _) => {
                if is_worth_it(&value) {
                    let answer = Answer {
                        value: value.clone(),
                        given_at: now,
                        asked_at: now,
                    };
                    lock(known).remember(fingerprint, answer, changes);
                }
                Ok(value)
            }
            (Err(StoreError::Unavailable(_)), Some(answer))
                if answer.given_at <= now && now.ms_since(answer.given_at) <= STALE_MS_MAX =>
            {
                let value = answer.value.clone();
                // Not every request has to wait for the store in vain.
                let answer = Answer {
                    asked_at: now,
                    ..answer
                };
                lock(known).remember(fingerprint, answer, changes);
                Ok(value)
            }
            (Err(error), _) => Err(error),
        }
    }
}

#[async_trait]
impl KeyIssuer for CredentialCache {
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError> {
        let fingerprint = record.fingerprint;
        let issued = self.keys.issue(record).await;
        lock(&self.known_keys).forget(&fingerprint);
        issued
    }

    /// A key that is not known is asked for each time: it may be issued at another node any moment, and
    /// anybody can make them up.
    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError> {
        let ask = self.keys.find(fingerprint);
        self.look_up(&self.known_keys, *fingerprint, ask, Option::is_some)
            .await
    }

    async fn list(&self) -> Result<PageStream<KeyRecord>, StoreError> {
        self.keys.list().await
    }

    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError> {
        let revoked = self.keys.revoke(fingerprint, now).await;
        // After an error, too: it may have been revoked.
        lock(&self.known_keys).forget(fingerprint);
        revoked
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.keys.check().await
    }
}

#[async_trait]
impl RevocationList for CredentialCache {
    async fn revoke(
        &self,
        registration: &Registration,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let revoked = self.revocations.revoke(registration, now).await;
        // After an error, too: it may have been revoked.
        lock(&self.known_revocations).forget(&registration.fingerprint());
        revoked
    }

    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError> {
        let ask = self.revocations.is_revoked(registration);
        let fingerprint = registration.fingerprint();
        self.look_up(&self.known_revocations, fingerprint, ask, |_| true)
            .await
    }

    async fn list(&self) -> Result<PageStream<RevokedRegistration>, StoreError> {
        self.revocations.list().await
    }
}

/// An answer of the store.
#[derive(Clone)]
struct Answer<V> {
    value: V,
    /// When the store gave it.
    given_at: Timestamp,
    /// When the store was last asked, perhaps in vain.
    asked_at: Timestamp,
}

/// The last answers, in two generations, so that the oldest are dropped without a search.
struct Answers<V> {
    young: HashMap<Fingerprint, Answer<V>>,
    old: HashMap<Fingerprint, Answer<V>>,
    /// How many were forgotten. An answer that was asked for before may be out of date.
    changes: u64,
}

impl<V> Default for Answers<V> {
    fn default() -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            changes: 0,
        }
    }
}

impl<V: Clone> Answers<V> {
    fn find(&self, fingerprint: &Fingerprint) -> (Option<Answer<V>>, u64) {
        let found = self.young.get(fingerprint);
        let found = found.or_else(|| self.old.get(fingerprint));
        (found.cloned(), self.changes)
    }

    fn remember(&mut self, fingerprint: Fingerprint, answer: Answer<V>, changes: u64) {
        if changes != self.changes {
            return;
        }
        if self.young.len() >= GENERATION_LEN {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(fingerprint, answer);
    }

    fn forget(&mut self, fingerprint: &Fingerprint) {
        self.changes += 1;
        self.young.remove(fingerprint);
        self.old.remove(fingerprint);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;
    use crate::adapters::memory::{ManualClock, MemoryKeyIssuer, MemoryRevocationList};

    const START: Timestamp = Timestamp::from_ms(1_800_000_000_000);

    /// A node, and the stores that it shares with others.
    struct Node {
        keys: Arc<MemoryKeyIssuer>,
        revocations: Arc<MemoryRevocationList>,
        clock: Arc<ManualClock>,
        cache: CredentialCache,
    }

    impl Node {
        fn new() -> Self {
            let keys = Arc::new(MemoryKeyIssuer::default());
            let revocations = Arc::new(MemoryRevocationList::default());
            let clock = Arc::new(ManualClock::new(START));
            let fresh = Duration::from_secs(5);
            let cache =
                CredentialCache::new(keys.clone(), revocations.clone(), clock.clone(), fresh);
            Self {
                keys,
                revocations,
                clock,
                cache,
            }
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

        async fn is_revoked(&self) -> Result<bool, StoreError> {
            self.cache.is_revoked(&registration()).await
        }
    }

    fn key() -> KeyRecord {
        KeyRecord {
            fingerprint: Fingerprint::from_bytes([1; 32]),
            id: None,
            label: None,
            issued_at: START,
            expires_at: START.plus_ms(1_000_000),
            revoked_at: None,
        }
    }

    fn registration() -> Registration {
        Registration::new([1; 16], START)
    }

    fn away() -> StoreError {
        StoreError::Unavailable("away".to_owned())
    }

    #[tokio::test]
    async fn what_is_revoked_elsewhere_is_refused_after_five_seconds() {
        let node = Node::new();
        node.keys.issue(key()).await.unwrap();
        assert_eq!(node.key().await, Ok(Some(false)));
        assert_eq!(node.is_revoked().await, Ok(false));
        node.keys.revoke(&key().fingerprint, START).await.unwrap();
        let revoked = node.revocations.revoke(&registration(), START).await;
        assert_eq!(revoked, Ok(true));
        node.clock.advance_ms(4_999);
        assert_eq!(node.key().await, Ok(Some(false)));
        assert_eq!(node.is_revoked().await, Ok(false));
        node.clock.advance_ms(1);
        assert_eq!(node.key().await, Ok(Some(true)));
        assert_eq!(node.is_revoked().await, Ok(true));
    }

    #[tokio::test]
    async fn what_is_revoked_here_is_refused_at_once() {
        let node = Node::new();
        node.cache.issue(key()).await.unwrap();
        assert_eq!(node.key().await, Ok(Some(false)));
        assert_eq!(node.is_revoked().await, Ok(false));
        let revoked = KeyIssuer::revoke(&node.cache, &key().fingerprint, START).await;
        assert_eq!(revoked, Ok(true));
        assert_eq!(node.key().await, Ok(Some(true)));
        let revoked = RevocationList::revoke(&node.cache, &registration(), START).await;
        assert_eq!(revoked, Ok(true));
        assert_eq!(node.is_revoked().await, Ok(true));
    }

    #[tokio::test]
    async fn a_key_that_is_not_known_is_asked_for_each_time() {
        let node = Node::new();
        assert_eq!(node.key().await, Ok(None));
        node.keys.issue(key()).await.unwrap();
        assert_eq!(node.key().await, Ok(Some(false)));
    }

    #[tokio::test]
    async fn while_the_store_is_away_answers_are_used_for_a_minute() {
        let node = Node::new();
        node.keys.issue(key()).await.unwrap();
        assert_eq!(node.key().await, Ok(Some(false)));
        assert_eq!(node.is_revoked().await, Ok(false));
        node.fail(Some(away()));
        for _ in 0..6 {
            assert_eq!(node.key().await, Ok(Some(false)));
            assert_eq!(node.is_revoked().await, Ok(false));
            node.clock.advance_ms(10_000);
        }
        assert_eq!(node.key().await, Ok(Some(false)));
        node.clock.advance_ms(5_000);
        assert_eq!(node.key().await, Err(away()));
        assert_eq!(node.is_revoked().await, Err(away()));
        node.fail(None);
        assert_eq!(node.key().await, Ok(Some(false)));
        // Other failures are no outage.
        node.fail(Some(StoreError::Overloaded));
        node.clock.advance_ms(5_000);
        assert_eq!(node.key().await, Err(StoreError::Overloaded));
        // What was never seen is not known.
        node.fail(Some(away()));
        let other = Registration::new([2; 16], START);
        assert_eq!(node.cache.is_revoked(&other).await, Err(away()));
    }

    #[tokio::test]
    async fn an_answer_in_vain_is_not_asked_for_again_at_once() {
        let node = Node::new();
        node.keys.issue(key()).await.unwrap();
        assert_eq!(node.key().await, Ok(Some(false)));
        node.fail(Some(away()));
        node.clock.advance_ms(5_000);
        assert_eq!(node.key().await, Ok(Some(false)));
        node.fail(None);
        node.keys.revoke(&key().fingerprint, START).await.unwrap();
        node.clock.advance_ms(4_999);
        assert_eq!(node.key().await, Ok(Some(false)));
        node.clock.advance_ms(1);
        assert_eq!(node.key().await, Ok(Some(true)));
    }

    #[tokio::test]
    async fn an_answer_in_vain_makes_none_good_for_longer() {
        let node = Node::new();
        node.keys.issue(key()).await.unwrap();
        assert_eq!(node.key().await, Ok(Some(false)));
        node.fail(Some(away()));
        node.clock.advance_ms(59_000);
        assert_eq!(node.key().await, Ok(Some(false)));
        node.clock.advance_ms(1_001);
        assert_eq!(node.key().await, Err(away()));
    }

    #[tokio::test]
    async fn a_clock_that_was_set_back_keeps_no_answer() {
        let node = Node::new();
        node.keys.issue(key()).await.unwrap();
        assert_eq!(node.key().await, Ok(Some(false)));
        node.clock.set(Timestamp::from_ms(START.as_ms() - 1));
        node.keys.revoke(&key().fingerprint, START).await.unwrap();
        assert_eq!(node.key().await, Ok(Some(true)));
        node.clock.set(Timestamp::from_ms(START.as_ms() - 2));
        node.fail(Some(away()));
        assert_eq!(node.key().await, Err(away()));
    }

    /// An answer is on its way while the key is revoked.
    #[tokio::test]
    async fn an_answer_that_a_revocation_overtook_is_not_remembered() {
        let node = Arc::new(Node::new());
        let arrived = Arc::new(Semaphore::new(0));
        let (asking, may_arrive) = (Arc::clone(&node), Arc::clone(&arrived));
        let slow = async move {
            let answer = async {
                may_arrive.acquire().await.unwrap().forget();
                Ok(Some(key()))
            };
            let known = &asking.cache.known_keys;
            let (print, worth) = (key().fingerprint, Option::is_some as fn(&_) -> bool);
            asking.cache.look_up(known, print, answer, worth).await
        };
        let mut slow = Box::pin(slow);
        assert!(futures_util::poll!(&mut slow).is_pending());
        node.keys.issue(key()).await.unwrap();
        let revoked = KeyIssuer::revoke(&node.cache, &key().fingerprint, START).await;
        assert_eq!(revoked, Ok(true));
        arrived.add_permits(1);
        assert_eq!(slow.await, Ok(Some(key())));
        assert_eq!(node.key().await, Ok(Some(true)));
    }

    #[test]
    fn only_the_last_answers_are_kept() {
        let mut answers = Answers::default();
        let print = |number: usize| {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            Fingerprint::from_bytes(bytes)
        };
        for number in 0..5 * GENERATION_LEN {
            let answer = Answer {
                value: number,
                given_at: START,
                asked_at: START,
            };
            answers.remember(print(number), answer, 0);
            let last = answers.find(&print(number.saturating_sub(GENERATION_LEN - 1)));
            assert!(last.0.is_some());
        }
        assert!(answers.young.len() + answers.old.len() <= 2 * GENERATION_LEN);
        assert!(answers.find(&print(0)).0.is_none());
    }
}
