//! Windows by their keys.
//!
//! A window stands with its key and what the store knows of it in one line of the cache, in a place
//! that the key's hash tells. An entry whose place is taken stands in the next free one behind it
//! (linear probing), and moves up when one before it leaves. A byte for each place says what stands
//! there. These are few enough to stay in a near cache: so a decision on one of a million windows
//! waits for memory about once, although few places are empty.

use arrayvec::ArrayVec;

use crate::domain::client::LimitKey;
use crate::domain::window::Window;

use super::places::{FEW, PAGE_PLACES, Places};
use super::tag::{Tag, next_new};

#[derive(Default)]
pub(super) struct Windows {
    /// So many places belong to a part of the hashes each. Those behind them take what overflows
    /// at the end.
    homes: u32,
    len: u32,
    places: Places,
}

#[repr(align(64))]
pub(super) struct Entry {
    pub(super) key: LimitKey,
    pub(super) window: Window,
    /// The store has some version of it.
    pub(super) is_stored: bool,
}

const _: () = assert!(size_of::<Option<Entry>>() == 64);

/// An entry with the tag of its place.
pub(super) struct Tagged<'a> {
    pub(super) entry: &'a mut Entry,
    pub(super) tag: &'a mut Tag,
}

/// How far somebody has come who goes through all places. Nothing may be removed meanwhile: who
/// stood behind may move up to before it.
#[derive(Clone, Copy, Default)]
pub(super) struct Cursor {
    /// Of this many homes: with any other number, all entries have moved.
    homes: u32,
    position: usize,
}

/// So many are found at once at most.
pub(super) const FOUND_MAX: usize = 8;

/// Positions, in order.
pub(super) type Found = ArrayVec<usize, FOUND_MAX>;

impl Windows {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn holds(&self, key: &LimitKey) -> bool {
        self.locate(key).is_some()
    }

