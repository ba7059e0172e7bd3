//! What the engines of several nodes cost, beside what they may cost: Redis for a decision, and the whole
//! service over both. Only the ratios mean anything on a shared machine.
//!
//! `cargo bench --bench engines`, optionally with `-- ROUNDS SECONDS` (3 rounds of 3
//! seconds each). It needs `postgres`, `initdb`, `psql`, `pgbench` and `redis-server`, and starts and ends
//! the engines itself. Linux only.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench prints, may fail, and measures with the real clock"
)]
#![allow(
    dead_code,
    reason = "the tests of engines do more with what both share"
)]

#[path = "../../tests/it/call.rs"]
mod call;
#[path = "../../tests/engines/client.rs"]
mod client;
mod decisions;
#[path = "../../tests/engines/engine.rs"]
mod engine;
#[path = "../../tests/it/fixtures.rs"]
mod fixtures;
#[path = "../../tests/engines/nodes.rs"]
mod nodes;
#[path = "../../tests/engines/postgres.rs"]
mod postgres;
#[path = "../../tests/it/program.rs"]
mod program;
#[path = "../../tests/engines/redis.rs"]
mod redis;
mod service;
#[path = "../support/mod.rs"]
mod support;
#[path = "../../tests/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests do more with it")]
mod twins;

use std::time::Duration;

#[tokio::main]
async fn main() {
    let numbers: Vec<u64> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let rounds = numbers.first().copied().unwrap_or(3);
    let length = Duration::from_secs(numbers.get(1).copied().unwrap_or(3));
    decisions::compare().await;
    service::compare(rounds, length).await;
}
