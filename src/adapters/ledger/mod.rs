//! Contacts, deliveries, keys and revocations: the record, and the place of each identity's last event in it.
//!
//! **The record** is `ledger.jsonl`, a file of events that only grows (`record`). It is the only source of truth.
//! **Lookups** read it: a table in memory has the place of each identity's last event (`table`, `generation`).
//! A start builds the table, since it reads every line anyway.
//!
//! **A commit.** Changes wait in a bounded queue. One thread takes all waiting changes as a batch (`store`, `writer`):
//! it decides them in order, where changes of one batch see each other (`draft`), appends their events to the ledger,
//! syncs once, shows them to lookups, and only then replies. So a change is durable before it is acknowledged, and
//! concurrent changes share a sync. A failed write or sync is never taken for success: the ledger is truncated to its
//! last acknowledged length, and every change is refused until that and a trial write succeed. Changes are also refused
//! while another program has moved, replaced or edited the ledger's file, because anything appended would be lost.
//!
//! **A start** (`open`) verifies every line of the ledger:
//!
//! | Finding | Action |
//! |---|---|
//! | a last line without its newline | the newline is added |
//! | a line that was durable when the `mark` was written is bad or missing | damage, as below |
//! | a bad line, and no line of a later batch | it was never acknowledged: truncated, with a warning |
//! | a bad line, and lines of later batches, after it or begun in it | damage: the start is refused, with the line and the solution: a backup, or a repair (`maintenance`), which keeps all good lines |
//! | an unfinished compaction | removed; the ledger is complete without it |
//! | a new secret | the ledger is compacted |
//! | an unfinished erasure | the ledger is compacted |
//!
//! **A compaction** writes a new generation of the ledger with the current state of each identity. A thread copies it
//! in parallel with the writer (`compaction`). The writer only waits while the events since are added and the
//! copy is renamed into place. A compaction is due when there are more superfluous lines than others, and is postponed
//! if the disk has no room for it.
//!
//! **An erasure** (`contacts`) removes an address from every file: from the ledger by a compaction, which also
//! removes the damaged ledger that a repair kept. The operator's request is answered after that; for contacts
//! that refused or expired, `trimming` does it once a day. A keyed hash of the address stays, the tombstone, so
//! that an import does not bring it back.
//!
//! **Deliveries** (`deliveries`) are due until a line says that they were made or failed. An index in memory
//! has the due ones (`table`).
//!
//! **A list** reads the generation in order, up to its end at the time of the request, in parallel with the writer. A
//! compaction may replace the generation meanwhile.

mod compaction;
mod contacts;
mod credentials;
mod deliveries;
mod draft;
mod generation;
mod health;
mod maintenance;
mod mark;
mod open;
pub(super) mod record;
mod store;
mod table;
mod writer;

pub(super) use maintenance::open_verified;
pub use maintenance::{LedgerRepair, LedgerReport, repair_ledger, verify_ledger};
pub use open::Tuning;
pub(super) use open::refusal;
pub use store::LedgerStore;

#[cfg(test)]
mod tests;