    pub(super) fn get_mut(&mut self, key: &LimitKey) -> Option<Tagged<'_>> {
        let position = self.locate(key)?;
        Some(self.tagged(position))
    }

    /// The entry of `key`, an empty one if there was none.
    pub(super) fn get_or_add(&mut self, key: LimitKey) -> Tagged<'_> {
        let position = self.locate(&key).unwrap_or_else(|| self.add(key));
        self.tagged(position)
    }

    pub(super) fn remove(&mut self, key: &LimitKey) {
        let Some(mut position) = self.locate(key) else {
            return;
        };
        self.take(position);
        position += 1;
        // Nobody behind may be cut off from its home.
        while self.is_taken(position) {
            self.move_up(position);
            position += 1;
        }
    }

    /// Removes the entries that `keep` does not want.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut Entry) -> bool) {
        // Whether one has left its place in this row: those behind it may be cut off from their
        // homes.
        let mut is_torn = false;
        for position in 0..self.places.count() {
            let (_, Some(entry)) = self.places.place_mut(position) else {
                is_torn = false;
                continue;
            };
            if !keep(entry) {
                self.take(position);
                is_torn = true;
            } else if is_torn {
                self.move_up(position);
            }
        }
        // A crowd that has gone gives its memory back.
        if self.len == 0 {
            *self = Self::default();
        } else if self.homes > FEW_HOMES && self.len < self.homes / 8 {
            self.resize(homes_for(self.len));
        }
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = Tagged<'_>> {
        self.places.iter_mut()
    }

    /// Where the next new windows behind `cursor` stand, at most `count` and [`FOUND_MAX`], and where
    /// to go on; nothing when all places have been seen. Those that come meanwhile may be left for
    /// another time, but none is that was there at the start.
    pub(super) fn find_new(&self, cursor: Cursor, count: usize) -> (Found, Option<Cursor>) {
        let mut found = Found::new();
        let mut position = match cursor.homes == self.homes {
            true => cursor.position,
            false => 0,
        };
        for _ in 0..count.min(FOUND_MAX) {
            let ahead = self.places.tags().get(position..);
            let Some(skipped) = ahead.and_then(next_new) else {
                return (found, None);
            };
            position += skipped;
            found.push(position);
            position += 1;
        }
        let homes = self.homes;
        (found, Some(Cursor { homes, position }))
    }

    pub(super) fn entry(&self, position: usize) -> Option<&Entry> {
        self.places.entry(position)
    }

    /// Where `key` stands.
    fn locate(&self, key: &LimitKey) -> Option<usize> {
        let home = self.home(key);
        let wanted = Tag::of(key);
        for (offset, tag) in self.places.tags().get(home..)?.iter().enumerate() {
            if tag.is_free() {
                return None;
            }
            let position = home + offset;
            if tag.may_be(wanted) && self.stands_at(position, key) {
                return Some(position);
            }
        }
        None
    }

    /// Adds an empty window for `key`, which has none.
    #[cold]
    fn add(&mut self, key: LimitKey) -> usize {
        if self.len >= most_in(self.homes) {
            self.resize(homes_for(self.len + 1));
        }
        let entry = Entry {
            key,
            window: Window::default(),
            is_stored: false,
        };
        self.put(Tag::of(&key), entry)
    }

    fn resize(&mut self, homes: u32) {
        let len = std::mem::take(&mut self.len);
        self.homes = homes;
        for (tag, entry) in self.places.clear(len as usize, homes as usize) {
            self.put(tag, entry);
        }
    }

    /// Moves an entry as near to its home as those before it allow.
    fn move_up(&mut self, position: usize) {
        if let Some((tag, entry)) = self.take(position) {
            self.put(tag, entry);
        }
    }

    fn take(&mut self, position: usize) -> Option<(Tag, Entry)> {
        let (tag, place) = self.places.place_mut(position);
        let entry = place.take()?;
        let tag = std::mem::replace(tag, Tag::FREE);
        self.len -= 1;
        Some((tag, entry))
    }

    /// Puts an entry into the first free place for it, and says which.
    fn put(&mut self, tag: Tag, entry: Entry) -> usize {
        let home = self.home(&entry.key);
        let tags = self.places.tags();
        let mut row = tags.iter().skip(home);
        let position = match row.position(|tag| tag.is_free()) {
            Some(offset) => home + offset,
            None => {
                let full = tags.len();
                self.places.extend();
                full
            }
        };
        let place = self.places.place_mut(position);
        (*place.0, *place.1) = (tag, Some(entry));
        self.len += 1;
        position
    }

    fn is_taken(&self, position: usize) -> bool {
        let tag = self.places.tags().get(position);
        tag.is_some_and(|tag| !tag.is_free())
    }

    fn stands_at(&self, position: usize, key: &LimitKey) -> bool {
        let entry = self.entry(position);
        entry.is_some_and(|entry| entry.key == *key)
    }

    #[allow(clippy::expect_used, reason = "callers know who stands there")]
    pub(super) fn tagged(&mut self, position: usize) -> Tagged<'_> {
        let (tag, place) = self.places.place_mut(position);
        let entry = place.as_mut().expect("callers know who stands there");
        Tagged { entry, tag }
    }

    /// The first place that `key` may have.
    fn home(&self, key: &LimitKey) -> usize {
        let [.., a, b, c, d] = *key.as_bytes();
        // The policy is mixed in, as one network has the same hash under each.
        let [policy, ..] = *key.as_bytes();
        let hash = u32::from_le_bytes([a, b, c, d]) ^ u32::from(policy).wrapping_mul(0x9e37_79b9);
        ((u64::from(hash) * u64::from(self.homes)) >> u32::BITS) as usize
    }
}

/// With places to spare behind them: the fewest that are kept for any window.
const FEW_HOMES: u32 = 14;
const _: () = assert!(FEW_HOMES as usize + 2 == FEW);

const PAGE_HOMES: u32 = 32;
const _: () = assert!(PAGE_HOMES as usize == PAGE_PLACES);

/// What overflows at the end mostly finds room in so many.
const SPARE: u32 = 4;

/// Seven in eight: beyond that the ways from home become long.
fn most_in(homes: u32) -> u32 {
    homes - homes.div_ceil(8)
}

