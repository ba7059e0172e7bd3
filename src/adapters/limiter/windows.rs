//! Windows by their keys.
//!
//! A window stands with its key and what the store knows of it in one line of the cache, and a
//! key's hash tells where: a decision on one of a million waits for memory about once. An entry
//! whose place is taken stands in the next free one behind it (linear probing), and moves up when
//! one before it leaves. Places come in pages of one size, any number of them, so that few places
//! are empty and growing leaves no holes in memory.

use crate::domain::client::LimitKey;
use crate::domain::window::Window;

#[derive(Default)]
pub(super) struct Windows {
    /// So many places belong to a part of the hashes each. Those behind them take what overflows
    /// at the end.
    homes: u32,
    pages: Vec<Page>,
    len: usize,
}

#[repr(align(64))]
pub(super) struct Entry {
    pub(super) key: LimitKey,
    pub(super) window: Window,
    /// Listed as newer than what is stored.
    pub(super) is_dirty: bool,
    /// The store has some version of it.
    pub(super) is_stored: bool,
}

const _: () = assert!(size_of::<Option<Entry>>() == 64);

const PAGE_PLACES: usize = 32;

type Page = Box<[Option<Entry>; PAGE_PLACES]>;

impl Windows {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn holds(&self, key: &LimitKey) -> bool {
        self.locate(key).is_ok()
    }

    pub(super) fn get_mut(&mut self, key: &LimitKey) -> Option<&mut Entry> {
        let position = self.locate(key).ok()?;
        self.place_mut(position).as_mut()
    }

    /// The entry of `key`, an empty one if there was none.
    pub(super) fn get_or_add(&mut self, key: LimitKey) -> &mut Entry {
        let position = self.locate(&key).unwrap_or_else(|_| self.make_room(&key));
        self.place_mut(position).get_or_insert_with(|| Entry {
            key,
            window: Window::default(),
            is_dirty: false,
            is_stored: false,
        })
    }

    pub(super) fn remove(&mut self, key: &LimitKey) {
        let Ok(mut position) = self.locate(key) else {
            return;
        };
        *self.place_mut(position) = None;
        self.len -= 1;
        position += 1;
        // Nobody behind may be cut off from its home.
        while let Some(Some(_)) = self.place(position) {
            self.move_up(position);
            position += 1;
        }
    }

    /// Removes the entries that `keep` does not want.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut Entry) -> bool) {
        // Whether one has left its place in this row: those behind it may be cut off from their
        // homes.
        let mut is_torn = false;
        for position in 0..self.pages.len() * PAGE_PLACES {
            let place = self.place_mut(position);
            let Some(entry) = place else {
                is_torn = false;
                continue;
            };
            if !keep(entry) {
                *place = None;
                self.len -= 1;
                is_torn = true;
            } else if is_torn {
                self.move_up(position);
            }
        }
        // A crowd that has gone gives its memory back.
        if self.len == 0 {
            *self = Self::default();
        } else if self.homes > HOMES_MIN && self.len < self.homes as usize / 8 {
            self.resize(homes_for(self.len));
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.pages.iter().flat_map(|page| page.iter()).flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        let places = self.pages.iter_mut().flat_map(|page| page.iter_mut());
        places.flatten()
    }

    /// Where `key` stands, or where it would.
    fn locate(&self, key: &LimitKey) -> Result<usize, usize> {
        let mut position = self.home(key);
        while let Some(Some(entry)) = self.place(position) {
            if entry.key == *key {
                return Ok(position);
            }
            position += 1;
        }
        Err(position)
    }

    /// A free place for `key`, which has none and gets this one.
    #[cold]
    fn make_room(&mut self, key: &LimitKey) -> usize {
        if self.len >= most_in(self.homes) {
            self.resize(homes_for(self.len + 1));
        }
        self.len += 1;
        self.free_place(key)
    }

    fn resize(&mut self, homes: u32) {
        let mut entries = Vec::with_capacity(self.len);
        let places = self.pages.iter_mut().flat_map(|page| page.iter_mut());
        entries.extend(places.filter_map(Option::take));
        self.homes = homes;
        self.pages
            .resize_with((homes as usize).div_ceil(PAGE_PLACES), empty_page);
        for entry in entries {
            self.put(entry);
        }
    }

