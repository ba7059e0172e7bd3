//! Contacts, deliveries, keys and revoked tokens: the record, and where in it the last event of each identity is.
//!
//! **The record** is `ledger.jsonl`, a file of events that only grows (`record`). It alone counts.
//! **Look-ups** read it: a table in memory has the place of each identity's last event (`table`,
//! `generation`). A start makes it, since it reads every line anyway.
//!
//! **A commit.** Changes wait in a bounded queue (`commit_queue`). One thread takes all that wait
//! as a batch (`writer`): it decides them in order, where those of one batch see each other
//! (`draft`), appends their events to the ledger, syncs once, shows them to look-ups, and then answers
//! them. So a change is answered after it is durable, and changes that come together share a sync. A
//! write or sync that fails is never taken for success: the ledger is truncated to its last
//! acknowledged length, and every change is refused until that and a trial write succeed. Changes are
//! also refused while the ledger's file was moved, replaced or edited by another program, because what is
//! appended would be lost.
//!
//! **A start** (`open`) verifies every line of the ledger. Bytes that it cuts off are kept beside the ledger
//! in `ledger.cut.1`, a damaged ledger in `ledger.damaged.1`:
//!
//! | Found | Done |
//! |---|---|
//! | a last line without its newline | the newline is added |
//! | a line is bad or missing that was durable when the `mark` was written | damage, as below |
//! | a bad line, and no line of a later batch | it was never acknowledged: truncated, with a warning |
//! | a bad line, and lines of later batches | damage: the start is refused, with the lines and what to do; once accepted, all good lines are kept |
//! | an unfinished compaction | removed; the ledger is complete without it |
//! | a new secret | the ledger is compacted |
//! | an erasure that was not finished | the kept files are removed, and the ledger is compacted |
//!
//! **A compaction** writes a new generation of the ledger with what is left of each identity. A thread copies
//! it beside the writer (`copy`, `compaction`), which then adds what has happened since, and renames it into
//! place. It is due when superfluous lines outnumber the others, and is put off where the disk has no room for
//! it.
//!
//! **An erasure** (`erasure`) rids every file of an address: the ledger by a compaction, which also removes the files
//! kept beside it (`kept_files`). The operator's is answered after that, and `upkeep` does it for contacts that
//! refused or expired, once a day. A keyed hash of the address stays, the tombstone, so that an import does not bring
//! it back.
//!
//! **Deliveries** (`deliveries`) are due until a line says that they were made or given up. An index in memory has
//! what is due (`delivery_index`).
//!
//! **A list** (`listing`) reads the generation beside the writer.

mod commit_queue;
mod compaction;
mod contacts;
mod copy;
mod credentials;
mod deliveries;
mod delivery_index;
mod delivery_state;
mod draft;
mod erasure;
mod generation;
mod kept_files;
mod listing;
mod maintenance;
mod mark;
mod open;
pub(super) mod record;
mod shared_state;
mod store;
mod table;
mod writer;

pub(super) use deliveries::waiting_deliveries;
pub use maintenance::{LedgerRepair, LedgerReport, repair_ledger, verify_ledger};
pub use open::Tuning;
pub(super) use open::refusal;
pub use store::LedgerStore;

#[cfg(test)]
mod tests;