/// Enough for `len` entries and a sixteenth more, in whole pages, and never few: a handful of windows
/// that come and go cause no resizing.
fn homes_for(len: u32) -> u32 {
    if len <= most_in(FEW_HOMES) {
        return FEW_HOMES;
    }
    let enough = (len + len / 16).div_ceil(7) * 8;
    (enough + SPARE).next_multiple_of(PAGE_HOMES) - SPARE
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use crate::domain::time::Timestamp;
    use crate::domain::window::Mark;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Set(LimitKey),
        Remove(LimitKey),
        RetainBelow(u64),
    }

    /// Few keys, most of which have the first or the last place as their home, so that they crowd,
    /// and many of which have the same tag.
    fn key() -> impl Strategy<Value = LimitKey> {
        let home = prop_oneof![2 => Just(0), 2 => Just(0xff), 1 => any::<u8>()];
        (0_u8..40, home).prop_map(|(number, home)| {
            let mut bytes = [number; 16];
            bytes[0] = 0;
            bytes[11] %= 5;
            bytes[12..].fill(home);
            LimitKey::from_bytes(bytes)
        })
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            20 => key().prop_map(Step::Set),
            8 => key().prop_map(Step::Remove),
            1 => (0_u64..400).prop_map(Step::RetainBelow),
        ]
    }

    fn window(ms: u64) -> Window {
        Window::from_marks([Mark {
            newest: Timestamp::from_ms(ms),
            count: 1,
        }])
    }

    proptest! {
        #[test]
        fn windows_are_found_as_in_any_map(steps in vec(step(), 0..400)) {
            let mut windows = Windows::default();
            let mut map: BTreeMap<LimitKey, u64> = BTreeMap::new();
            for (number, step) in (0_u64..).zip(steps) {
                match step {
                    Step::Set(key) => {
                        windows.get_or_add(key).entry.window = window(number);
                        map.insert(key, number);
                    }
                    Step::Remove(key) => {
                        windows.remove(&key);
                        map.remove(&key);
                    }
                    Step::RetainBelow(limit) => {
                        let limit_at = Timestamp::from_ms(limit);
                        let mut seen = 0;
                        windows.retain(|entry| {
                            seen += 1;
                            entry.window.newest() < Some(limit_at)
                        });
                        prop_assert_eq!(seen, map.len(), "each is looked at once");
                        map.retain(|_, number| *number < limit);
                    }
                }
                prop_assert_eq!(windows.len(), map.len());
                prop_assert_eq!(windows.iter_mut().count(), map.len());
                for (key, number) in &map {
                    prop_assert!(windows.holds(key));
                    let entry = windows.get_mut(key);
                    prop_assert_eq!(&entry.unwrap().entry.window, &window(*number));
                }
            }
        }
    }

    #[test]
    fn a_crowd_that_has_gone_gives_its_memory_back() {
        let mut windows = Windows::default();
        let key = |number: u32| {
            let number = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
            LimitKey::from_bytes([number; 4].concat().try_into().unwrap())
        };
        for number in 0..10_000 {
            windows.get_or_add(key(number));
        }
        let crowded = windows.places.tags().len();
        assert!((10_000..13_000).contains(&crowded), "{crowded}");
        windows.retain(|entry| entry.key == key(77));
        assert_eq!(windows.len(), 1);
        assert!(windows.holds(&key(77)));
        assert_eq!(windows.places.tags().len(), FEW);
        windows.retain(|_| false);
        assert_eq!(windows.len(), 0);
        assert!(windows.places.is_nothing());
        // And another may come.
        windows.get_or_add(key(5));
        assert!(windows.holds(&key(5)));
    }

    #[test]
    fn a_handful_that_comes_and_goes_stays_where_it_is() {
        let mut windows = Windows::default();
        let key = |number: u8| LimitKey::from_bytes([number.wrapping_mul(157); 16]);
        windows.get_or_add(key(0));
        let first_homes = windows.homes;
        let all_that_are_few = u8::try_from(most_in(FEW_HOMES)).unwrap();
        for number in 1..all_that_are_few {
            windows.get_or_add(key(number));
        }
        windows.retain(|entry| entry.key == key(0));
        assert_eq!(
            (windows.homes, windows.places.tags().len()),
            (first_homes, FEW)
        );
    }
}
