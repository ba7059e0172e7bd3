//! What only several nodes need: the engines that they share, and what a node does about them.
//!
//! | Module | Implements | Over |
//! |---|---|---|
//! | [`postgres`] | `ContactStore`, `KeyIssuer`, `RevocationList`, `CountStore`, `StoreMaintenance` | a PostgreSQL database |
//! | [`credential_cache`] | `KeyIssuer`, `RevocationList` | those of the database, remembered for a while |
//! | [`redis`] | `RateLimiter` | Redis or Valkey |
//! | `answers` | | the bound of both engines' answers |
//! | `fallback` | `RateLimiter` | Redis or Valkey, and the node's own table while it is away |

mod answers;
pub mod credential_cache;
mod fallback;
pub mod postgres;
pub mod redis;

pub use self::fallback::FallbackRateLimiter;
