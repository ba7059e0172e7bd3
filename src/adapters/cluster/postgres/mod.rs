//! The record of several nodes, in a PostgreSQL database run by somebody else.
//!
//! | Module | Content |
//! |---|---|
//! | `address` | the settings: URL of the database with its hosts, password, authorities, secrets |
//! | `connection` | a connection, and the check of its tables |
//! | `connector` | connecting to the writable host, and separate connections for long work |
//! | `link` | a connection that is replaced when it fails, statements over it, and its availability, for health and the log |
//! | `error` | errors of the database, for a statement and for the operator |
//! | `store` | the store behind the ports |
//! | `committer` | sign-ups in batches |
//! | `contacts`, `deliveries`, `credentials`, `counts` | the ports |
//! | `maintenance` | creating and filling the tables, for `landing-api migrate` and `move`, and their upkeep |
//! | `rows` | values of the domain as rows of JSON and as columns |
//!
//! **A sign-up** waits for the committer, which sends all waiting ones as one statement: at most 64 rows, one per
//! address, ordered by address, so that the batches of two nodes cannot deadlock. The result shows who created
//! the row, because it returns the id of the sign-up that did. A sign-up whose response was lost is sent again
//! with the same id, leaves the row unchanged, and gets the first result. Only if another client renewed the
//! same row in between does it count as a renewal by the same client, which by then it is.
//!
//! **Nothing is cancelled.** A server that waits for its standby reports a cancelled commit as successful. So
//! deadlines are enforced here: when one passes, the caller gets an error, and the connection is dropped. The
//! change may have been stored.
//!
//! **A pooler** may be in between, even in transaction mode: statements have no name, and each change carries its
//! settings (`rows`) until the end of its own transaction.
//!
//! **Connections.** Two per node: one for changes, one for lookups, both pipelined. Counts, erasures, lists,
//! imports and copies use another one while they last, and one of these stays for the next use. All connections
//! of a node have a random name in the database (`application_name`), by which nodes are counted. Every second
//! each of the two is checked, and replaced if it is not writable or does not respond. All hosts of the URL are
//! tried at once, and the first writable one is used.

mod address;
mod committer;
mod connection;
mod connector;
mod contacts;
mod counts;
mod credentials;
mod deliveries;
mod error;
mod link;
mod maintenance;
mod rows;
mod store;

pub use address::{PostgresAddress, PostgresSettings};
pub use error::PostgresOpenError;
pub use maintenance::{Filling, Migration, migrate};
pub use rows::Stored;
pub use store::PostgresStore;
