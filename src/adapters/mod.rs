//! The ports, over real technologies, and their twins in memory.
//!
//! | Module | Implements | Over |
//! |---|---|---|
//! | [`data_dir`] | | the directory with its lock and secret, for both that follow |
//! | [`store`] | `ContactStore`, `KeyIssuer` | an append-only ledger, with sled as its index |
//! | [`limiter`] | `RateLimiter` | a sharded table in memory, written behind to sled |
//! | [`webhook`] | `SubscriptionNotifier` | HTTP, to the newsletter's provider |
//! | [`model`] | `ModelClient` | the service's own pages |
//! | `sled_db` | | what both users of sled need: its panics caught, its files let go of |
//! | [`outbound`], [`secret_file`] | | asking others over HTTP, and the secrets for it |
//! | [`system`] | `Clock`, `Entropy` | the operating system |
//! | [`memory`] | every port | plain collections, for tests |

pub mod data_dir;
pub mod limiter;
pub mod memory;
pub mod model;
pub mod outbound;
pub mod secret_file;
mod sled_db;
pub mod store;
pub mod system;
pub mod webhook;
