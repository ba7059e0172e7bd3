//! The record: one line per event, in a file that only grows (`line` has the format). It knows nothing of lookups.
//!
//! | Module | Content |
//! |---|---|
//! | `event` | the events, the state in them, and their subjects |
//! | `line` | a line's bytes, with its checksum; the first line: format, generation, secret |
//! | `reader` | reads lines and their events |
//! | `verify` | verifies every line, and distinguishes a torn end from damage |
//! | `file` | appends batches, and truncates unacknowledged lines |

mod event;
mod file;
mod line;
mod reader;
mod verify;

pub(crate) use crate::adapters::stored_json::Hex;
pub(crate) use event::{Content, Event, Identity, State};
pub(crate) use file::{Ledger, damaged, unfinished};
pub(crate) use line::{EVENT_BYTES_MAX, FORMAT, Flaw, Place, checked, seal};
pub(crate) use reader::{FIRST_PLACE, event_at, events};
pub(crate) use verify::{Stamp, Verified, preview, verify};

/// The ledger's name in the data directory.
pub(crate) const LEDGER: &str = "ledger.jsonl";
