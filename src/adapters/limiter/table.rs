//! Decides on the windows in memory.
//!
//! The table is divided into shards with a lock each. The shard of a key depends on its hash without
//! the policy's tag, so that the two charges that most requests have, both for one network, take one
//! lock. A decision locks all shards it needs before it reads any, in ascending order: it sees one
//! consistent state, and two decisions cannot deadlock.
//!
//! When the table is full, newcomers share the window of their group. A sixteenth more windows than
//! the limit are reserved for that; then all newcomers share one. Concurrent requests may each exceed
//! these bounds by their own charges.

use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicUsize, Ordering};

use arrayvec::ArrayVec;
use smallvec::SmallVec;

use crate::domain::{Decision, LimitKey, POLICIES_PER_REQUEST_MAX, Subject, Timestamp, Usage};
use crate::ports::{Admission, Charge, Receipt};

use super::shard::Shard;

/// Not a power of two: a million windows fill each map to three quarters of 16,384 places, where 64
/// maps would each have just grown to twice that.
pub(super) const SHARDS: usize = 80;

/// The number of windows that may count a charge: its own, its group's, the overflow.
const CANDIDATES: usize = 3;

/// Stands for a hash in the key of the window that all newcomers share when even the windows of
/// groups are too many.
const OVERFLOW: [u8; 16] = [0; 16];

/// Two inline: most requests lock one or two shards.
type LockedShards<'a> = SmallVec<[(usize, MutexGuard<'a, Shard>); 2]>;

type Keys = ArrayVec<LimitKey, POLICIES_PER_REQUEST_MAX>;

pub(super) struct Table {
    shards: Box<[Mutex<Shard>]>,
    /// The number of windows in all shards.
    keys: AtomicUsize,
    /// The number of windows at which the table is full.
    pub(super) windows_max: usize,
}

