//! Archives of a data directory: a tar file with
//!
//! | File | Content |
//! |---|---|
//! | `ledger.jsonl` | the ledger up to its last whole batch |
//! | `secret` | the secret that the ledger's hashes were made with |
//! | `counts.jsonl` | the hourly counts |
//! | `blocks.jsonl` | the blocked networks |
//!
//! The ledger comes last, so that a truncated archive lacks it. Each of its lines has a checksum, and its head
//! contains the secret's id. Counts and blocks have no checksums: a flipped bit there changes a number in a
//! chart, or a network in a list that people can read.
//!
//! The mark and the limiter's windows are left out: the mark belongs to the running ledger, and windows are
//! useless later. `write` takes a consistent copy while a service runs, because the ledger only grows.

mod restore;
mod write;

use std::fs;
use std::path::Path;

pub use restore::{Restored, replaced_files, restore};
pub use write::{Written, write, write_file};

use crate::adapters::files::data_dir::SECRET;
use crate::adapters::files::open_error::OpenError;
use crate::adapters::ledger::record::Verified;
use crate::domain::Secret;

/// The bytes of the secret in the directory at `path`, which must be that of its `verified` ledger.
fn read_secret(path: &Path, verified: &Verified) -> Result<Vec<u8>, OpenError> {
    let secret = path.join(SECRET);
    let bytes = fs::read(&secret).map_err(OpenError::io("read", &secret))?;
    let id = <[u8; 32]>::try_from(bytes.as_slice()).map(|bytes| Secret::new(bytes).id());
    if id.ok().as_ref() == Some(&verified.head.secret) {
        return Ok(bytes);
    }
    let foreign = "the secret is not the one that ledger.jsonl was recorded under";
    Err(OpenError::Refused(foreign.to_owned()))
}
