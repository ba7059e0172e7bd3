//! The record of several nodes, in a PostgreSQL database run by somebody else.
//!
//! | Module | Content |
//! |---|---|
//! | `address` | the settings: URL of the database with its hosts, password, authorities, secrets |
//! | `connection` | connecting to the writable host, the check of its tables, and connections of their own for long work |
//! | `link` | connections that are replaced when they fail, statements over them, availability for health and the log |
//! | `error` | errors of the database, for a statement and for the operator |
//! | `store` | the store behind the ports |
//! | `contacts`, `deliveries`, `credentials`, `counts` | the ports |
//! | `maintenance` | creating and filling the tables, for `landing-api migrate` and `move`, and their upkeep |
//! | `rows` | values of the domain as rows of JSON and as columns |
//!
//! **A change of a contact**, such as a sign-up, reads its state, decides by the rules of the domain, and writes the new
//! state unless another change came first: then it begins again. A statement whose response was lost is sent again,
//! so such a sign-up counts as a renewal by the same client, which it is. Sign-ups are not collected into batches: the
//! default limits admit three a second.
//!
//! **Nothing is cancelled.** A server that waits for its standby reports a cancelled commit as successful. So
//! deadlines are enforced here: when one passes, the caller gets an error, and the connection is dropped. The
//! change may have been stored.
//!
//! **A pooler** may be in between, even in transaction mode: statements have no name, and each change carries its
//! settings (`rows`) until the end of its own transaction.
//!
//! **Connections.** Five per node: four for changes, one for lookups, all pipelined; one that is missing is replaced
//! by the next. Counts, erasures, lists, imports and copies use another one while they last, and one of these stays
//! for the next use. Every second each of the five is checked, and replaced if it is not writable or does not respond.
//! All hosts of the URL are tried at once, and the first writable one is used.

mod address;
mod connection;
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
pub use connection::DedicatedConnection;
pub use error::PostgresOpenError;
pub use maintenance::{Migration, migrate};
pub use rows::{Stored, counts_of};
pub use store::PostgresStore;
