//! The port of the random number generator.

/// A cryptographically secure random number generator.
pub trait Entropy: Send + Sync {
    /// Fills all of `bytes`.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError>;
}

/// Why there are no random bytes, for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no random bytes: {0}")]
pub struct EntropyError(pub String);
