//! Every decision, over the windows in memory.
//!
//! The table is cut into shards with a lock each. A key's shard comes from its hash without the
//! policy's tag, so that the charges of one network, which most requests have two of, take one
//! lock. A decision locks all the shards it needs before it looks at anything, always in the same
//! order, so it is made of one state and two decisions never wait for each other in a ring.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrayvec::ArrayVec;

use crate::domain::client::LimitKey;
use crate::domain::decision::{Decision, POLICIES_PER_REQUEST_MAX};
use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;
use crate::ports::{Acquired, Charge, Grant};

use super::shard::Shard;

/// How much the limiter may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLimits {
    /// So many windows may be kept for single identities. A sixteenth of it more is there for the
    /// windows that newcomers share when these are taken. Requests in flight may each pass the
    /// bound by their own charges.
    pub keys_max: usize,
}

impl Default for TableLimits {
    /// A million windows, which take about 100 MiB when each has seen a few requests.
    fn default() -> Self {
        Self {
            keys_max: 1_000_000,
        }
    }
}

impl TableLimits {
    fn is_full(self, keys: usize) -> bool {
        keys >= self.keys_max
    }

    fn is_reserve_full(self, keys: usize) -> bool {
        keys >= self.keys_max + (self.keys_max / 16).max(1)
    }
}

/// So many that two threads, or one and the writer, seldom meet in one, nor need one another's lock
/// from the other core's cache when each decides on a thousand windows.
pub(super) const SHARDS: u16 = 1 << SHARD_BITS;
const SHARD_BITS: u32 = 12;

/// A charge has at most three windows to choose from: its own, the coarse one, the overflow.
const LOCKS_MAX: usize = 3 * POLICIES_PER_REQUEST_MAX;

pub(super) struct Table {
    shards: Box<[Line<Mutex<Shard>>]>,
    /// How many windows there are in all shards. Every request reads it.
    keys: Padded<AtomicUsize>,
    limits: TableLimits,
    mac_key: MacKey,
}

/// What one thread writes must not share a cache line with what another one uses.
#[derive(Default)]
#[repr(align(128))]
struct Padded<T>(T);

/// A lock and what it guards are in one line of the cache. It is not padded: of so many, those that
/// two threads use are seldom neighbours, and what is read for each decision stays small.
#[derive(Default)]
#[repr(align(64))]
struct Line<T>(T);

#[cfg(target_os = "linux")]
const _: () = assert!(size_of::<Line<Mutex<Shard>>>() == 64);

/// A shard with its number.
type LockedShard<'a> = (u16, MutexGuard<'a, Shard>);

/// The windows that count a request, behind locks.
struct Seats<'s, 'a> {
    shards: &'s mut [LockedShard<'a>],
    /// With the keys of the windows that really count them.
    charges: &'s [Charge],
}

