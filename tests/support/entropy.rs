//! Deterministic randomness for tests.

use std::sync::atomic::{AtomicU64, Ordering};

use landing_api::ports::Entropy;

/// A pseudorandom generator with the same output in every run.
#[derive(Debug, Default)]
pub(crate) struct SeededEntropy(AtomicU64);

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        blake3::Hasher::new()
            .update(&self.0.fetch_add(1, Ordering::SeqCst).to_be_bytes())
            .finalize_xof()
            .fill(bytes);
    }
}
