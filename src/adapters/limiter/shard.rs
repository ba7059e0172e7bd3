//! A part of the table: windows, and which of them are newer than what is stored.
//!
//! What holds after every method:
//! - A window that is newer than what the store was given is dirty, and its key is listed, or has
//!   been handed to the writer, who comes back for it.
//! - A window that the store may have some version of is known as stored, so that its removal is
//!   passed on when it leaves.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::domain::client::LimitKey;
use crate::domain::policy::Quota;
use crate::domain::time::Timestamp;
use crate::domain::window::{Admission, Usage, Window};
use crate::ports::Charge;

use super::persistence::Change;
use super::record;

#[derive(Default)]
pub(super) struct Shard {
    windows: HashMap<LimitKey, Entry, BuildHasherDefault<KeyHasher>>,
    /// The keys whose windows are newer than what is stored. A key that has left the table may
    /// still be listed.
    dirty: Vec<LimitKey>,
}

#[derive(Default)]
struct Entry {
    window: Window,
    /// Listed in its shard's `dirty`.
    is_dirty: bool,
    /// The store has some version of it.
    is_stored: bool,
}

/// What the requests do.
impl Shard {
    pub(super) fn holds(&self, key: &LimitKey) -> bool {
        self.windows.contains_key(key)
    }

    pub(super) fn peek(&mut self, charge: &Charge, key: &LimitKey, now: Timestamp) -> Usage {
        match self.windows.get_mut(key) {
            Some(Entry { window, .. }) => window.peek(charge.quota, now),
            None => Window::default().peek(charge.quota, now),
        }
    }

    /// Charges one, and says whether the window is new.
    pub(super) fn admit(
        &mut self,
        charge: &Charge,
        key: LimitKey,
        now: Timestamp,
    ) -> Result<(Admission, bool), Usage> {
        let before = self.windows.len();
        // An empty window admits: none is left behind by a refusal.
        let entry = self.windows.entry(key).or_default();
        let admission = entry.window.admit(charge.quota, now)?;
        entry.note_change(key, &mut self.dirty);
        Ok((admission, self.windows.len() > before))
    }

    pub(super) fn refund(&mut self, charge: &Charge, admitted: Timestamp, now: Timestamp) -> Usage {
        let Some(entry) = self.windows.get_mut(&charge.key) else {
            return Window::default().peek(charge.quota, now);
        };
        entry.note_change(charge.key, &mut self.dirty);
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
        let entry = Entry {
            window,
            is_dirty: false,
            is_stored: true,
        };
        self.windows.insert(key, entry);
    }

    /// Forgets what was put in under `key`.
    pub(super) fn forget(&mut self, key: &LimitKey) {
        self.windows.remove(key);
    }

    /// Forgets everything, for a store that is forgotten too.
    pub(super) fn clear(&mut self) {
        self.windows.clear();
        self.dirty.clear();
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
        let dirty = &mut self.dirty;
        self.windows.retain(|key, entry| {
            let is_live = quota_of(key).is_some_and(|quota| {
                if entry.window.newest() > Some(now) {
                    // The clock was set back: marks left in the future would outlive their window.
                    entry.window.peek(quota, now);
                }
                !entry.window.is_expired(quota, now)
            });
            if is_live {
                live_bytes += record::size_estimate(&entry.window);
            } else if entry.is_stored {
                removals.push(*key);
            }
            is_live
        });
        // While the store fails nobody takes the list, and keys that left and came back would
        // lengthen it for ever.
        if dirty.len() > self.windows.len() {
            dirty.clear();
            let listed = self.windows.iter().filter(|(_, entry)| entry.is_dirty);
            dirty.extend(listed.map(|(key, _)| *key));
            dirty.shrink_to_fit();
        }
        // A crowd that has gone gives its memory back.
        if self.windows.len() < self.windows.capacity() / 8 {
            self.windows.shrink_to_fit();
        }
        live_bytes
    }

