//! Look-ups over the ledger. They can be lost at any time: the ledger makes them again.
//!
//! | Module | Does |
//! |---|---|
//! | `entry` | what is kept of a contact, of a key and of a revoked token |
//! | `bucket` | the unit in which entries are kept |
//! | `sled_index` | keeps buckets in sled |
//! | `dirty` | changed buckets, until they are written back to sled |
//! | `overlay` | the index as it will be after some events |
//! | `rebuild` | makes the index again from the ledger |
//! | `marker` | the promise of a clean stop, without which no index is trusted |
//!
//! It knows the ledger, and nothing of what is built on both.

mod bucket;
mod dirty;
mod entry;
pub(crate) mod marker;
mod overlay;
mod rebuild;
mod sled_index;

use serde::{Deserialize, Serialize};

use super::ledger::Head;

pub(crate) use entry::{
    ContactEntry, KeyEntry, RevocationEntry, contact_name, key_name, revocation_name,
};
pub(crate) use overlay::{Buckets, Overlay};
pub(crate) use rebuild::{RebuildError, rebuild};
pub(crate) use sled_index::{Index, IndexError, wipe};

/// The index's name in the data directory.
pub(crate) const INDEX: &str = "index";

/// Which ledger an index is of, and up to where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meta {
    /// The secret whose key spreads the entries.
    pub(crate) secret: String,
    /// The ledger's generation.
    pub(crate) generation: u64,
    /// The last event that is in the index.
    pub(crate) sequence: u64,
    /// What the events up to there add up to.
    pub(crate) tally: Tally,
}

impl Meta {
    /// Whether it is of the ledger with this head, up to the event `sequence`.
    pub(crate) fn is_of(&self, head: &Head, sequence: u64) -> bool {
        (&self.secret, self.generation, self.sequence) == (&head.secret, head.generation, sequence)
    }
}

/// What the ledger's events add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// Contacts there are.
    pub(crate) contacts: u64,
    /// Lines that still count, those about keys and tokens that expired but were not swept yet
    /// included. It only decides when a compaction is worth while, and is exact after each.
    pub(crate) live: u64,
    /// Contacts forgotten since the ledger was last written anew: their addresses are in it still.
    pub(crate) forgotten: u64,
}
