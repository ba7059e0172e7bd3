//! A part of the table: windows by key, and which of them must be stored again.
//!
//! Invariant: the key of a window that differs from its stored version is in `dirty`, or everything
//! will be written again. That includes windows that were removed.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::domain::{Admitted, LimitKey, PolicyName, Quota, Timestamp, Usage, Window};
use crate::ports::{BusyWindow, WindowSet};

use super::persistence::{Change, stored_bytes};

#[derive(Default)]
pub(super) struct Shard {
    windows: HashMap<LimitKey, Window, BuildHasherDefault<KeyHasher>>,
    dirty: HashSet<LimitKey, BuildHasherDefault<KeyHasher>>,
}

/// Uses the last 8 bytes of a key as its hash: keys are keyed hashes already.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, key: &[u8]) {
        if let Some(last) = key.last_chunk() {
            self.0 = u64::from_le_bytes(*last);
        }
    }

    /// The length of the key.
    fn write_usize(&mut self, _length: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

/// For requests.
impl Shard {
    pub(super) fn contains(&self, key: &LimitKey) -> bool {
        self.windows.contains_key(key)
    }

    pub(super) fn peek(&mut self, key: &LimitKey, quota: Quota, now: Timestamp) -> Usage {
        match self.windows.get_mut(key) {
            Some(window) => window.peek(quota, now),
            None => Window::default().peek(quota, now),
        }
    }

    pub(super) fn has_room(&mut self, key: &LimitKey, quota: Quota, now: Timestamp) -> bool {
        let window = self.windows.get_mut(key);
        window.is_none_or(|window| window.has_room(quota, now))
    }

    pub(super) fn admit(
        &mut self,
        key: LimitKey,
        quota: Quota,
        now: Timestamp,
    ) -> Result<Admitted, Usage> {
        // A refusal leaves no empty window behind: an empty one admits.
        let admitted = self.windows.entry(key).or_default().admit(quota, now)?;
        self.dirty.insert(key);
        Ok(admitted)
    }

    pub(super) fn refund(
        &mut self,
        key: LimitKey,
        admitted: Timestamp,
        quota: Quota,
        now: Timestamp,
    ) -> Usage {
        let Some(window) = self.windows.get_mut(&key) else {
            return Window::default().peek(quota, now);
        };
        self.dirty.insert(key);
        window.refund(admitted, quota, now)
    }
}

/// For the operator.
impl Shard {
    /// The windows of `policy` that count something.
    pub(super) fn counting(
        &mut self,
        policy: PolicyName,
        quota: Quota,
        now: Timestamp,
    ) -> Vec<BusyWindow> {
        let of_policy = self.windows.iter_mut();
        let of_policy = of_policy.filter(|(key, _)| key.policy() == Some(policy));
        let windows = of_policy.map(|(key, window)| BusyWindow {
            key: *key,
            usage: window.peek(quota, now),
        });
        windows.filter(|it| it.usage.counted > 0).collect()
    }

    /// Removes the windows that `which` names, and returns how many they were.
    pub(super) fn reset(&mut self, which: &WindowSet) -> usize {
        let before = self.windows.len();
        self.windows.retain(|key, _| {
            let is_kept = !which.contains(key);
            if !is_kept {
                self.dirty.insert(*key);
            }
            is_kept
        });
        before - self.windows.len()
    }
}

/// For the writer.
impl Shard {
    pub(super) fn len(&self) -> usize {
        self.windows.len()
    }

    /// Adds a window that the store contains; none if it is not live, so that the store forgets it.
    pub(super) fn restore(&mut self, key: LimitKey, window: Option<Window>) {
        match window {
            Some(window) => drop(self.windows.insert(key, window)),
            None => drop(self.dirty.insert(key)),
        }
    }

    /// Removes windows that have expired or whose policy is off. Returns the stored size of the
    /// others in bytes.
    pub(super) fn sweep(
        &mut self,
        quota_of: impl Fn(&LimitKey) -> Option<Quota>,
        now: Timestamp,
    ) -> u64 {
        let mut live_bytes = 0;
        self.windows.retain(|key, window| {
            let is_live = quota_of(key).is_some_and(|quota| {
                // Clamps what a clock that was set back left in the future: it would never expire.
                window.peek(quota, now);
                !window.is_expired(quota, now)
            });
            if is_live {
                live_bytes += stored_bytes(window);
            } else {
                self.dirty.insert(*key);
            }
            is_live
        });
        if self.windows.len() < self.windows.capacity() / 4 {
            self.windows.shrink_to(2 * self.windows.len());
        }
        live_bytes
    }

    /// Empties the set of dirty keys. The caller passes them to [`Shard::changes`], or writes
    /// everything again.
    pub(super) fn take_dirty(&mut self) -> Vec<LimitKey> {
        std::mem::take(&mut self.dirty).into_iter().collect()
    }

    /// Adds the current versions of the windows of `keys` to `changes`.
    pub(super) fn changes(&self, keys: &[LimitKey], changes: &mut Vec<Change>) {
        changes.extend(keys.iter().map(|key| {
            let window = self.windows.get(key).filter(|window| !is_empty(window));
            (*key, window.cloned())
        }));
    }

    /// All windows.
    pub(super) fn all(&mut self) -> Vec<Change> {
        self.dirty = HashSet::default();
        let windows = self.windows.iter().filter(|(_, window)| !is_empty(window));
        windows
            .map(|(key, window)| (*key, Some(window.clone())))
            .collect()
    }
}

/// Whether refunds have emptied the window.
fn is_empty(window: &Window) -> bool {
    window.buckets().is_empty()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const START: Timestamp = Timestamp::from_ms(1_000_000);

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Admit(u8),
        Refund(u8),
        Sweep,
        Write,
        WriteAll,
        Advance(u64),
    }

    /// Many keys, a few of which come often enough to be refused.
    fn key() -> impl Strategy<Value = u8> {
        prop_oneof![0_u8..4, 0_u8..40]
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            12 => key().prop_map(Step::Admit),
            4 => key().prop_map(Step::Refund),
            2 => Just(Step::Sweep),
            2 => Just(Step::Write),
            1 => Just(Step::WriteAll),
            2 => (0_u64..700).prop_map(Step::Advance),
        ]
    }

    proptest! {
        /// A store that applies the changes of a shard contains, after each write, what the shard
        /// contains.
        #[test]
        fn the_changes_keep_a_store_up_to_date(steps in vec(step(), 1..240)) {
            let quota = Quota::new(3, 1000).unwrap();
            let key = |number: u8| LimitKey::from_bytes([number; 16]);
            let mut shard = Shard::default();
            let mut store: BTreeMap<LimitKey, Window> = BTreeMap::new();
            let mut now = START;
            for step in steps {
                let mut changes = Vec::new();
                match step {
                    Step::Admit(number) => {
                        let _ = shard.admit(key(number), quota, now);
                        continue;
                    }
                    Step::Refund(number) => {
                        shard.refund(key(number), now, quota, now);
                        continue;
                    }
                    Step::Sweep => {
                        shard.sweep(|_key| Some(quota), now);
                        continue;
                    }
                    Step::Advance(ms) => {
                        now = now.plus_ms(ms);
                        continue;
                    }
                    Step::Write => {
                        let dirty = shard.take_dirty();
                        for keys in dirty.chunks(2) {
                            shard.changes(keys, &mut changes);
                        }
                    }
                    Step::WriteAll => {
                        store.clear();
                        changes = shard.all();
                    }
                }
                for (key, window) in changes {
                    match window {
                        Some(window) => store.insert(key, window),
                        None => store.remove(&key),
                    };
                }
                // What has expired since it was written does not count.
                let current = |window: &Window| {
                    let mut window = window.clone();
                    window.peek(quota, now);
                    window.buckets().to_vec()
                };
                let stored: BTreeMap<_, _> = store
                    .iter()
                    .map(|(key, window)| (*key, current(window)))
                    .collect();
                let held: BTreeMap<_, _> = shard
                    .windows
                    .iter()
                    .filter(|(_, window)| !is_empty(window))
                    .map(|(key, window)| (*key, current(window)))
                    .collect();
                prop_assert_eq!(stored, held);
            }
        }
    }

    #[test]
    fn the_memory_of_expired_windows_is_given_back() {
        let quota = Quota::new(3, 1000).unwrap();
        let mut shard = Shard::default();
        for number in 0..10_000_u128 {
            let key = LimitKey::from_bytes(number.to_be_bytes());
            shard.admit(key, quota, START).unwrap();
        }
        shard.take_dirty();
        shard.sweep(|_key| Some(quota), START.plus_ms(1000));
        assert_eq!(shard.windows.capacity(), 0);
        assert_eq!(shard.take_dirty().len(), 10_000);
    }
}
