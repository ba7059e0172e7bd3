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
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError>;
}

/// `N` random bytes.
///
/// # Errors
/// [`EntropyError`] when there are none.
pub fn random<const N: usize>(entropy: &dyn Entropy) -> Result<[u8; N], EntropyError> {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes)?;
    Ok(bytes)
}

/// Reason why there are no random bytes, for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no random bytes: {0}")]
pub struct EntropyError(pub String);
