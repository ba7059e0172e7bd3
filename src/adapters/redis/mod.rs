//! The limiter of several nodes: windows in Redis or Valkey, which decides by its own clock.
//!
//! | Module | Content |
//! |---|---|
//! | `address` | where the servers are, as in `--limits` |
//! | `settings` | that, and how to get in |
//! | `link` | the connection to one server, and whether it can decide |
//! | `cluster` | the servers of a cluster, and which of them has a window |
//! | `script` | the script `window.lua`, its calls, and the stored form of a window |
//! | `limiter` | the port |
//! | `scan` | windows looked through for the operator |
//! | `survey` | what a server says of itself |
//!
//! | Property | One primary | Cluster |
//! |---|---|---|
//! | No trailing window holds more than the count | while the primary lives, by its clock | the same, for each primary |
//! | All policies or none | one script | one script for each home, in parallel; taken back where another refused |
//! | False refusals | none | briefly, at most one for each request that is being taken back |
//! | A primary fails over | what was not replicated is forgotten | the same, for its windows |
//! | A call without an answer | may have been charged, is not asked again | the same |
//!
//! Nothing here decides while no server does: [`super::limiter::GuardedRateLimiter`] does.

mod address;
mod cluster;
mod limiter;
mod link;
mod scan;
mod script;
mod settings;
mod survey;

pub use self::address::RedisAddress;
pub use self::limiter::RedisRateLimiter;
pub use self::settings::RedisSettings;
pub use self::survey::RedisSurvey;
