//! Contacts and what may be told about them.

/// Who is told that an address was there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevealExisting {
    /// Nobody.
    Never,
    /// Whoever signed it up.
    SameClient,
    /// Everybody.
    Always,
}
