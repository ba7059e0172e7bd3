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

pub use restore::{Restored, restore};
pub use write::{Written, write, write_file};
