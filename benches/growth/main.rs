//! How the real service grows, as a table: memory when idle, with a million tracked identities and
//! after they have expired; a list of contacts that grows; the binary. And a soak: a mixed load
//! for as long as is asked, with a line every 30 seconds.
//!
//! `cargo bench --bench growth`, or `-- idle`, `-- identities`, `-- contacts`, `-- size` alone, or
//! `-- contacts SIZE ...`, or `-- soak SECONDS`. Data directories are made under `target/tmp`. Linux only.
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

mod contacts;
mod identities;
mod process;
mod soak;
#[path = "../support/sqlite.rs"]
mod sqlite;
#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use support::{Server, directory, health, service_command};
use tokio::runtime::Runtime;

use process::memory;

/// How many contacts there are, unless others are asked for.
const SIZES: [u64; 3] = [0, 100_000, 1_000_000];

fn main() {
    sqlite::serve_if_asked();
    Runtime::new().unwrap().block_on(run());
}

async fn run() {
    // cargo adds a flag of its own.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    if let [soak, seconds] = words.as_slice()
        && soak == "soak"
    {
        return soak::run(Duration::from_secs(seconds.parse().unwrap())).await;
    }
    let is_asked = |part: &str| words.is_empty() || words.iter().any(|word| word == part);
    println!("| What | Measured | Target |\n|---|---|---|");
    if is_asked("size") {
        size();
    }
    if is_asked("idle") {
        idle().await;
    }
    if is_asked("identities") {
        identities::run().await;
    }
    if is_asked("contacts") {
        let asked: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
        let sizes = if asked.is_empty() {
            &SIZES
        } else {
            asked.as_slice()
        };
        contacts::run(sizes).await;
    }
}

/// A line of the table.
fn row(what: &str, measured: &str, target: &str) {
    println!("| {what} | {measured} | {target} |");
}

fn size() {
    let bytes = std::fs::metadata(env!("CARGO_BIN_EXE_landing-api"))
        .unwrap()
        .len();
    let measured = format!("{:.1} MiB", process::mib(bytes));
    row("packaged program", &measured, "14 MiB");
}

async fn idle() {
    let directory = directory();
    let server = Server::start(service_command(directory.path(), "warn"));
    // Whatever a first request makes is there, too.
    server.body(health()).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let memory = memory(&server);
    let measured = format!(
        "{:.1} MiB, {:.1} MiB of it not the binary's own pages",
        memory.resident_mib, memory.anonymous_mib
    );
    row("memory, idle", &measured, "15 MiB");
}
