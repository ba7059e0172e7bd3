//! Archives of a data directory: a tar with
//!
//! | File | What |
//! |---|---|
//! | `ledger.jsonl` | the ledger up to its last whole batch |
//! | `secret` | the secret that the ledger's hashes were made with |
//! | `counts.jsonl` | the hourly counts |
//! | `SHA256SUMS` | the digests of the others, for `sha256sum -c` |
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