impl Table {
    pub(super) fn new(limits: TableLimits, mac_key: MacKey) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Line::default()).collect(),
            keys: Padded::default(),
            limits,
            mac_key,
        }
    }

    /// Adds what was decided and charged to `acquired`, which is empty.
    pub(super) fn acquire(&self, charges: &[Charge], now: Timestamp, acquired: &mut Acquired) {
        self.with_seats(charges, |mut seats| {
            // One charge needs no look before it is made: a refusal leaves nothing of it.
            if charges.len() > 1 && seats.are_any_taken(now) {
                seats.peek(now, true, &mut acquired.decision);
                return;
            }
            for charge in seats.charges {
                match shard_of(seats.shards, &charge.key).admit(charge, now) {
                    Ok((admission, is_new)) => {
                        if is_new {
                            self.keys.0.fetch_add(1, Ordering::Relaxed);
                        }
                        let standing = charge.standing(admission.usage, false);
                        acquired.decision.push(standing);
                        acquired.grant.entries.push((*charge, admission.at));
                    }
                    Err(usage) => acquired.decision.push(charge.standing(usage, true)),
                }
            }
        });
    }

    /// Adds how the policies stand to `decision`, which is empty.
    pub(super) fn peek(&self, charges: &[Charge], now: Timestamp, decision: &mut Decision) {
        self.with_seats(charges, |mut seats| seats.peek(now, false, decision));
    }

    pub(super) fn refund(&self, grant: &Grant, now: Timestamp) -> Decision {
        let mut shards = self.lock(grant.entries.iter().map(|(charge, _)| charge.key));
        let mut decision = Decision::default();
        for (charge, admitted) in &grant.entries {
            let usage = shard_of(&mut shards, &charge.key).refund(charge, *admitted, now);
            decision.push(charge.standing(usage, false));
        }
        decision
    }

    /// How many windows there are.
    pub(super) fn count(&self) -> usize {
        self.keys.0.load(Ordering::Relaxed)
    }

    /// Works on one shard at a time, for the writer. `index` is below [`SHARDS`].
    pub(super) fn with_shard<T>(&self, index: u16, work: impl FnOnce(&mut Shard) -> T) -> T {
        let mut shard = self.lock_shard(index);
        let before = shard.count();
        let result = work(&mut shard);
        let after = shard.count();
        if after != before {
            let more = after.wrapping_sub(before);
            self.keys.0.fetch_add(more, Ordering::Relaxed);
        }
        result
    }

    /// Finds and locks the window that counts each charge: the charge's own; or, for an identity
    /// that has none when the table is full, one that it shares with its neighbours.
    fn with_seats<T>(&self, charges: &[Charge], work: impl FnOnce(Seats<'_, '_>) -> T) -> T {
        // Most requests' charges count one network, and so lie in one shard.
        if let Some(index) = common_shard(charges) {
            let shards = &mut [(index, self.lock_shard(index))];
            if self.have_own_seats(charges, shards) {
                return work(Seats { shards, charges });
            }
        } else {
            let shards = &mut self.lock(charges.iter().map(|charge| charge.key));
            if self.have_own_seats(charges, shards) {
                return work(Seats { shards, charges });
            }
        }
        self.with_crowded_seats(charges, work)
    }

    /// Whether each charge's own window is to count it. It is asked behind the locks, so that of two
    /// requests of one newcomer the later one does not find room where the earlier one found none,
    /// unless the sweep has made some.
    fn have_own_seats(&self, charges: &[Charge], shards: &mut [LockedShard<'_>]) -> bool {
        let has_its_own = |charge: &Charge| {
            charge.network.is_none() || shard_of(shards, &charge.key).holds(&charge.key)
        };
        !self.limits.is_full(self.count()) || charges.iter().all(has_its_own)
    }

    #[cold]
    fn with_crowded_seats<T>(
        &self,
        charges: &[Charge],
        work: impl FnOnce(Seats<'_, '_>) -> T,
    ) -> T {
        let choices: ArrayVec<(Charge, Option<(LimitKey, LimitKey)>), POLICIES_PER_REQUEST_MAX> =
            charges
                .iter()
                .map(|charge| {
                    let shared = charge.network.map(|network| {
                        (
                            LimitKey::coarse(&self.mac_key, charge.policy, network),
                            LimitKey::overflow(&self.mac_key, charge.policy),
                        )
                    });
                    (*charge, shared)
                })
                .collect();
        // All that may count a charge are locked before one is chosen, so that two requests of one
        // newcomer choose alike.
        let mut shards = self.lock(choices.iter().flat_map(
            |&(Charge { key: own, .. }, shared)| {
                let (coarse, overflow) = shared.unwrap_or((own, own));
                [own, coarse, overflow]
            },
        ));
        let is_reserve_full = self.limits.is_reserve_full(self.count());
        let mut holds = |key: &LimitKey| shard_of(&mut shards, key).holds(key);
        let seated: ArrayVec<Charge, POLICIES_PER_REQUEST_MAX> = choices
            .iter()
            .map(|&(charge, shared)| {
                let key = match shared {
                    None => charge.key,
                    Some(_) if holds(&charge.key) => charge.key,
                    Some((coarse, _)) if !is_reserve_full || holds(&coarse) => coarse,
                    Some((_, overflow)) => overflow,
                };
                Charge { key, ..charge }
            })
            .collect();
        work(Seats {
            shards: &mut shards,
            charges: &seated,
        })
    }

    /// Locks the shards of `keys`, each once, in the order of their numbers.
    fn lock(&self, keys: impl Iterator<Item = LimitKey>) -> ArrayVec<LockedShard<'_>, LOCKS_MAX> {
        let mut order: ArrayVec<u16, LOCKS_MAX> = keys.map(|key| shard_index(&key)).collect();
        order.sort_unstable();
        let mut shards = ArrayVec::<LockedShard<'_>, LOCKS_MAX>::new();
        for index in order {
            if shards.last().is_none_or(|(last, _)| *last != index) {
                shards.push((index, self.lock_shard(index)));
            }
        }
        shards
    }

    #[allow(clippy::expect_used, reason = "there is a shard for every index")]
    fn lock_shard(&self, index: u16) -> MutexGuard<'_, Shard> {
        let Line(shard) = self
            .shards
            .get(usize::from(index))
            .expect("there is a shard for every index");
        // A shard is whole after a panic elsewhere: a window's changes are made in one step.
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seats<'_, '_> {
    /// Whether any window has no room for one more.
    fn are_any_taken(&mut self, now: Timestamp) -> bool {
        self.charges.iter().any(|charge| {
            let usage = shard_of(self.shards, &charge.key).peek(charge, now);
            usage.counted >= charge.quota.count()
        })
    }

    fn peek(&mut self, now: Timestamp, is_asking: bool, decision: &mut Decision) {
        for charge in self.charges {
            let usage = shard_of(self.shards, &charge.key).peek(charge, now);
            let is_violated = is_asking && usage.counted >= charge.quota.count();
            decision.push(charge.standing(usage, is_violated));
        }
    }
}

/// The locked shard of `key`.
#[allow(
    clippy::expect_used,
    reason = "callers lock the shard of every key they ask for"
)]
fn shard_of<'s>(shards: &'s mut [LockedShard<'_>], key: &LimitKey) -> &'s mut Shard {
    let wanted = shard_index(key);
    shards
        .iter_mut()
        .find(|(index, _)| *index == wanted)
        .map(|(_, shard)| &mut **shard)
        .expect("callers lock the shard of every key they ask for")
}

/// The shard in which all charges count.
fn common_shard(charges: &[Charge]) -> Option<u16> {
    let mut indices = charges.iter().map(|charge| shard_index(&charge.key));
    let first = indices.next()?;
    indices.all(|index| index == first).then_some(first)
}

/// From the first bytes of the hash, which stand after the policy's tag.
pub(super) fn shard_index(key: &LimitKey) -> u16 {
    let [_tag, high, low, ..] = *key.as_bytes();
    u16::from_be_bytes([high, low]) >> (u16::BITS - SHARD_BITS)
}
