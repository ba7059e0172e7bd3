//! Contacts, keys and revoked tokens: the record and its index.
//!
//! **The record** is `ledger.jsonl`, a file of events that only grows (`record`). It alone counts.
//! **The index** answers look-ups from sled (`index`). It is made from the record, and the record
//! is never made from it.
//!
//! **A commit.** Changes wait in a bounded queue (`commit_queue`). One thread takes all that wait
//! as a batch (`writer`): it decides them in order, where those of one batch see each other
//! (`draft`), appends their events to the ledger, syncs once, changes the index, and then answers
//! them. So a change is answered after it is durable, and changes that come together share a sync. A
//! write or sync that fails is never taken for success: the ledger is truncated to its last
//! acknowledged length, and every change is refused until that and a trial write succeed. Changes are
//! also refused while the ledger's file was moved, replaced or edited by another program, because what is
//! appended would be lost.
//!
//! **A start** (`open`) verifies every line of the ledger and then looks at the index. Bytes that
//! it cuts off are kept beside the ledger in `ledger.cut.1`, a damaged ledger in `ledger.damaged.1`:
//!
//! | Found | Done |
//! |---|---|
//! | a last line without its newline | the newline is added |
//! | a line is bad or missing that was there at the last clean stop | damage, as below |
//! | a bad line, and no line of a later batch | it was never acknowledged: truncated, with a warning |
//! | a bad line, and lines of later batches | damage: the start is refused, with the lines and what to do; once accepted, all good lines are kept |
//! | an unfinished compaction | removed; the ledger is complete without it |
//! | a new secret, a forgotten address | the ledger is compacted |
//! | an erasure that was not finished | the address is blanked in the kept files, and the index is made again |
//! | the marker of a clean stop that fits ledger and index | the index is used |
//! | anything else | the index is made again from the ledger |
//! | no disk space for an index | changes are refused until there is; credentials are looked up in memory |
//!
//! **A compaction** writes a new generation of the ledger with the lines that still count. It is due
//! when the lines that may have become superfluous since the last one outnumber those it began with.
//!
//! **An erasure** (`erasure`) rids every file of an address before it is answered: the ledger by a
//! compaction, the index by making it anew, the files kept beside the ledger by overwriting (`kept_files`).
//! A keyed hash of the address stays, the tombstone, so that an import does not bring it back.
//!
//! **A list** (`listing`) reads the ledger beside the writer and asks the index for the present state.

mod commit_queue;
mod contacts;
mod credentials;
mod draft;
mod erasure;
mod index;
mod kept_files;
mod listing;
mod maintenance;
mod open;
pub(super) mod record;
mod shared_state;
mod store;
mod writer;

pub use maintenance::{LedgerRepair, LedgerReport, repair_ledger, verify_ledger};
pub use open::Tuning;
pub(super) use open::refusal;
pub use store::LedgerStore;

#[cfg(test)]
mod tests;
