//! The record: what happened, one line an event, in a file that only grows. It knows nothing of the
//! index.
//!
//! ```text
//! {"crc":"2ba8f468","format":4,"generation":1,"base":0,"secret":"df014e887a4e46dc"}
//! {"crc":"ad89dd7b","seq":1,"batch":1,"left":0,"event":{"contact_subscribed":{...}}}
//! ```
//!
//! The first line is the head. Every other line is an event with its sequence number, the number of
//! the batch it was synced with, how many lines of that batch follow (`left`), and a CRC-32 of all
//! of this.
//!
//! | Module | Does |
//! |---|---|
//! | `event` | what is recorded |
//! | `fold` | which of an identity's events still count |
//! | `line` | a line's bytes, with its checksum |
//! | `head` | the first line: format, generation, secret |
//! | `reader` | verifies every line, and tells a torn end from damage |
//! | `event_reader` | reads the events of a verified ledger |
//! | `file` | appends batches, and truncates what was never acknowledged |
//! | `compaction` | writes a generation without the lines that no longer count |

mod compaction;
mod event;
mod event_reader;
mod file;
mod fold;
mod head;
mod line;
mod reader;

pub(crate) use compaction::{compact, create, short_hash};
pub(crate) use event::{Event, Hex, Identity, Signer};
pub(crate) use event_reader::{EventReader, each_event};
pub(crate) use file::{Ledger, PROBE, append_whole, unfinished};
pub(crate) use fold::{Entry, Kept, fold};
pub(crate) use head::FORMAT;
pub(crate) use line::{checked, seal};
pub(crate) use reader::{Flaw, Preview, Stamp, Verified, bad_lines, preview, verify, verify_file};

/// The ledger's name in the data directory.
pub(crate) const LEDGER: &str = "ledger.jsonl";
