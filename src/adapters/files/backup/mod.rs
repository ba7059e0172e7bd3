//! Archives of a data directory: a tar with
//!
//! | File | What |
//! |---|---|
//! | `ledger.jsonl` | the ledger up to its last whole batch |
//! | `secret` | the secret that the ledger's hashes were made with |
//! | `counts.jsonl` | the hourly counts |
//! | `blocks.jsonl` | the blocked networks |
//!
//! The ledger comes last, so that an archive that was cut lacks it. Each of its lines has a checksum, and its head names
//! the secret. Counts and blocks have none: a bit that flips there changes a number of a chart, or a network in a list
//! that people can read.
//!
//! The mark and the limiter's windows are not in it: the first goes with the ledger that runs, the others are
//! worth nothing later. `write` takes a consistent copy while a service runs, because the ledger only grows.

mod error;
mod ledger_secret;
mod restore;
mod write;

pub use error::BackupError;
pub use restore::{Restored, replaced_files, restore};
pub use write::{Written, write, write_file};
