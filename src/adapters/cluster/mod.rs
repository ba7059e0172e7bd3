//! Everything that only several nodes need: the engines that they share, and a node's handling of them.
//!
//! | Module | Implements | Over |
//! |---|---|---|
//! | [`postgres`] | `ContactStore`, `KeyIssuer`, `RevocationList`, `DeliveryQueue`, `CountStore`, `StoreMaintenance` | a PostgreSQL database |
//! | [`credential_cache`] | `KeyIssuer`, `RevocationList` | those of the database, cached for a while |
//! | [`redis`] | `RateLimiter` | Redis or Valkey |
//! | `answers` | | the limit of both engines' responses |
//! | `fallback` | `RateLimiter` | Redis or Valkey, and the node's own table while it is unavailable |

mod answers;
pub mod credential_cache;
mod fallback;
pub mod postgres;
pub mod redis;

pub use self::fallback::FallbackRateLimiter;
