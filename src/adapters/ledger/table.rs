//! Where the last event of each identity is, in memory: some 20 bytes an identity, whatever its event takes.
//!
//! A slot holds 40 bits of a hash and a place, so two identities may share what a slot shows of them. Whoever
//! looks a place up has to compare the identity of the event that is there.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashTable;
use parking_lot::RwLock;

use super::record::{Identity, Place};

/// How many parts the table has: one that grows holds up only the look-ups in it.
const SHARDS: usize = 256;

/// The places of identities.
pub(super) struct Table {
    shards: Vec<RwLock<HashTable<Slot>>>,
    /// How many slots they have.
    len: AtomicU64,
    /// Random, so that nobody can choose addresses that all fall into one shard.
    hasher: RandomState,
}

/// 32 bits of a hash, and a place below 2^40, which is 1 TiB.
#[derive(Clone, Copy)]
struct Slot([u8; 9]);

impl Slot {
    fn new(hash: u32, place: Place) -> Self {
        let [a, b, c, d] = hash.to_le_bytes();
        let [e, f, g, h, i, ..] = place.to_le_bytes();
        Self([a, b, c, d, e, f, g, h, i])
    }

    fn hash(&self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_le_bytes([a, b, c, d])
    }

    fn place(&self) -> Place {
        let [_, _, _, _, e, f, g, h, i] = self.0;
        Place::from_le_bytes([e, f, g, h, i, 0, 0, 0])
    }
}

/// What hashbrown takes for a hash: it needs the upper bits, too.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            len: AtomicU64::new(0),
            hasher: RandomState::new(),
        }
    }

    /// The places where the last event of `identity` may be.
    pub(super) fn places(&self, identity: &Identity) -> Vec<Place> {
        let (shard, hash) = self.shard(identity);
        let shard = shard.read();
        let slots = shard.iter_hash(spread(hash));
        slots
            .filter(|slot| slot.hash() == hash)
            .map(Slot::place)
            .collect()
    }

    /// Whether the last event of `identity`, one of whose events is at `place`, is there.
    pub(super) fn has(&self, identity: &Identity, place: Place) -> bool {
        let (shard, hash) = self.shard(identity);
        let shard = shard.read();
        shard
            .find(spread(hash), |slot| slot.place() == place)
            .is_some()
    }

    /// Replaces the place of `identity`; `None` stands for no event.
    pub(super) fn set(&self, identity: &Identity, before: Option<Place>, now: Option<Place>) {
        let (shard, hash) = self.shard(identity);
        let mut shard = shard.write();
        let is_before = |slot: &Slot| Some(slot.place()) == before;
        match (shard.find_entry(spread(hash), is_before), now) {
            (Ok(mut slot), Some(now)) => *slot.get_mut() = Slot::new(hash, now),
            (Ok(slot), None) => {
                slot.remove();
                self.len.fetch_sub(1, Ordering::Relaxed);
            }
            (Err(_none), Some(now)) => {
                let rehash = |slot: &Slot| spread(slot.hash());
                shard.insert_unique(spread(hash), Slot::new(hash, now), rehash);
                self.len.fetch_add(1, Ordering::Relaxed);
            }
            (Err(_none), None) => {}
        }
    }

    /// How many identities have an event.
    pub(super) fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    /// What it takes of memory.
    pub(super) fn bytes(&self) -> u64 {
        let sizes = self
            .shards
            .iter()
            .map(|shard| shard.read().allocation_size() as u64);
        sizes.sum()
    }

    #[expect(clippy::indexing_slicing, reason = "a shard for each byte")]
    fn shard(&self, identity: &Identity) -> (&RwLock<HashTable<Slot>>, u32) {
        let [shard, a, b, c, d, ..] = self.hasher.hash_one(identity).to_le_bytes();
        let hash = u32::from_le_bytes([a, b, c, d]);
        (&self.shards[usize::from(shard)], hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_identity_has_its_last_place_and_no_other() {
        let table = Table::new();
        let identity = |number: u64| Identity::contact(&format!("x{number}@example.com"));
        // Places of all five bytes.
        let place = |number: u64| number * 1_099_511 + 7;
        for number in 0..10_000 {
            table.set(&identity(number), None, Some(place(number)));
        }
        for number in (0..10_000).step_by(2) {
            let moved = (number % 4 == 0).then(|| place(number) + 1);
            table.set(&identity(number), Some(place(number)), moved);
        }
        assert_eq!(table.len(), 7_500);
        for number in 0..10_000 {
            let expected = match number % 4 {
                0 => Some(place(number) + 1),
                2 => None,
                _ => Some(place(number)),
            };
            let found = table.places(&identity(number));
            assert_eq!(
                found.contains(&place(number)),
                expected == Some(place(number))
            );
            assert_eq!(table.has(&identity(number), place(number)), number % 2 == 1);
            assert!(expected.is_none_or(|place| found.contains(&place)));
            // A strange place costs a read: there are next to none.
            assert!(found.len() <= 2, "{found:?}");
        }
        // What is not there is not removed or moved.
        table.set(&identity(1), Some(place(1) + 1), None);
        assert_eq!(table.places(&identity(1)), [place(1)]);
    }
}
