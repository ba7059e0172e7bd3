//! A part of the table: windows, and which of them are newer than what is stored.
//!
//! What holds after every method:
//! - A window that is newer than what the store was given is dirty, and its key is listed.
//! - A window that the store may have some version of is known as stored, so that its removal is
//!   passed on when it leaves.

use crate::domain::client::LimitKey;
use crate::domain::policy::Quota;
use crate::domain::time::Timestamp;
use crate::domain::window::{Admission, Usage, Window};
use crate::ports::Charge;

use super::lot::Changes;
use super::record;
use super::windows::{Entry, Windows};

/// The list of so many dirty windows is kept however few there are.
const DIRTY_KEPT: usize = 64;

#[derive(Default)]
pub(super) struct Shard {
    windows: Windows,
    /// The keys of the dirty windows. One that has left the table may still be listed, and twice if
    /// it came back.
    dirty: Vec<LimitKey>,
}

/// What the requests do.
impl Shard {
    pub(super) fn holds(&self, key: &LimitKey) -> bool {
        self.windows.holds(key)
    }

    pub(super) fn peek(&mut self, charge: &Charge, now: Timestamp) -> Usage {
        match self.windows.get_mut(&charge.key) {
            Some(entry) => entry.window.peek(charge.quota, now),
            None => Window::default().peek(charge.quota, now),
        }
    }

    /// Charges one, and says whether the window is new.
    pub(super) fn admit(
        &mut self,
        charge: &Charge,
        now: Timestamp,
    ) -> Result<(Admission, bool), Usage> {
        let before = self.windows.len();
        // An empty window admits: none is left behind by a refusal.
        let entry = self.windows.get_or_add(charge.key);
        let admission = entry.window.admit(charge.quota, now)?;
        entry.note_change(&mut self.dirty);
        Ok((admission, self.windows.len() > before))
    }

    pub(super) fn refund(&mut self, charge: &Charge, admitted: Timestamp, now: Timestamp) -> Usage {
        let Some(entry) = self.windows.get_mut(&charge.key) else {
            return Window::default().peek(charge.quota, now);
        };
        entry.note_change(&mut self.dirty);
        entry.window.refund(admitted, charge.quota, now)
    }
}

/// What the writer does.
impl Shard {
    /// How many windows there are.
    pub(super) fn count(&self) -> usize {
        self.windows.len()
    }

    /// Puts a window in that the store has just as it is.
    pub(super) fn restore(&mut self, key: LimitKey, window: Window) {
        let entry = self.windows.get_or_add(key);
        entry.window = window;
        entry.is_stored = true;
    }

    /// Forgets what was put in under `key`.
    pub(super) fn forget(&mut self, key: &LimitKey) {
        self.windows.remove(key);
    }

    /// Removes expired windows, and those without a quota, and says how many bytes the others take
    /// when written. The keys of those that the store has are added to `removals`.
    pub(super) fn sweep(
        &mut self,
        quota_of: impl Fn(&LimitKey) -> Option<Quota>,
        now: Timestamp,
        removals: &mut Vec<LimitKey>,
    ) -> u64 {
        let mut live_bytes = 0;
        self.windows.retain(|entry| {
            let Entry { key, window, .. } = entry;
            let is_live = quota_of(key).is_some_and(|quota| {
                if window.newest() > Some(now) {
                    // The clock was set back: marks left in the future would outlive their window.
                    window.peek(quota, now);
                }
                !window.is_expired(quota, now)
            });
            if is_live {
                live_bytes += record::size_estimate(window);
            } else if entry.is_stored {
                removals.push(*key);
            }
            is_live
        });
        // While the store fails nobody takes from the list, and keys that left and came back would
        // lengthen it for ever.
        if self.dirty.len() > self.windows.len() {
            self.dirty.clear();
            let dirty = self.windows.iter().filter(|entry| entry.is_dirty);
            self.dirty.extend(dirty.map(|entry| entry.key));
        }
        // A crowd that has gone, or has been written, gives the memory of its list back.
        if self.dirty.capacity() > DIRTY_KEPT.max(2 * self.windows.len()) {
            self.dirty.shrink_to(self.windows.len());
        }
        live_bytes
    }

    /// How many keys are listed as dirty.
    pub(super) fn dirty_count(&self) -> usize {
        self.dirty.len()
    }

