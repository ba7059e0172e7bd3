//! Implementations of the ports over real technologies.
//!
//! | Module | Implements | Over |
//! |---|---|---|
//! | [`ledger`] | `ContactStore`, `KeyIssuer`, `RevocationList` | an append-only file, and a table of places in memory |
//! | [`cluster`] | all of these and `RateLimiter` | PostgreSQL, and Redis or Valkey: all that only several nodes need |
//! | [`limiter`] | `RateLimiter` | a sharded table in memory, written behind to sled |
//! | [`model`] | `ModelClient` | a search of the site's pages; an OpenAI-compatible API |
//! | [`webhook`] | `SignUps` | HTTP, to the newsletter's provider |
//! | [`smtp`] | `MailSender` | SMTP, to the operator's mail relay |
//! | [`block_list`] | `BlockList` | a file of the data directory |
//! | [`counts`] | `CountStore` | a file a month |
//! | [`system`] | `Clock`, `Entropy` | the operating system; also the user and the limit on open files |
//!
//! | Module | Shared by the above, or used by `main` |
//! |---|---|
//! | [`admin_socket`] | the socket of the operator's commands |
//! | [`backup`] | archives of a data directory, written while it serves, and restored |
//! | [`data_dir`] | the data directory: lock and secret; that of a node, which has only the lock |
//! | [`files`] | file operations, replaceable for fault injection |
//! | `secret_file` | the secret's file, looked after while the service runs |
//! | [`open_error`] | why a data directory cannot be opened |
//! | `sled_db` | opening and closing sled, with its panics as errors |
//! | [`supervisor`] | workers, started again when they end |
//! | [`threads`] | whether the system grants enough threads, and work with a deadline |
//! | [`listener`] | the public listener |
//! | [`systemd`] | the socket that a service manager passes, and what it is told |
//! | [`tls`] | certificates of the service's own TLS |
//! | [`acme`] | the certificate that the service orders itself |
//! | `connect` | TCP to a host with several addresses |
//! | `lenient_json` | JSON as other programs write it |
//! | [`outbound`] | the HTTP client, and TLS of all clients |
//! | [`inspection`] | a data directory from outside |
//! | [`probe`] | whether something on the network answers |
//! | [`site_dir`] | the operator's files for the site |
//! | [`operator_file`] | files named by flags, such as secrets |
//! | `consent_entry`, `hex` | how stores keep a consent, and bytes |
//! | [`part_file`] | files that commands read and write as a stream |

pub mod acme;
pub mod admin_socket;
pub mod backup;
pub mod block_list;
pub mod cluster;
mod connect;
mod consent_entry;
pub mod counts;
pub mod data_dir;
pub mod files;
mod hex;
pub mod inspection;
pub mod ledger;
pub(crate) mod lenient_json;
pub mod limiter;
pub mod listener;
pub mod model;
pub mod open_error;
pub mod operator_file;
pub mod outbound;
pub mod part_file;
mod pem;
pub mod probe;
mod secret_file;
pub mod site_dir;
mod sled_db;
pub mod smtp;
pub mod supervisor;
pub mod system;
pub mod systemd;
pub mod threads;
pub mod tls;
pub mod webhook;
