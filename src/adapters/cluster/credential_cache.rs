//! A node's cache of credentials looked up in a store on a network.
//!
//! A key or a registration revoked at another node is refused here once the cached result is no longer fresh. While
//! the store is unavailable, results are used for longer. Revocations made here take effect here at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::domain::{Fingerprint, KeyRecord, Registration, RevokedRegistration, Timestamp};
use crate::ports::{KeyIssuer, PageStream, RevocationList, StoreError};

/// Age up to which a result is used without asking again: another node may revoke the credential.
const FRESH_MAX: Duration = Duration::from_secs(5);
/// Age up to which a result is used while the store is unavailable.
const STALE_MAX: Duration = Duration::from_secs(60);
/// Most cached results of each kind.
const LEN_MAX: usize = 65_536;

/// Keys and revocations, each result cached for a while. Unknown keys are not cached: anybody can make them up, and
/// another node may issue one at any moment.
pub struct CredentialCache {
    keys: Arc<dyn KeyIssuer>,
    revocations: Arc<dyn RevocationList>,
    known_keys: Mutex<Answers<Option<KeyRecord>>>,
    known_revocations: Mutex<Answers<bool>>,
}

impl CredentialCache {
    /// An empty cache.
    pub fn new(keys: Arc<dyn KeyIssuer>, revocations: Arc<dyn RevocationList>) -> Self {
        Self {
            keys,
            revocations,
            known_keys: Mutex::default(),
            known_revocations: Mutex::default(),
        }
    }

    /// The cached result if it is fresh, or else the result of `ask`, or else the cached result if it is not too
    /// old.
    async fn look_up<V: Clone>(
        &self,
        known: &Mutex<Answers<V>>,
        fingerprint: Fingerprint,
        ask: impl Future<Output = Result<V, StoreError>>,
        is_worth_it: fn(&V) -> bool,
    ) -> Result<V, StoreError> {
        let (remembered, changes) = known.lock().find(&fingerprint);
        let remembered = remembered.filter(|answer| answer.given_at.elapsed() <= STALE_MAX);
        if let Some(answer) = &remembered
            && answer.asked_at.elapsed() < FRESH_MAX
        {
            return Ok(answer.value.clone());
        }
        let asked_at = Instant::now();
        let (value, given_at) = match (ask.await, remembered) {
            (Ok(value), _) => (value, asked_at),
            // Remembered again, so that not every request waits for an unavailable store.
            (Err(StoreError::Unavailable(_) | StoreError::Overloaded), Some(answer)) => {
                (answer.value, answer.given_at)
            }
            (Err(error), _) => return Err(error),
        };
        if is_worth_it(&value) {
            let answer = Answer {
                value: value.clone(),
                given_at,
                asked_at,
            };
            known.lock().remember(fingerprint, answer, changes);
        }
        Ok(value)
    }
}

#[async_trait]
impl KeyIssuer for CredentialCache {
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError> {
        self.keys.issue(record).await
    }

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
        self.known_keys.lock().forget(fingerprint);
        revoked
    }

    fn check(&self) -> Result<(), StoreError> {
        self.keys.check()
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
        self.known_revocations
            .lock()
            .forget(&registration.fingerprint());
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

/// A result from the store.
#[derive(Clone)]
struct Answer<V> {
    value: V,
    /// Time of the store's response.
    given_at: Instant,
    /// Time of the last request to the store, possibly unsuccessful.
    asked_at: Instant,
}

/// The latest results. When there are too many, all are dropped: finding the oldest would cost more than looking
/// each up again.
#[derive(Default)]
struct Answers<V> {
    known: HashMap<Fingerprint, Answer<V>>,
    /// Number of removals. A result requested before one may be out of date.
    changes: u64,
}

impl<V: Clone> Answers<V> {
    fn find(&self, fingerprint: &Fingerprint) -> (Option<Answer<V>>, u64) {
        (self.known.get(fingerprint).cloned(), self.changes)
    }

    fn remember(&mut self, fingerprint: Fingerprint, answer: Answer<V>, changes: u64) {
        if changes != self.changes {
            return;
        }
        if self.known.len() >= LEN_MAX {
            self.known.clear();
        }
        self.known.insert(fingerprint, answer);
    }

    fn forget(&mut self, fingerprint: &Fingerprint) {
        self.changes += 1;
        self.known.remove(fingerprint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_answers_is_bounded() {
        let mut answers = Answers::default();
        let print = |number: usize| {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            Fingerprint::from_bytes(bytes)
        };
        for number in 0..3 * LEN_MAX {
            let answer = Answer {
                value: number,
                given_at: Instant::now(),
                asked_at: Instant::now(),
            };
            answers.remember(print(number), answer, 0);
            assert!(answers.find(&print(number)).0.is_some());
            assert!(answers.known.len() <= LEN_MAX);
        }
    }
}
