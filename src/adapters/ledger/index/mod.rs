//! The index: look-ups over the record, in sled. The record never needs it.
//!
//! | Module | Does |
//! |---|---|
//! | `bucket` | some identities and what is kept of them, as text |
//! | `sled_index` | buckets in sled |
//! | `clean_stop` | the marker of a clean stop, the only thing that makes an index trusted |
//! | `rebuild` | makes an index from the record |
//! | `credential_map` | keys and revocations in memory while there is no index |

mod bucket;
pub(crate) mod clean_stop;
mod credential_map;
mod rebuild;
mod sled_index;

pub(crate) use credential_map::CredentialMap;
pub(crate) use rebuild::{RebuildError, rebuild, renew};
pub(crate) use sled_index::{Index, IndexError, events, wipe};
