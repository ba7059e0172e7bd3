//! Random bytes.

/// Draws random bytes fit for secrets.
pub trait Entropy: Send + Sync {
    /// Overwrites all of `bytes`.
    ///
    /// # Errors
    /// [`EntropyError`] when the operating system has none to give.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError>;
}

/// No random bytes. The text is for the log, never for a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no random bytes: {0}")]
pub struct EntropyError(pub String);
