//! Changes as the store keeps them: many in one value, so that a store of very many windows is one
//! of few entries.
//!
//! A lot is a version byte, then for each change the limiter key, one more than the length of the
//! window's bytes as LEB128, and those bytes (`record`); a length of 0 says that the window is gone.
//! Lots are read in the order in which they were written.

use crate::domain::client::LimitKey;
use crate::domain::window::Window;

use super::record::{self, push_number, take_number};

const VERSION: u8 = 1;

/// A lot has at most so many bytes, unless a single change has more: a window of some 200 marks. sled
/// keeps up to 17 entries in a page, and one that is larger than a quarter of a segment of 64 KiB
/// becomes a file of its own, which costs many times as much; only pages of such windows do.
const BYTES_MAX: usize = 900;

/// The version.
const HEAD_BYTES: usize = 1;

/// A lot without any change.
pub(super) const EMPTY: [u8; HEAD_BYTES] = [VERSION];

/// What a change takes beside the window's bytes: its key and their length.
const KEY_BYTES: usize = 16 + 2;

/// Changes of windows, in the order in which they were made, as lots.
#[derive(Debug, Default)]
pub struct Changes {
    count: usize,
    /// Lots, one after another.
    bytes: Vec<u8>,
    /// Where each lot but the last ends.
    ends: Vec<usize>,
    /// Where the last lot begins.
    last_start: usize,
    /// A window's bytes while their length is not known.
    value: Vec<u8>,
}

impl Changes {
    /// Adds a window's newest version, as the store keeps it; nothing to remove it.
    pub fn push(&mut self, key: &LimitKey, value: Option<&[u8]>) {
        let change_bytes = KEY_BYTES + value.map_or(0, <[u8]>::len);
        let lot_bytes = self.bytes.len() - self.last_start;
        if lot_bytes > HEAD_BYTES && lot_bytes + change_bytes > BYTES_MAX {
            self.last_start = self.bytes.len();
            self.ends.push(self.last_start);
        }
        if self.bytes.len() == self.last_start {
            self.bytes.push(VERSION);
        }
        self.bytes.extend_from_slice(key.as_bytes());
        match value {
            Some(value) => {
                push_number(&mut self.bytes, value.len() as u64 + 1);
                self.bytes.extend_from_slice(value);
            }
            None => self.bytes.push(0),
        }
        self.count += 1;
    }

    /// Makes room for so many bytes more, as lots.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes);
    }

    pub(super) fn push_window(&mut self, key: &LimitKey, window: &Window) {
        let mut value = std::mem::take(&mut self.value);
        value.clear();
        record::encode(window, &mut value);
        self.push(key, Some(&value));
        self.value = value;
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Forgets them, but keeps the memory for others.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        (self.count, self.last_start) = (0, 0);
    }

    /// The bytes of each lot.
    pub(super) fn lots(&self) -> impl Iterator<Item = &[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let ends = self.ends.iter().copied().chain([self.bytes.len()]);
        let lots = starts.zip(ends);
        lots.filter_map(|(start, end)| self.bytes.get(start..end).filter(|lot| !lot.is_empty()))
    }

    /// Hands each change to `take`, in order.
    pub fn for_each(&self, mut take: impl FnMut(LimitKey, Option<&[u8]>)) {
        for lot in self.lots() {
            decode(lot, &mut take);
        }
    }
}

/// Hands each change of a lot to `take`, in order. Says whether all of the lot could be read.
pub(super) fn decode(lot: &[u8], mut take: impl FnMut(LimitKey, Option<&[u8]>)) -> bool {
    let Some((&VERSION, mut rest)) = lot.split_first() else {
        return false;
    };
    while !rest.is_empty() {
        let Some((key, value)) = take_change(&mut rest) else {
            return false;
        };
        take(key, value);
    }
    true
}

/// Reads a change and moves past it; nothing if it breaks off.
fn take_change<'a>(bytes: &mut &'a [u8]) -> Option<(LimitKey, Option<&'a [u8]>)> {
    let (key, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    let value = match take_number(bytes)? {
        0 => None,
        length => {
            let length = usize::try_from(length - 1).ok()?;
            let (value, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            Some(value)
        }
    };
    Some((LimitKey::from_bytes(*key), value))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    type Change = (LimitKey, Option<Vec<u8>>);

    fn lots(changes: &[Change]) -> Vec<Vec<u8>> {
        let mut written = Changes::default();
        // They are used again.
        written.push(&LimitKey::from_bytes([0; 16]), None);
        written.clear();
        for (key, value) in changes {
            written.push(key, value.as_deref());
        }
        assert_eq!(written.len(), changes.len());
        written.lots().map(<[u8]>::to_vec).collect()
    }

    fn change() -> impl Strategy<Value = Change> {
        let value = proptest::option::of(vec(any::<u8>(), 0..300));
        (any::<[u8; 16]>(), value).prop_map(|(key, value)| (LimitKey::from_bytes(key), value))
    }

    proptest! {
        #[test]
        fn changes_are_read_in_the_order_they_were_written(changes in vec(change(), 0..60)) {
            let mut read = Vec::new();
            for lot in lots(&changes) {
                prop_assert!(lot.len() <= BYTES_MAX);
                prop_assert!(decode(&lot, |key, value| read.push((key, value.map(<[u8]>::to_vec)))));
            }
            prop_assert_eq!(read, changes);
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in vec(any::<u8>(), 0..80), is_ours: bool) {
            if let (true, Some(version)) = (is_ours, bytes.first_mut()) {
                *version = VERSION;
            }
            decode(&bytes, |_key, _value| {});
        }
    }

    #[test]
    fn an_empty_lot_is_read_and_holds_nothing() {
        assert!(decode(&EMPTY, |_key, _value| panic!("a change")));
    }

    #[test]
    fn garbage_is_refused() {
        let check = |bytes: &[u8], why: &str| {
            assert!(!decode(bytes, |_key, _value| panic!("{why}")), "{why}");
        };
        check(&[], "nothing");
        check(&[VERSION + 1], "another version");
        check(&[VERSION, 1, 2, 3], "half a key");
        let mut lot = vec![VERSION];
        lot.extend([7; 16]);
        check(&lot, "no length");
        lot.push(0x80);
        check(&lot, "a length that breaks off");
        lot.pop();
        lot.extend([4, 1, 2]);
        check(&lot, "a value that breaks off");
        lot.truncate(17);
        lot.extend([0xff; 9]);
        lot.push(1);
        check(&lot, "a length past all memory");
    }

    #[test]
    fn what_stands_before_damage_is_read() {
        let key = |number| LimitKey::from_bytes([number; 16]);
        let changes = [
            (key(1), Some(vec![9])),
            (key(2), None),
            (key(3), Some(Vec::new())),
        ];
        let [lot] = <[Vec<u8>; 1]>::try_from(lots(&changes)).unwrap();
        let mut read = Vec::new();
        let is_whole = decode(&lot[..lot.len() - 1], |key, value| {
            read.push((key, value.map(<[u8]>::to_vec)));
        });
        assert!(!is_whole);
        assert_eq!(read, changes[..2]);
    }
}
