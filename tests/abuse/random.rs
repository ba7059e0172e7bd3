//! Randomness that can be repeated, and what it does to an input.

use std::sync::LazyLock;

/// `SplitMix64`.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// What parsers stumble over: limits of numbers, halves of escapes, and what separates.
static TOKENS: LazyLock<Vec<&[u8]>> = LazyLock::new(|| {
    let words = WORDS.split_whitespace().map(str::as_bytes);
    words.chain(BLANKS_AND_BEYOND).collect()
});

/// Those of printable ASCII.
const WORDS: &str = r##"
    " \ \u0000 \ud800 \ud83d\ude00 \x { } [[[[[[[[[[[[[[[[ ] {"a":{"a":{"a": , ; : = & % %0 %zz %00
    %2e%2e%2f %ff + ? # // /../ @ @@ null true 0 -0 -1 1e309 1e-999999999 4294967296
    9223372036854775808 18446744073709551615 18446744073709551616 0x10 255.255.255.255
    ::ffff:1.2.3.4 [::1]:80 <think>
"##;

const BLANKS_AND_BEYOND: [&[u8]; 19] = [
    b"\0",
    b"\r\n",
    b"\r\n\r\n",
    b"\n\n",
    b" ",
    b"\t",
    b"data: [DONE]\n\n",
    b"\x1b[2J",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    "\u{202e}".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{200b}".as_bytes(),
    "\u{feff}".as_bytes(),
    "\u{1f600}".as_bytes(),
    "\u{130}".as_bytes(),
    "\u{df}".as_bytes(),
];

/// Bytes at the borders of classes.
const BYTES: [u8; 16] = [
    0x00, 0x01, 0x08, 0x0a, 0x0d, 0x1f, 0x20, 0x22, 0x25, 0x2c, 0x5c, 0x7f, 0x80, 0xbf, 0xf0, 0xff,
];

/// Longer inputs are cut.
const BYTES_MAX: usize = 96 * 1024;

impl Random {
    /// Of the run with `seed`, the program `name` and its part `number`.
    pub(crate) fn new(seed: u64, name: &str, number: u64) -> Self {
        let mut random = Self(seed ^ u64::from(crc32fast::hash(name.as_bytes())) << 32);
        Self(random.next() ^ number)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// Once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A range of `0..=length`; most are short.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let begin = self.below(length + 1);
        let left = length - begin + 1;
        let most = if self.once_in(4) { left } else { left.min(9) };
        begin..begin + self.below(most)
    }

    /// `input` after one to six changes; one in 64 stays as it is. `others` are what is spliced in.
    pub(crate) fn mutated<T: AsRef<[u8]>>(&mut self, input: &[u8], others: &[T]) -> Vec<u8> {
        let mut bytes = input.to_vec();
        if self.once_in(64) {
            return bytes;
        }
        for _ in 0..=self.below(6) {
            self.mutate(&mut bytes, others);
        }
        bytes.truncate(BYTES_MAX);
        bytes
    }

    fn mutate<T: AsRef<[u8]>>(&mut self, bytes: &mut Vec<u8>, others: &[T]) {
        let length = bytes.len();
        match self.below(9) {
            0 if length > 0 => bytes[self.below(length)] ^= 1 << self.below(8),
            1 if length > 0 => bytes[self.below(length)] = *self.pick(&BYTES),
            2 => {
                bytes.drain(self.range(length));
            }
            3 => {
                let again = bytes[self.range(length)].to_vec();
                let times = if self.once_in(8) { self.below(300) } else { 1 };
                let at = self.below(length + 1);
                bytes.splice(at..at, again.repeat(times));
            }
            4 => bytes.truncate(self.below(length + 1)),
            5 => {
                let other = self.pick(others).as_ref();
                let part = other[self.range(other.len())].to_vec();
                bytes.splice(self.range(length), part);
            }
            6 => {
                // The beginning of one and the end of the other.
                let other = self.pick(others).as_ref();
                bytes.truncate(self.below(length + 1));
                bytes.extend_from_slice(&other[self.below(other.len() + 1)..]);
            }
            7 if length > 1 => {
                let (one, other) = (self.below(length), self.below(length));
                bytes.swap(one, other);
            }
            _ => {
                let at = self.range(length);
                let token = *self.pick(&TOKENS);
                bytes.splice(at, token.iter().copied());
            }
        }
    }
}
