//! A window as the store keeps it: a version byte, then for each mark, oldest first, the
//! milliseconds since the one before (the first: since the epoch) and its count, as LEB128.
//!
//! A window of one mark takes 8 bytes. When it expires is not kept: that is for the quota to say
//! which holds when it is read.

use crate::domain::time::Timestamp;
use crate::domain::window::{Mark, Window};

const VERSION: u8 = 1;

/// More marks than any window has, so that damage cannot ask for much memory.
const MARKS_MAX: usize = 4096;

/// Nearly how many bytes a stored window takes, its key included, without encoding it.
pub(super) fn size_estimate(window: &Window) -> usize {
    16 + 1 + 6 + 4 * window.marks_count()
}

/// Adds a window's bytes.
pub(super) fn encode(window: &Window, bytes: &mut Vec<u8>) {
    bytes.push(VERSION);
    let mut previous = Timestamp::default();
    for mark in window.marks() {
        push_number(bytes, mark.newest.ms_since(previous));
        push_number(bytes, mark.count.into());
        previous = mark.newest;
    }
}

/// Nothing if the bytes are not a window with something in it.
pub(super) fn decode(bytes: &[u8]) -> Option<Window> {
    let (&VERSION, mut rest) = bytes.split_first()? else {
        return None;
    };
    let mut marks = Vec::new();
    let mut newest_ms = 0_u64;
    while !rest.is_empty() {
        newest_ms = newest_ms.checked_add(take_number(&mut rest)?)?;
        let count = u32::try_from(take_number(&mut rest)?).ok()?;
        if count == 0 || marks.len() == MARKS_MAX {
            return None;
        }
        marks.push(Mark {
            newest: Timestamp::from_ms(newest_ms),
            count,
        });
    }
    (!marks.is_empty()).then(|| Window::from_marks(marks))
}

/// Writes `number` as LEB128.
pub(super) fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while let Some(low) = u8::try_from(number & 0x7f).ok().filter(|_| number > 0x7f) {
        bytes.push(low | 0x80);
        number >>= 7;
    }
    bytes.extend(u8::try_from(number));
}

/// Reads a number in LEB128 and moves past it; nothing if it breaks off or is past 64 bits.
pub(super) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
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
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_window_is_read_as_it_was_written(
            marks in proptest::collection::vec((any::<u64>(), 1..=u32::MAX), 1..300),
        ) {
            let window = Window::from_marks(marks.into_iter().map(|(ms, count)| Mark {
                newest: Timestamp::from_ms(ms),
                count,
            }));
            let mut bytes = Vec::new();
            encode(&window, &mut bytes);
            prop_assert_eq!(decode(&bytes), Some(window));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn garbage_is_refused() {
        let check = |bytes: &[u8], why: &str| assert_eq!(decode(bytes), None, "{why}");
        check(&[], "nothing");
        check(&[VERSION], "no mark");
        check(&[2, 1, 1], "another version");
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
        let mut crowded = vec![VERSION];
        crowded.extend([1; 2 * MARKS_MAX + 2]);
        check(&crowded, "too many marks");
    }
}
