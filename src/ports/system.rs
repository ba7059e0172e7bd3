//! The clock and the random number generator.

use crate::domain::Timestamp;

/// A wall clock.
pub trait Clock: Send + Sync {
    /// The current time. The clock may be set back between two calls.
    fn now(&self) -> Timestamp;
}

/// A cryptographically secure random number generator.
pub trait Entropy: Send + Sync {
    /// Fills all of `bytes`.
    fn fill(&self, bytes: &mut [u8]);
}

/// `N` random bytes.
pub fn random<const N: usize>(entropy: &dyn Entropy) -> [u8; N] {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes);
    bytes
}