    /// Takes the list of what is new. Whoever has it must come back for all of it with
    /// [`Shard::take_changes`], or for everything with [`Shard::take_all`].
    pub(super) fn take_dirty(&mut self) -> Vec<LimitKey> {
        std::mem::take(&mut self.dirty)
    }

    /// Adds what is new of `keys` to `changes`.
    pub(super) fn take_changes(&mut self, keys: &[LimitKey], changes: &mut Vec<Change>) {
        for key in keys {
            // Absent or clean if it expired before it was written, and perhaps came back.
            if let Some(entry) = self.windows.get_mut(key)
                && entry.is_dirty
            {
                changes.push((*key, entry.take_change()));
            }
        }
    }

    /// Adds everything to `changes`, and says how many bytes it takes when written.
    pub(super) fn take_all(&mut self, changes: &mut Vec<Change>) -> u64 {
        self.dirty = Vec::new();
        let mut live_bytes = 0;
        for (key, entry) in &mut self.windows {
            live_bytes += record::size_estimate(&entry.window);
            changes.push((*key, entry.take_change()));
        }
        live_bytes
    }
}

impl Entry {
    /// Says that the window, which is that of `key`, is newer than what is stored.
    fn note_change(&mut self, key: LimitKey, dirty: &mut Vec<LimitKey>) {
        if !self.is_dirty {
            self.is_dirty = true;
            dirty.push(key);
        }
    }

    fn take_change(&mut self) -> Option<Vec<u8>> {
        self.is_dirty = false;
        // Refunds may have emptied it.
        self.is_stored = self.window.newest().is_some();
        self.is_stored.then(|| record::encode(&self.window))
    }
}

/// Takes the last eight bytes of a limiter key as its hash: they come from keyed BLAKE3, so nobody
/// can choose them. The tag is mixed in, as one network has the same hash under every policy.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        if let (Some(tag), Some(hash)) = (bytes.first(), bytes.last_chunk()) {
            let spread = u64::from(*tag).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.0 = u64::from_le_bytes(*hash) ^ spread;
        }
    }

    /// The length that is written before the bytes; it is always the same.
    fn write_usize(&mut self, _length: usize) {}

    fn finish(&self) -> u64 {
        self.0
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

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0_u8..4).prop_map(Step::Admit),
            2 => (0_u8..4).prop_map(Step::Refund),
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
        fn what_is_handed_out_keeps_a_store_up_to_date(steps in vec(step(), 1..120)) {
            let quota = Quota::new(3, 1000).unwrap();
            let mut shard = Shard::default();
            let mut store: BTreeMap<LimitKey, Vec<u8>> = BTreeMap::new();
            let mut removals = Vec::new();
            let mut now = START;
            for step in steps {
                let mut changes = Vec::new();
                match step {
                    Step::Admit(number) => {
                        let charge = charge(quota, number);
                        let _ = shard.admit(&charge, charge.key, now);
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
                        changes.extend(removals.drain(..).map(|key| (key, None)));
                        let keys = shard.take_dirty();
                        shard.take_changes(&keys, &mut changes);
                    }
                    Step::WriteAll => {
                        removals.clear();
                        store.clear();
                        shard.take_all(&mut changes);
                    }
                }
                for (key, value) in changes {
                    match value {
                        Some(value) => store.insert(key, value),
                        None => store.remove(&key),
                    };
                }
                let newest = |bytes: &Vec<u8>| record::decode(bytes).unwrap().newest();
                let stored: BTreeMap<_, _> =
                    store.iter().map(|(key, bytes)| (*key, newest(bytes))).collect();
                let held: BTreeMap<_, _> = shard
                    .windows
                    .iter()
                    .map(|(key, entry)| (*key, entry.window.newest()))
                    .filter(|(_, newest)| newest.is_some())
                    .collect();
                prop_assert_eq!(stored, held);
            }
        }
    }
}
