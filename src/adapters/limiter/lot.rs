//! Changes as the store keeps them: many in one value, so that a store of very many windows is one
//! of few entries.
//!
//! A lot is a version byte, then for each change the limiter key, one more than the length of the
//! window's bytes as LEB128, and those bytes (`record`); a length of 0 says that the window is gone.
//! Lots are read in the order in which they were written.

use crate::domain::client::LimitKey;

use super::persistence::Change;
use super::record::{push_number, take_number};

const VERSION: u8 = 1;

/// A lot has at most so many bytes, unless a single change has more: a window of some 200 marks. sled
/// keeps up to 17 entries in a page, and one that is larger than a quarter of a segment of 64 KiB
/// becomes a file of its own, which costs many times as much; only pages of such windows do.
const BYTES_MAX: usize = 900;

/// The version.
const HEAD_BYTES: usize = 1;

/// What a change takes beside the window's bytes: its key and their length.
const KEY_BYTES: usize = 16 + 2;

/// Hands the bytes of each lot to `take`, in order.
///
/// # Errors
/// The first that `take` returns.
pub(super) fn encode<E>(
    changes: &[Change],
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut lot = Vec::with_capacity(BYTES_MAX);
    lot.push(VERSION);
    for (key, value) in changes {
        let change_bytes = KEY_BYTES + value.as_ref().map_or(0, Vec::len);
        if lot.len() > HEAD_BYTES && lot.len() + change_bytes > BYTES_MAX {
            take(&lot)?;
            lot.truncate(HEAD_BYTES);
        }
        lot.extend_from_slice(key.as_bytes());
        match value {
            Some(value) => {
                push_number(&mut lot, value.len() as u64 + 1);
                lot.extend_from_slice(value);
            }
            None => lot.push(0),
        }
    }
    match lot.len() > HEAD_BYTES {
        true => take(&lot),
        false => Ok(()),
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

    fn lots(changes: &[Change]) -> Vec<Vec<u8>> {
        let mut lots = Vec::new();
        let taken: Result<(), ()> = encode(changes, |lot| {
            lots.push(lot.to_vec());
            Ok(())
        });
        taken.unwrap();
        lots
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
