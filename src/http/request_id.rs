//! The name of one request, in the log and in the answer.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names requests: a random seed, and a counter that no two requests share.
#[derive(Debug)]
pub(crate) struct RequestIds {
    seed: u128,
    counter: AtomicU64,
}

impl RequestIds {
    pub(crate) const fn new(seed: [u8; 16]) -> Self {
        Self {
            seed: u128::from_be_bytes(seed),
            counter: AtomicU64::new(0),
        }
    }

    pub(crate) fn next(&self) -> RequestId {
        // An odd factor visits every number once and makes neighbours look unrelated.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let count = self.counter.fetch_add(1, Ordering::Relaxed);
        let scattered = u128::from(count.wrapping_mul(STEP));
        RequestId(self.seed.wrapping_add(scattered))
    }
}

/// A UUID of version 8 (RFC 9562: custom).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestId(u128);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The low 62 bits are left as they are, so ids stay distinct.
        let version = (self.0 & !(0xf << 76)) | (8 << 76);
        let id = (version & !(0b11 << 62)) | (0b10 << 62);
        let group = |shift: u32, bits: u32| (id >> shift) & ((1 << bits) - 1);
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            group(96, 32),
            group(80, 16),
            group(64, 16),
            group(48, 16),
            group(0, 48)
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_distinct_uuids_of_version_8() {
        for seed in [[0; 16], [0xff; 16], [0x5a; 16]] {
            let ids = RequestIds::new(seed);
            let mut seen = HashSet::new();
            for _ in 0..10_000 {
                let id = ids.next().to_string();
                assert_eq!(id.len(), 36);
                assert_eq!(&id[14..15], "8");
                assert!("89ab".contains(&id[19..20]));
                assert!(seen.insert(id));
            }
        }
    }
}
