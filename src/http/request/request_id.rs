//! The id of one request, in the log and in the response.

use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::HeaderValue;
use uuid::Uuid;

/// Makes ids from the random seed of the process and a counter. Each connection has a counter of its own: all cores
/// would contend for a shared one.
#[derive(Debug)]
pub(crate) struct RequestIds {
    seed: u128,
    /// The number of the connection in the upper half, that of its next request in the lower one.
    next: AtomicU64,
}

impl RequestIds {
    pub(crate) const fn new(seed: [u8; 16]) -> Self {
        Self {
            seed: u128::from_be_bytes(seed),
            next: AtomicU64::new(0),
        }
    }

    /// The ids of another connection.
    pub(crate) fn of_connection(&self) -> Self {
        Self {
            seed: self.seed,
            next: AtomicU64::new(self.next.fetch_add(1 << 32, Ordering::Relaxed)),
        }
    }

    pub(crate) fn next(&self) -> RequestId {
        // Multiplication by an odd number is a bijection, so no id repeats.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        // All ids have the first half of the seed.
        let bits = self.seed ^ u128::from(count.wrapping_mul(STEP));
        RequestId(Uuid::new_v8(bits.to_be_bytes()))
    }
}

/// A UUID of version 8 (RFC 9562: custom).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestId(pub(crate) Uuid);

impl RequestId {
    /// The id as the value of a header.
    pub(crate) fn to_header(self) -> HeaderValue {
        let mut text = Uuid::encode_buffer();
        // Hexadecimal digits and hyphens are always a valid value.
        HeaderValue::from_str(self.0.hyphenated().encode_lower(&mut text))
            .unwrap_or(HeaderValue::from_static(""))
    }

    /// The id's bytes, reordered so that the first ones differ between requests and connections: the limiter selects a
    /// shard by them.
    pub(crate) fn shuffled_bytes(self) -> [u8; 16] {
        // The second half of the id, without the byte that has the variant of the UUID.
        self.0.as_u128().rotate_left(72).to_be_bytes()
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
            let connections = [(); 10].map(|()| ids.of_connection());
            let mut seen = HashSet::new();
            for number in 0..10_000 {
                let connection = &connections[number % connections.len()];
                let id = connection.next().0.to_string();
                assert_eq!(id.len(), 36);
                assert_eq!(&id[14..15], "8");
                assert!("89ab".contains(&id[19..20]));
                assert!(seen.insert(id));
            }
        }
    }

    #[test]
    fn hashes_of_ids_begin_with_bits_that_differ() {
        let ids = RequestIds::new([0x5a; 16]);
        let connection = ids.of_connection();
        let kept = || connection.next();
        let anew = || ids.of_connection().next();
        for next in [&kept as &dyn Fn() -> RequestId, &anew] {
            let hashes = (0..1000).map(|_| next().shuffled_bytes());
            let begun: HashSet<_> = hashes.map(|hash| [hash[0], hash[1]]).collect();
            assert!(begun.len() > 900, "{}", begun.len());
        }
    }
}
