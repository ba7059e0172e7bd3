//! The port of the wall clock.

use crate::domain::Timestamp;

/// A wall clock.
pub trait Clock: Send + Sync {
    /// The current time. The clock may be set back between two calls.
    fn now(&self) -> Timestamp;
}
