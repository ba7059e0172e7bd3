//! The limiter of several nodes: windows in Redis or Valkey, decided by the server's clock.
//!
//! | Module | Content |
//! |---|---|
//! | `address` | the server's address, as in `--limits` |
//! | `link` | the settings, the connection in use, the check that the server can decide, and errors in words |
//! | `script` | the script `window.lua`, its calls, and the stored form of a window |
//! | `limiter` | the port, with the listing and removing of windows for the operator, and the server's description of itself |
//!
//! A single Redis or Valkey decides, optionally with replicas behind the same name; clusters are not supported.
//! One server makes tens of thousands of decisions per second.
//!
//! | Property | |
//! |---|---|
//! | No trailing window exceeds its count | as long as the primary lives, by its clock |
//! | All policies or none | a single script |
//! | Failover of the primary | unreplicated charges are forgotten |
//! | A call without a response | may have been charged, is not repeated |
//!
//! Nothing here decides without a server: [`super::FallbackRateLimiter`] does.

mod address;
mod limiter;
mod link;
mod script;

pub use self::address::RedisAddress;
pub use self::limiter::{RedisRateLimiter, RedisSurvey};
pub use self::link::RedisSettings;
