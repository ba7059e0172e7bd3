//! The time.

use crate::domain::time::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The wall clock. It may be set back.
    fn now(&self) -> Timestamp;
}
