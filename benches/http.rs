//! The real service beside bare hyper, on loopback, in one run: processor time and latency of
//! `GET /api/v1/health`, and durable sign-ups a second. Only the ratios mean anything on a shared
//! machine.
//!
//! `cargo bench --bench http`, optionally with `-- ROUNDS SECONDS` (3 rounds of 2 seconds each).
//! Linux only: processor time comes from `/proc`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a measurement prints, divides, and reads the clock"
)]

mod support;

use std::process::Command;
use std::time::Duration;

use hyper::body::Bytes;

use support::{Server, directory, health, json, medians, serve_bare, service_command, sign_up};

/// Keep-alive connections that ask at once.
const CONNECTIONS: usize = 64;

/// Set for the child that is bare hyper: the body to answer with.
const BARE_BODY: &str = "BENCH_BARE_BODY";

#[tokio::main]
async fn main() {
    if let Ok(body) = std::env::var(BARE_BODY) {
        let body = Bytes::from(body);
        return serve_bare(move |_| std::future::ready(Ok(json(body.clone())))).await;
    }
    let numbers: Vec<u64> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let rounds = numbers.first().copied().unwrap_or(3);
    let length = Duration::from_secs(numbers.get(1).copied().unwrap_or(2));

    let data_dir = directory();
    let service = Server::start(service_command(data_dir.path()));
    let body = service.body(health()).await;
    let mut bare_command = Command::new(std::env::current_exe().unwrap());
    bare_command.env(BARE_BODY, body);
    let bare = Server::start(bare_command);

    println!("GET /api/v1/health, {CONNECTIONS} connections, medians of {rounds} rounds");
    let (mut of_service, mut of_bare) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        of_bare.push(bare.measure(CONNECTIONS, length, |_| health()).await);
        of_service.push(service.measure(CONNECTIONS, length, |_| health()).await);
    }
    let (of_service, of_bare) = (medians(&of_service), medians(&of_bare));
    of_bare.print("bare hyper");
    of_service.print("landing-api");
    println!(
        "ratio             cpu {:.2}x  throughput {:.2}x  p99 {:.2}x",
        of_service.cpu_us / of_bare.cpu_us,
        of_service.per_second / of_bare.per_second,
        of_service.p99_us / of_bare.p99_us
    );

    println!("POST /api/v1/newsletter, a new address each, fsynced before its 200");
    let sign_ups = service.measure(CONNECTIONS, length, sign_up).await;
    sign_ups.print("64 connections");
}
