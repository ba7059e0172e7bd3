//! The ports, over real technologies, and their twins in memory.
//!
//! | Module | Implements | Over |
//! |---|---|---|
//! | [`data_dir`] | | the directory with its lock and secret |
//! | [`ledger`] | `ContactStore`, `KeyIssuer`, `RevocationList` | an append-only file, with sled as its index |
//! | [`files`] | | file operations that tests can make fail |
//! | [`open_error`] | | why a data directory cannot be opened |
//! | [`limiter`] | `RateLimiter` | a sharded table in memory, written behind to sled |
//! | [`model`] | `ModelClient` | the service's own pages; the API of an OpenAI-compatible server |
//! | [`webhook`] | `SubscriptionNotifier` | HTTP, to the newsletter's provider |
//! | `sled_db` | | what both users of sled need: its panics caught, its files closed and removed |
//! | [`outbound`] | | asking others over HTTP |
//! | [`system`] | `Clock`, `Entropy` | the operating system, which also limits open files |
//! | [`site_dir`] | | the operator's own files for the site |
//! | [`operator_file`] | | files that flags name, secrets among them |
//! | [`memory`] | every port | plain collections, for tests |

pub mod data_dir;
pub mod files;
pub mod ledger;
pub mod limiter;
pub mod memory;
pub mod model;
pub mod open_error;
pub mod operator_file;
pub mod outbound;
pub mod site_dir;
mod sled_db;
pub mod system;
pub mod webhook;