    /// Moves an entry as near to its home as those before it allow.
    fn move_up(&mut self, position: usize) {
        if let Some(entry) = self.place_mut(position).take() {
            self.put(entry);
        }
    }

    fn put(&mut self, entry: Entry) {
        let position = self.free_place(&entry.key);
        *self.place_mut(position) = Some(entry);
    }

    /// The first free place for `key`, which has none.
    fn free_place(&mut self, key: &LimitKey) -> usize {
        let (Ok(position) | Err(position)) = self.locate(key);
        if self.place(position).is_none() {
            self.pages.push(empty_page());
        }
        position
    }

    fn place(&self, position: usize) -> Option<&Option<Entry>> {
        self.pages
            .get(position / PAGE_PLACES)?
            .get(position % PAGE_PLACES)
    }

    #[allow(
        clippy::expect_used,
        reason = "callers know that there is such a place"
    )]
    fn place_mut(&mut self, position: usize) -> &mut Option<Entry> {
        let page = self.pages.get_mut(position / PAGE_PLACES);
        page.and_then(|page| page.get_mut(position % PAGE_PLACES))
            .expect("callers know that there is such a place")
    }

    /// The first place that `key` may have.
    fn home(&self, key: &LimitKey) -> usize {
        let [.., a, b, c, d] = *key.as_bytes();
        // The tag is mixed in, as one network has the same hash under every policy.
        let [tag, ..] = *key.as_bytes();
        let hash = u32::from_le_bytes([a, b, c, d]) ^ u32::from(tag).wrapping_mul(0x9e37_79b9);
        ((u64::from(hash) * u64::from(self.homes)) >> u32::BITS) as usize
    }
}

/// A page's worth, with places to spare behind them: the fewest that are kept for any window.
const HOMES_MIN: u32 = 30;

/// Four in five: beyond that the ways from home become long.
fn most_in(homes: u32) -> usize {
    homes as usize / 5 * 4
}

/// Enough for `len` entries and a quarter more, and never few: a handful of windows that come and
/// go cause no resizing.
#[allow(clippy::expect_used, reason = "so many would take 256 GiB")]
fn homes_for(len: usize) -> u32 {
    let homes = (len + len / 4).div_ceil(4) * 5;
    u32::try_from(homes)
        .expect("so many would take 256 GiB")
        .max(HOMES_MIN)
}

fn empty_page() -> Page {
    Box::new([const { None }; PAGE_PLACES])
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

    /// Few keys, most of which have the first or the last place as their home, so that they crowd.
    fn key() -> impl Strategy<Value = LimitKey> {
        let home = prop_oneof![2 => Just(0), 2 => Just(0xff), 1 => any::<u8>()];
        (0_u8..40, home).prop_map(|(number, home)| {
            let mut bytes = [number; 16];
            bytes[0] = 0;
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
                        windows.get_or_add(key).window = window(number);
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
                prop_assert_eq!(windows.iter().count(), map.len());
                for (key, number) in &map {
                    prop_assert!(windows.holds(key));
                    let entry = windows.get_mut(key);
                    prop_assert_eq!(&entry.unwrap().window, &window(*number));
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
        let crowded = windows.pages.len() * PAGE_PLACES;
        assert!((10_000..16_000).contains(&crowded), "{crowded}");
        windows.retain(|entry| entry.key == key(77));
        assert_eq!(windows.len(), 1);
        assert!(windows.holds(&key(77)));
        let left = windows.pages.len() * PAGE_PLACES;
        assert_eq!(left, PAGE_PLACES);
        windows.retain(|_| false);
        assert_eq!((windows.len(), windows.pages.capacity()), (0, 0));
        // And another may come.
        windows.get_or_add(key(5));
        assert!(windows.holds(&key(5)));
    }

    #[test]
    fn a_handful_that_comes_and_goes_stays_in_one_page() {
        let mut windows = Windows::default();
        let key = |number: u8| LimitKey::from_bytes([number.wrapping_mul(157); 16]);
        windows.get_or_add(key(0));
        let first_homes = windows.homes;
        for number in 1..20 {
            windows.get_or_add(key(number));
        }
        windows.retain(|entry| entry.key == key(0));
        assert_eq!((windows.homes, windows.pages.len()), (first_homes, 1));
    }
}
