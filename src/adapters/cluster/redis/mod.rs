//! The limiter of several nodes: windows in Redis or Valkey, which decides by its own clock.
//!
//! | Module | Content |
//! |---|---|
//! | `address` | where the server is, as in `--limits` |
//! | `settings` | that, how to get in, and the library's connection |
//! | `link` | whether the server can decide |
//! | `failure` | its errors in words |
//! | `script` | the script `window.lua`, its calls, and the stored form of a window |
//! | `limiter` | the port |
//! | `scan` | windows looked through for the operator |
//! | `survey` | what the server says of itself |
//!
//! One Redis or Valkey decides, perhaps with replicas behind the same name; clusters are not supported. One
//! server makes tens of thousands of decisions a second.
//!
//! | Property | |
//! |---|---|
//! | No trailing window holds more than the count | while the primary lives, by its clock |
//! | All policies or none | one script |
//! | A primary fails over | what was not replicated is forgotten |
//! | A call without an answer | may have been charged, is not asked again |
//!
//! Nothing here decides while no server does: [`super::FallbackRateLimiter`] does.

mod address;
mod failure;
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