    /// Adds the dirty windows of the first `count` keys listed to `changes`.
    pub(super) fn take_changes(&mut self, count: usize, changes: &mut Changes) {
        let count = count.min(self.dirty.len());
        for key in self.dirty.drain(..count) {
            // Absent or clean if it expired before it was written, and perhaps came back.
            if let Some(entry) = self.windows.get_mut(&key)
                && entry.is_dirty
            {
                entry.take_change(changes);
            }
        }
    }

    /// Adds everything to `changes`, and says how many bytes it takes when written.
    pub(super) fn take_all(&mut self, changes: &mut Changes) -> u64 {
        self.dirty.clear();
        let mut live_bytes = 0;
        for entry in self.windows.iter_mut() {
            live_bytes += record::size_estimate(&entry.window);
            entry.take_change(changes);
        }
        live_bytes
    }
}

impl Entry {
    /// Says that the window is newer than what is stored.
    fn note_change(&mut self, dirty: &mut Vec<LimitKey>) {
        if !self.is_dirty {
            self.is_dirty = true;
            dirty.push(self.key);
        }
    }

    fn take_change(&mut self, changes: &mut Changes) {
        self.is_dirty = false;
        // Refunds may have emptied it.
        self.is_stored = self.window.newest().is_some();
        match self.is_stored {
            true => changes.push_window(&self.key, &self.window),
            false => changes.push(&self.key, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use crate::domain::policy::PolicyName;

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

    fn charge(quota: Quota, number: u8) -> Charge {
        Charge {
            policy: PolicyName::Ip,
            quota,
            key: LimitKey::from_bytes([number; 16]),
            network: None,
        }
    }

    proptest! {
        /// A store that is given what a shard hands out has, after each write, what the shard has.
        #[test]
        fn what_is_handed_out_keeps_a_store_up_to_date(steps in vec(step(), 1..240)) {
            let quota = Quota::new(3, 1000).unwrap();
            let mut shard = Shard::default();
            let mut store: BTreeMap<LimitKey, Vec<u8>> = BTreeMap::new();
            let mut removals = Vec::new();
            let mut now = START;
            for step in steps {
                let mut changes = Changes::default();
                match step {
                    Step::Admit(number) => {
                        let _ = shard.admit(&charge(quota, number), now);
                        continue;
                    }
                    Step::Refund(number) => {
                        shard.refund(&charge(quota, number), now, now);
                        continue;
                    }
                    Step::Sweep => {
                        shard.sweep(|_key| Some(quota), now, &mut removals);
                        prop_assert!(shard.dirty.len() <= shard.count());
                        continue;
                    }
                    Step::Advance(ms) => {
                        now = now.plus_ms(ms);
                        continue;
                    }
                    Step::Write => {
                        for key in removals.drain(..) {
                            changes.push(&key, None);
                        }
                        while shard.dirty_count() > 0 {
                            shard.take_changes(2, &mut changes);
                        }
                    }
                    Step::WriteAll => {
                        removals.clear();
                        store.clear();
                        shard.take_all(&mut changes);
                    }
                }
                changes.for_each(|key, value| {
                    match value {
                        Some(value) => store.insert(key, value.to_vec()),
                        None => store.remove(&key),
                    };
                });
                // What has left since it was written counts no more.
                let marks = |window: &Window| {
                    let mut window = window.clone();
                    window.peek(quota, now);
                    window.marks().collect::<Vec<_>>()
                };
                let stored: BTreeMap<_, _> = store
                    .iter()
                    .map(|(key, bytes)| (*key, marks(&record::decode(bytes).unwrap())))
                    .collect();
                let held: BTreeMap<_, _> = shard
                    .windows
                    .iter()
                    .filter(|entry| entry.window.newest().is_some())
                    .map(|entry| (entry.key, marks(&entry.window)))
                    .collect();
                prop_assert_eq!(stored, held);
            }
        }
    }

    #[test]
    fn a_crowd_that_has_gone_leaves_no_long_list() {
        let quota = Quota::new(3, 1000).unwrap();
        let mut shard = Shard::default();
        for number in 0..=u8::MAX {
            shard.admit(&charge(quota, number), START).unwrap();
        }
        shard.take_all(&mut Changes::default());
        assert!(shard.dirty.capacity() > DIRTY_KEPT);
        let mut removals = Vec::new();
        let now = START.plus_ms(1000);
        shard.sweep(|_key| Some(quota), now, &mut removals);
        assert_eq!((shard.count(), removals.len()), (0, 256));
        assert_eq!(shard.dirty.capacity(), 0);
    }
}
