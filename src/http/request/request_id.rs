//! The id of one request, in the log and in the response.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::HeaderValue;
use uuid::Uuid;

/// Ids reserved for one connection.
const BLOCK_LEN: u64 = 1 << 20;

/// Makes the ids of one process from a random seed and a counter.
#[derive(Debug)]
pub(crate) struct RequestIds {
    seed: u128,
    blocks: AtomicU64,
}

/// The ids of a connection. All cores would contend for a shared counter.
#[derive(Debug)]
pub(crate) struct ConnectionIds {
    block: u64,
    used: AtomicU64,
}

impl RequestIds {
    pub(crate) const fn new(seed: [u8; 16]) -> Self {
        Self {
            seed: u128::from_be_bytes(seed),
            blocks: AtomicU64::new(0),
        }
    }

    pub(crate) fn of_connection(&self) -> ConnectionIds {
        ConnectionIds {
            block: self.next_block(),
            used: AtomicU64::new(0),
        }
    }

    pub(crate) fn next(&self, connection: &ConnectionIds) -> RequestId {
        // Multiplication by an odd number is a bijection, so no id repeats.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let count = match connection.used.fetch_add(1, Ordering::Relaxed) {
            used @ ..BLOCK_LEN => connection.block + used,
            _ => self.next_block(),
        };
        // All ids have the first half of the seed.
        let bits = self.seed ^ u128::from(count.wrapping_mul(STEP));
        RequestId(Uuid::new_v8(bits.to_be_bytes()))
    }

    fn next_block(&self) -> u64 {
        self.blocks.fetch_add(BLOCK_LEN, Ordering::Relaxed)
    }
}

/// A UUID of version 8 (RFC 9562: custom).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestId(Uuid);

impl RequestId {
    /// The id as the value of a header.
    pub(crate) fn to_header(self) -> HeaderValue {
        let mut text = Uuid::encode_buffer();
        // Hexadecimal digits and hyphens are always a valid value.
        HeaderValue::from_str(self.0.hyphenated().encode_lower(&mut text))
            .unwrap_or(HeaderValue::from_static(""))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
            // The last of its own ids, and the next ones.
            connections[0].used.store(BLOCK_LEN - 1, Ordering::Relaxed);
            let mut seen = HashSet::new();
            for number in 0..10_000 {
                let connection = &connections[number % connections.len()];
                let id = ids.next(connection).to_string();
                assert_eq!(id.len(), 36);
                assert_eq!(&id[14..15], "8");
                assert!("89ab".contains(&id[19..20]));
                assert!(seen.insert(id));
            }
        }
    }
}
