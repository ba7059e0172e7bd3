//! A node's cache of credentials looked up in the database.
//!
//! A key or a registration revoked at another node is refused here once the cached result is no longer fresh. While
//! the database is unavailable, results are used for longer. Revocations made here take effect here at once.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::domain::Fingerprint;
use crate::ports::StoreError;

/// Age up to which a result is used without asking again: another node may revoke the credential.
const FRESH_MAX: Duration = Duration::from_secs(5);
/// Age up to which a result is used while the database is unavailable.
const STALE_MAX: Duration = Duration::from_secs(60);
/// Most cached results.
const LEN_MAX: usize = 65_536;

/// The results of lookups of one kind. Unknown credentials are not cached: anybody can make them up, and another node
/// may issue one at any moment.
pub struct CredentialCache<V> {
    /// The results, and the number of removals: a result requested before a removal may be out of date.
    known: Mutex<(HashMap<Fingerprint, Answer<V>>, u64)>,
}

/// A result from the database.
#[derive(Clone)]
struct Answer<V> {
    value: V,
    /// Time of the database's response.
    given_at: Instant,
    /// Time of the last request to the database, possibly unsuccessful.
    asked_at: Instant,
}

impl<V> Default for CredentialCache<V> {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
        }
    }
}

impl<V: Clone> CredentialCache<V> {
    /// The cached result if it is fresh, or else the result of `ask`, or else the cached result if it is not too
    /// old.
    pub async fn look_up(
        &self,
        fingerprint: Fingerprint,
        ask: impl Future<Output = Result<Option<V>, StoreError>>,
    ) -> Result<Option<V>, StoreError> {
        let (known, removals_before) = {
            let (known, removals) = &*self.known.lock();
            (known.get(&fingerprint).cloned(), *removals)
        };
        let known = known.filter(|answer| answer.given_at.elapsed() <= STALE_MAX);
        if let Some(answer) = &known
            && answer.asked_at.elapsed() < FRESH_MAX
        {
            return Ok(Some(answer.value.clone()));
        }
        let asked_at = Instant::now();
        let (value, given_at) = match (ask.await, known) {
            (Ok(value), _) => (value, asked_at),
            // Cached again, so that not every request waits for an unavailable database.
            (Err(StoreError::Unavailable(_) | StoreError::Overloaded), Some(answer)) => {
                (Some(answer.value), answer.given_at)
            }
            (Err(error), _) => return Err(error),
        };
        let (known, removals) = &mut *self.known.lock();
        if let Some(value) = value.clone()
            && *removals == removals_before
        {
            // Finding the oldest would cost more than looking each up again.
            if known.len() >= LEN_MAX {
                known.clear();
            }
            let answer = Answer {
                value,
                given_at,
                asked_at,
            };
            known.insert(fingerprint, answer);
        }
        Ok(value)
    }

    /// Awaits a revocation, and drops the cached result. After an error, too: the credential may have been revoked.
    pub async fn revoke<T>(&self, fingerprint: Fingerprint, change: impl Future<Output = T>) -> T {
        let revoked = change.await;
        let (known, removals) = &mut *self.known.lock();
        known.remove(&fingerprint);
        *removals += 1;
        revoked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_number_of_answers_is_bounded() {
        let cache = CredentialCache::default();
        for number in 0..3 * LEN_MAX {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            let print = Fingerprint::from_bytes(bytes);
            let found = cache.look_up(print, async { Ok(Some(number)) });
            assert_eq!(found.await, Ok(Some(number)));
            let (known, _removals) = &*cache.known.lock();
            assert!(known.contains_key(&print) && known.len() <= LEN_MAX);
        }
    }
}
