//! Who is told that an address had signed up before.

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
