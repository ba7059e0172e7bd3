//! PostgreSQL, Redis and Valkey behind the ports, and several nodes of the service over them.
//!
//! `cargo test --test engines`; it needs the programs `postgres`, `initdb` and
//! `redis-server`, and starts and ends them itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets the unexpected has failed"
)]
#![allow(unreachable_pub, reason = "nothing outside reaches a test")]

mod away;
#[path = "../it/call.rs"]
#[allow(dead_code, reason = "the other tests do more with it")]
mod call;
mod client;
mod contracts;
mod copies;
mod deliveries;
mod disk;
mod engine;
#[path = "../it/fixtures.rs"]
#[allow(dead_code, reason = "the other tests do more with it")]
mod fixtures;
mod limiters;
mod limits_access;
mod limits_away;
mod moved;
mod nodes;
mod operator;
mod postgres;
mod prelude;
#[path = "../it/program.rs"]
#[allow(dead_code, reason = "the other tests do more with it")]
mod program;
#[path = "../it/contracts/rate_limiter.rs"]
mod rate_limiter;
mod record;
mod redis;
#[path = "../it/contracts/refunds.rs"]
mod refunds;
mod relay;
mod shared;
mod starts;
#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the other tests do more with it")]
mod twins;
mod window_script;