impl Table {
    pub(super) fn new(windows_max: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            keys: AtomicUsize::new(0),
            windows_max,
        }
    }

    /// Charges every window, or none of them.
    pub(super) fn acquire(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
        admission: &mut Admission,
    ) {
        let mut keys = Keys::new();
        let mut shards = self.lock_windows(charges, &mut keys);
        let has_room = |(charge, key): (&Charge<'_>, &LimitKey)| {
            shard_of(&mut shards, key).has_room(key, charge.quota, now)
        };
        if !charges.iter().zip(&keys).all(has_room) {
            let is_full = |charge: &Charge<'_>, usage: Usage| usage.counted >= charge.quota.count();
            admission.decision = standings(&mut shards, charges, &keys, now, is_full);
            return;
        }
        for (charge, key) in charges.iter().zip(keys) {
            let shard = shard_of(&mut shards, &key);
            let before = shard.len();
            if let Ok(admitted) = shard.admit(key, charge.quota, now) {
                self.count_keys(before, shard.len());
                let standing = charge.standing(admitted.usage, false);
                admission.decision.push(standing);
                // The token is the instant it was recorded at.
                admission.receipt.push(charge, key, admitted.at.as_ms());
            }
        }
    }

    pub(super) fn peek(&self, charges: &[Charge<'_>], now: Timestamp) -> Decision {
        let mut keys = Keys::new();
        let mut shards = self.lock_windows(charges, &mut keys);
        standings(&mut shards, charges, &keys, now, |_, _| false)
    }

    pub(super) fn refund(&self, receipt: &Receipt, now: Timestamp) -> Decision {
        let mut shards = self.lock(receipt.entries.iter().map(|entry| entry.charge.key));
        let mut decision = Decision::default();
        for entry in &receipt.entries {
            let charge = &entry.charge;
            let shard = shard_of(&mut shards, &charge.key);
            let admitted = Timestamp::from_ms(entry.token);
            let usage = shard.refund(charge.key, admitted, charge.quota, now);
            decision.push(charge.standing(usage, false));
        }
        decision
    }

    /// Whether newcomers share the windows of their groups.
    pub(super) fn is_full(&self) -> bool {
        self.count() >= self.windows_max
    }

    /// The number of windows.
    pub(super) fn count(&self) -> usize {
        self.keys.load(Ordering::Relaxed)
    }

    /// Runs `work` on one shard, for the writer. `index` is less than [`SHARDS`].
    pub(super) fn with_shard<T>(&self, index: usize, work: impl FnOnce(&mut Shard) -> T) -> T {
        let mut shard = self.lock_shard(index);
        let before = shard.len();
        let result = work(&mut shard);
        self.count_keys(before, shard.len());
        result
    }

    fn count_keys(&self, before: usize, after: usize) {
        if before != after {
            self.keys
                .fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        }
    }

    /// Locks the windows that count the charges, and adds their keys to `keys`: each charge's own;
    /// while the table is full, a shared one for a client that has none of its own.
    ///
    /// That is decided behind the locks. Otherwise two concurrent requests of one newcomer could be
    /// counted in different windows.
    fn lock_windows(&self, charges: &[Charge<'_>], keys: &mut Keys) -> LockedShards<'_> {
        let mut shards = self.lock(charges.iter().map(|charge| charge.key));
        let mut has_own_window = |charge: &Charge<'_>| {
            charge.group.is_none() || shard_of(&mut shards, &charge.key).contains(&charge.key)
        };
        if !self.is_full() || charges.iter().all(&mut has_own_window) {
            keys.extend(charges.iter().map(|charge| charge.key));
            return shards;
        }
        drop(shards);
        self.lock_windows_when_full(charges, keys)
    }

    #[cold]
    fn lock_windows_when_full(&self, charges: &[Charge<'_>], keys: &mut Keys) -> LockedShards<'_> {
        let candidates = charges.iter().map(|charge| match charge.group {
            Some((network, key)) => [
                charge.key,
                LimitKey::new(key, charge.policy, Subject::Prefix(network)),
                LimitKey::tagged(charge.policy, OVERFLOW),
            ],
            None => [charge.key; CANDIDATES],
        });
        let candidates: ArrayVec<_, POLICIES_PER_REQUEST_MAX> = candidates.collect();
        let mut shards = self.lock(candidates.iter().flatten().copied());
        let is_reserve_full = self.count() >= self.windows_max + (self.windows_max / 16).max(1);
        let mut contains = |key: &LimitKey| shard_of(&mut shards, key).contains(key);
        keys.extend(candidates.iter().map(|&[own, of_group, overflow]| {
            if contains(&own) {
                own
            } else if !is_reserve_full || contains(&of_group) {
                of_group
            } else {
                overflow
            }
        }));
        shards
    }

    /// Locks the shards of `keys`, each once, in ascending order.
    fn lock(&self, keys: impl Iterator<Item = LimitKey>) -> LockedShards<'_> {
        let mut order: ArrayVec<usize, { CANDIDATES * POLICIES_PER_REQUEST_MAX }> =
            keys.map(|key| shard_index(&key)).collect();
        order.sort_unstable();
        let mut shards = LockedShards::new();
        for index in order {
            if shards.last().is_none_or(|(last, _)| *last != index) {
                shards.push((index, self.lock_shard(index)));
            }
        }
        shards
    }

    #[allow(clippy::expect_used, reason = "there is a shard for every index")]
    fn lock_shard(&self, index: usize) -> MutexGuard<'_, Shard> {
        let shard = self.shards.get(index);
        shard.expect("there is a shard for every index").lock()
    }
}

fn standings(
    shards: &mut LockedShards<'_>,
    charges: &[Charge<'_>],
    keys: &Keys,
    now: Timestamp,
    is_violated: impl Fn(&Charge<'_>, Usage) -> bool,
) -> Decision {
    let mut decision = Decision::default();
    for (charge, key) in charges.iter().zip(keys) {
        let usage = shard_of(shards, key).peek(key, charge.quota, now);
        decision.push(charge.standing(usage, is_violated(charge, usage)));
    }
    decision
}

/// The locked shard of `key`.
#[allow(
    clippy::expect_used,
    reason = "callers lock the shard of every key they ask for"
)]
fn shard_of<'a>(shards: &'a mut LockedShards<'_>, key: &LimitKey) -> &'a mut Shard {
    let wanted = shard_index(key);
    let mut shards = shards.iter_mut();
    let found = shards.find(|(index, _)| *index == wanted);
    let (_, shard) = found.expect("callers lock the shard of every key they ask for");
    shard
}

/// Ascending with the first bytes of the hash, which follow the policy's tag.
pub(super) fn shard_index(key: &LimitKey) -> usize {
    let [_tag, high, low, ..] = *key.as_bytes();
    (usize::from(u16::from_be_bytes([high, low])) * SHARDS) >> u16::BITS
}
