//! The ports, over real technologies, and their twins in memory.
//!
//! | Module | Implements | Over |
//! |---|---|---|
//! | [`store`] | `ContactStore`, `KeyIssuer` | an append-only ledger, with sled as its index |
//! | [`limiter`] | `RateLimiter` | a sharded table in memory, written behind to sled |
//! | [`model`] | `ModelClient` | the service's own pages |
//! | `embedded` | | letting go of sled, for both of its users |
//! | [`system`] | `Clock`, `Entropy` | the operating system |
//! | [`memory`] | every port | plain collections, for tests |

mod embedded;
pub mod limiter;
pub mod memory;
pub mod model;
pub mod store;
pub mod system;
