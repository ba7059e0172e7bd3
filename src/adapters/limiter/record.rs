//! The stored form of a window: a version byte, then for each bucket, oldest first, the milliseconds
//! since the one before (the first: since the epoch) and the count, both as LEB128; last the CRC-32 of the key and
//! all of that, because sled does not notice every changed byte.
//!
//! The quota is not stored: the one in force when the window is read decides what has expired.

use crate::domain::{Bucket, Timestamp, Window};

const VERSION: u8 = 2;

/// The approximate size of a window and its key, without sled's overhead.
pub(super) fn stored_bytes(window: &Window) -> u64 {
    16 + 1 + 6 + 4 + 4 * window.buckets().len() as u64
}

pub(super) fn encode(key: &[u8], window: &Window) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    let mut previous = Timestamp::default();
    for bucket in window.buckets() {
        push_number(&mut bytes, bucket.newest.ms_since(previous));
        push_number(&mut bytes, bucket.count.into());
        previous = bucket.newest;
    }
    bytes.extend(checksum(key, &bytes));
    bytes
}

fn checksum(key: &[u8], bytes: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(bytes);
    hasher.finalize().to_be_bytes()
}

/// None unless the bytes are the window of this key, and it counts something.
pub(super) fn decode(key: &[u8], bytes: &[u8]) -> Option<Window> {
    let (bytes, found) = bytes.split_last_chunk()?;
    if checksum(key, bytes) != *found {
        return None;
    }
    let (&VERSION, mut rest) = bytes.split_first()? else {
        return None;
    };
    let mut buckets = Vec::new();
    let mut newest_ms = 0_u64;
    while !rest.is_empty() {
        newest_ms = newest_ms.checked_add(take_number(&mut rest)?)?;
        buckets.push(Bucket {
            newest: Timestamp::from_ms(newest_ms),
            count: u32::try_from(take_number(&mut rest)?).ok()?,
        });
    }
    let window = Window::from_buckets(buckets);
    window.newest().is_some().then_some(window)
}

fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while let Some(low) = u8::try_from(number & 0x7f).ok().filter(|_| number > 0x7f) {
        bytes.push(low | 0x80);
        number >>= 7;
    }
    bytes.extend(u8::try_from(number));
}

/// Reads a number and moves past it; none if it breaks off or exceeds 64 bits.
fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        let shifted = part << shift;
        if shifted >> shift != part {
            return None;
        }
        number |= shifted;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const KEY: &[u8] = &[7; 16];

    /// 1,800,000,000,000 ms, twice; then once, 5 ms later.
    const RECORD: [u8; 10] = [VERSION, 0x80, 0xa0, 0xf1, 0xc2, 0xb1, 0x34, 2, 5, 1];

    /// `bytes` with their checksum.
    fn sealed(bytes: &[u8]) -> Vec<u8> {
        [bytes, &checksum(KEY, bytes)].concat()
    }

    fn window() -> Window {
        let bucket = |ms, count| Bucket {
            newest: Timestamp::from_ms(ms),
            count,
        };
        Window::from_buckets([bucket(1_800_000_000_000, 2), bucket(1_800_000_000_005, 1)])
    }

    proptest! {
        #[test]
        fn a_window_is_read_as_it_was_written(
            buckets in vec((any::<u64>(), 1..=u32::MAX), 1..300),
        ) {
            let window = Window::from_buckets(buckets.into_iter().map(|(ms, count)| Bucket {
                newest: Timestamp::from_ms(ms),
                count,
            }));
            prop_assert_eq!(decode(KEY, &encode(KEY, &window)), Some(window));
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in vec(any::<u8>(), 0..80), is_ours: bool) {
            if let (true, Some(version)) = (is_ours, bytes.first_mut()) {
                *version = VERSION;
            }
            let _ = decode(KEY, &bytes);
            let _ = decode(KEY, &sealed(&bytes));
        }
    }

    #[test]
    fn the_size_grows_by_four_bytes_a_bucket() {
        assert_eq!(stored_bytes(&Window::default()), 27);
        assert_eq!(stored_bytes(&window()), 35);
    }

    #[test]
    fn the_form_does_not_change() {
        assert_eq!(encode(KEY, &window()), sealed(&RECORD));
        assert_eq!(decode(KEY, &sealed(&RECORD)), Some(window()));
    }

    #[test]
    fn a_changed_bit_and_a_window_of_another_key_are_refused() {
        let whole = sealed(&RECORD);
        assert_eq!(decode(&[8; 16], &whole), None);
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(KEY, &flipped), None, "{bit}");
        }
    }

    #[test]
    fn garbage_is_refused() {
        let check = |bytes: &[u8], why: &str| {
            assert_eq!(decode(KEY, bytes), None, "{why}");
            assert_eq!(decode(KEY, &sealed(bytes)), None, "{why}");
        };
        check(&[], "nothing");
        check(&[VERSION], "no bucket");
        check(&[1, 1, 1], "another version");
        check(&[VERSION, 1], "no count");
        check(&[VERSION, 1, 0], "a count of zero");
        check(&[VERSION, 0x80], "a number that breaks off");
        check(
            &[VERSION, 1, 0xff, 0xff, 0xff, 0xff, 0x1f],
            "a count past 32 bits",
        );
        let mut too_long = vec![VERSION];
        too_long.extend([0xff; 10]);
        too_long.extend([0x7f, 1]);
        check(&too_long, "a number past 64 bits");
        let mut overflowing = vec![VERSION];
        push_number(&mut overflowing, u64::MAX);
        overflowing.extend([1, 1, 1]);
        check(&overflowing, "an instant past the end of time");
    }
}
