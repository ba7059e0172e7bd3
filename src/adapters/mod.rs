//! Implementations of the ports over real technologies.
//!
//! | Module | Implements | Over |
//! |---|---|---|
//! | [`ledger`] | `ContactStore`, `KeyIssuer`, `RevocationList`, `DeliveryQueue` | an append-only file, and a table of places in memory |
//! | [`limiter`] | `RateLimiter` | a sharded table in memory, written behind to sled |
//! | [`model`] | `ModelClient` | a search of the site's pages; an OpenAI-compatible API |
//! | [`cluster`] | the ports of `ledger` and `limiter`, and `CountStore` | PostgreSQL, and Redis or Valkey: everything that only several nodes need |
//! | [`outbound`] | `WebhookSender`, `MailSender` | HTTP and SMTP |
//! | [`files`] | `BlockList`, `CountStore`, `QuestionStore` | files of the data directory; also the directory itself, backups, and files named by flags |
//! | [`system`] | `Clock`, `Entropy` | the operating system; also the user, limits, and work with a deadline |
//!
//! | Module | Shared by the above, or used by `main` |
//! |---|---|
//! | [`tls`] | certificates of the built-in TLS, from files or from ACME |
//! | [`listener`] | the public listener, the sockets passed by the service manager, and notifications to it |
//! | [`admin_socket`] | the socket of the operator's commands |
//! | [`supervisor`] | workers, restarted when they end |
//! | `stored_json` | the stored forms of contacts, deliveries, keys and revocations |
//! | `lenient_json` | JSON as other programs write it |

pub mod admin_socket;
pub mod cluster;
pub mod files;
pub mod ledger;
pub(crate) mod lenient_json;
pub mod limiter;
pub mod listener;
pub mod model;
pub mod outbound;
mod stored_json;
pub mod supervisor;
pub mod system;
pub mod tls;
