//! The record of several nodes, in a PostgreSQL database that somebody else runs.
//!
//! | Module | What it holds |
//! |---|---|
//! | `address` | what the store is opened with: the URL of the database, with the hosts that it names |
//! | `connection` | a connection |
//! | `connector` | connecting to the host that takes writes, with the checks of `schema` |
//! | `link` | a connection that is replaced when it fails, asking through it, and whether the database answers, for health and the log |
//! | `error` | what an error of the database means, for a statement and for the operator |
//! | `schema` | the tables |
//! | `migration` | making and updating them, for `landing-api migrate` |
//! | `store` | the store that the ports stand for |
//! | `committer` | sign-ups, in batches |
//! | `contacts`, `credentials`, `counts`, `maintenance` | the ports |
//! | `copy` | what `landing-api move` brings along |
//! | `dedicated` | a connection of its own for work that takes long |
//! | `rows` | values of the domain as rows of JSON |
//! | `values` | values of the domain as columns |
//!
//! **A sign-up** waits for the committer, which sends all that wait as one statement: at most 64 rows, one
//! an address, in the order of the addresses, so that the batches of two nodes cannot lock each other out.
//! The answer says who created the row, because it returns the id of the sign-up that did. A sign-up whose
//! answer was lost is sent again with the same id, leaves the row as it is, and gets the first answer. Only if
//! another client renewed the same row in between, it counts as a renewal by the same client, which it is by
//! then.
//!
//! **Nothing is cancelled.** A server that waits for its standby answers a cancelled commit as a good one.
//! So deadlines are kept here: when one passes, the caller gets an error, and the connection is dropped. The
//! change may have been kept.
//!
//! **A pooler** may stand between, in transaction mode, too: statements have no name, and each change carries
//! its settings (`values`) to the end of its own transaction.
//!
//! **Connections.** Two a node: one for changes, one for look-ups, both pipelined. Counts, erasures, lists, imports and
//! copies take one of their own for as long as they last, and one of these stays for the next. All of a node have a random name in the database
//! (`application_name`), by which nodes are counted. Every second each of the two is asked whether it takes
//! writes, and is replaced if it does not, or does not answer. All hosts of the URL are tried at once, and
//! the first that takes writes is taken.

mod address;
mod committer;
mod connection;
mod connector;
mod contacts;
mod copy;
mod counts;
mod credentials;
mod dedicated;
mod deliveries;
mod error;
mod link;
mod maintenance;
mod migration;
mod rows;
mod schema;
mod store;
mod values;

pub use address::{PostgresAddress, PostgresSettings};
pub use copy::Filling;
pub use error::PostgresOpenError;
pub use migration::{Migration, migrate};
pub use rows::Stored;
pub use store::PostgresStore;
