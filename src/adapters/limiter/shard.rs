//! A part of the table: windows, and which of them are newer than what is stored.
//!
//! What holds after every method:
//! - A window that is newer than what the store was given is marked as new.
//! - A window that the store may have some version of is known as stored, so that its removal is
//!   passed on when it leaves.

use crate::domain::client::LimitKey;
use crate::domain::policy::Quota;
use crate::domain::time::Timestamp;
use crate::domain::window::{Admission, Usage, Window};
use crate::ports::Charge;

use super::lot::Changes;
use super::record;
use super::windows::{Cursor, Entry, Tagged, Windows};

#[derive(Default)]
pub(super) struct Shard {
    windows: Windows,
}

/// What the requests do.
impl Shard {
    pub(super) fn holds(&self, key: &LimitKey) -> bool {
        self.windows.holds(key)
    }

    pub(super) fn peek(&mut self, charge: &Charge, now: Timestamp) -> Usage {
        match self.windows.get_mut(&charge.key) {
            Some(found) => found.entry.window.peek(charge.quota, now),
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
        let found = self.windows.get_or_add(charge.key);
        let admission = found.entry.window.admit(charge.quota, now)?;
        found.tag.set_new(true);
        Ok((admission, self.windows.len() > before))
    }

    pub(super) fn refund(&mut self, charge: &Charge, admitted: Timestamp, now: Timestamp) -> Usage {
        let Some(found) = self.windows.get_mut(&charge.key) else {
            return Window::default().peek(charge.quota, now);
        };
        found.tag.set_new(true);
        found.entry.window.refund(admitted, charge.quota, now)
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
        let Tagged { entry, .. } = self.windows.get_or_add(key);
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
                live_bytes += record::size_estimate(window) as u64;
            } else if entry.is_stored {
                removals.push(*key);
            }
            is_live
        });
        live_bytes
    }

    /// Adds the next new windows behind `cursor`, at most so many, to `changes`. Says where to go
    /// on; nothing when every window has been added that was new at the start.
    pub(super) fn take_changes(
        &mut self,
        cursor: Cursor,
        count: usize,
        changes: &mut Changes,
    ) -> Option<Cursor> {
        let (found, next) = self.windows.find_new(cursor, count);
        // To look at all of them before the first is taken lets the waits for memory overlap.
        let entries = found.iter().filter_map(|at| self.windows.entry(*at));
        let bytes = entries.map(|entry| record::size_estimate(&entry.window));
        changes.reserve(bytes.sum());
        for position in found {
            self.windows.tagged(position).take_change(changes);
        }
        next
    }

    /// Adds everything to `changes`, and says how many bytes it takes when written.
    pub(super) fn take_all(&mut self, changes: &mut Changes) -> u64 {
        let mut live_bytes = 0;
        for found in self.windows.iter_mut() {
            live_bytes += record::size_estimate(&found.entry.window) as u64;
            found.take_change(changes);
        }
        live_bytes
    }
}

impl Tagged<'_> {
    fn take_change(self, changes: &mut Changes) {
        self.tag.set_new(false);
        let Entry {
            key,
            window,
            is_stored,
        } = self.entry;
        // Refunds may have emptied it.
        *is_stored = window.newest().is_some();
        match is_stored {
            true => changes.push_window(key, window),
            false => changes.push(key, None),
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

    /// As the writer takes them, but fewer at once.
    fn take_all_new(shard: &mut Shard, changes: &mut Changes) {
        let mut cursor = Some(Cursor::default());
        while let Some(at) = cursor {
            cursor = shard.take_changes(at, 2, changes);
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
                        take_all_new(&mut shard, &mut changes);
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
                    .iter_mut()
                    .filter(|found| found.entry.window.newest().is_some())
                    .map(|found| (found.entry.key, marks(&found.entry.window)))
                    .collect();
                prop_assert_eq!(stored, held);
            }
        }
    }

    #[test]
    fn none_is_missed_when_the_shard_grows_while_they_are_taken() {
        let quota = Quota::new(3, 1000).unwrap();
        let admit = |shard: &mut Shard, number| {
            shard.admit(&charge(quota, number), START).unwrap();
        };
        for taken_before in 0..10 {
            let mut shard = Shard::default();
            (0..20).for_each(|number| admit(&mut shard, number));
            let mut changes = Changes::default();
            let mut cursor = Cursor::default();
            for _ in 0..taken_before {
                cursor = shard.take_changes(cursor, 2, &mut changes).unwrap();
            }
            (20..200).for_each(|number| admit(&mut shard, number));
            let mut cursor = Some(cursor);
            while let Some(at) = cursor {
                cursor = shard.take_changes(at, 2, &mut changes);
            }
            let mut taken = Vec::new();
            changes.for_each(|key, _| taken.push(key));
            taken.sort_unstable();
            let all: Vec<_> = (0..200).map(|number| charge(quota, number).key).collect();
            assert_eq!(taken, all, "each once, after {taken_before}");
            changes.clear();
            take_all_new(&mut shard, &mut changes);
            assert!(changes.is_empty(), "after {taken_before}");
        }
    }
}
