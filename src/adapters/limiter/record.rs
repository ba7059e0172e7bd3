//! The stored form of a window: a version byte, then for each bucket, oldest first, the milliseconds since the epoch
//! (8 bytes) and the count (4), both big-endian; last the CRC-32 of the key and all of that, because sled does not
//! notice every changed byte.
//!
//! The quota is not stored: the one in force when the window is read decides what has expired.

use crate::domain::{Bucket, Timestamp, Window};

const VERSION: u8 = 3;
const BUCKET_BYTES: usize = 12;

/// The approximate size of a window and its key, without sled's overhead.
pub(super) fn stored_bytes(window: &Window) -> u64 {
    16 + 1 + 4 + (BUCKET_BYTES * window.buckets().len()) as u64
}

pub(super) fn encode(key: &[u8], window: &Window) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    for bucket in window.buckets() {
        bytes.extend(bucket.newest.as_ms().to_be_bytes());
        bytes.extend(bucket.count.to_be_bytes());
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
    let (&VERSION, buckets) = bytes.split_first()? else {
        return None;
    };
    let buckets = buckets.chunks(BUCKET_BYTES).map(|bytes| {
        let (newest, count) = bytes.split_first_chunk()?;
        Some(Bucket {
            newest: Timestamp::from_ms(u64::from_be_bytes(*newest)),
            count: u32::from_be_bytes(count.try_into().ok()?),
        })
    });
    let window = Window::from_buckets(buckets.collect::<Option<Vec<_>>>()?);
    window.newest().is_some().then_some(window)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const KEY: &[u8] = &[7; 16];

    /// 1,800,000,000,000 ms, twice; then once, 5 ms later.
    const RECORD: [u8; 25] = [
        VERSION, 0, 0, 1, 0xa3, 0x18, 0x5c, 0x50, 0, 0, 0, 0, 2, 0, 0, 1, 0xa3, 0x18, 0x5c, 0x50,
        5, 0, 0, 0, 1,
    ];

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
    fn the_size_grows_by_twelve_bytes_a_bucket() {
        assert_eq!(stored_bytes(&Window::default()), 21);
        assert_eq!(stored_bytes(&window()), 45);
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
        check(&[&[2], &RECORD[1..]].concat(), "another version");
        check(&RECORD[..9], "no count");
        check(&RECORD[..24], "a count that breaks off");
        check(
            &[VERSION, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
            "a count of zero",
        );
    }
}
