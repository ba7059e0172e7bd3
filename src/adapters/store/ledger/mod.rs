//! The record: what happened, one line an event, in a file that only grows.
//!
//! | Module | Does |
//! |---|---|
//! | `event` | what is recorded |
//! | `line` | a line's bytes, with its checksum |
//! | `head` | the first line: format, generation, secret |
//! | `reader` | verifies every line, and reads them |
//! | `append` | appends batches, and cuts back what was never acknowledged |
//! | `journal` | makes batches safe before the file itself is synced |
//! | `leftover` | what the journal holds that a process left |
//! | `recovery` | what a start makes of the file and its journal |
//! | `compaction` | writes a generation without what no longer counts |
//! | `files` | the file operations that all of it rests on |
//!
//! It knows nothing of the index.

mod append;
mod compaction;
mod event;
mod files;
mod head;
mod journal;
mod leftover;
mod line;
mod reader;
mod recovery;

pub(crate) use append::{Ledger, set_journal_aside};
pub(crate) use compaction::{compact, create, unfinished};
pub(crate) use event::Event;
pub use files::{AppendFile, Files, SystemFiles};
pub(crate) use files::{
    BUFFER_BYTES, PRIVATE_DIRECTORY, PRIVATE_FILE, remove_for_good, sync_parent, write_whole,
};
pub(crate) use head::{FORMAT, Head};
pub(crate) use journal::journal_path;
pub(crate) use reader::{Flaw, Glimpse, Verified, each_event, glimpse};
pub(crate) use recovery::{recover, salvage};

/// The ledger's name in the data directory.
pub(crate) const LEDGER: &str = "ledger.jsonl";
