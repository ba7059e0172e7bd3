//! The real service beside bare hyper, which answers with the same body, on loopback, in one run:
//! processor time, throughput and latency. Only the ratios mean anything on a shared machine: medians
//! of those of each round.
//!
//! `cargo bench --bench http`, optionally with `-- ROUNDS SECONDS` (5 rounds of a second each).
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

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use hyper::body::Bytes;

use support::{
    Clients, Server, directory, health, json, medians, ratio, serve_bare_over, service_command, tls,
};

/// Keep-alive connections that ask at once.
const CONNECTIONS: usize = 64;

/// Set for the child that is bare hyper: the body to answer with.
const BARE_BODY: &str = "BENCH_BARE_BODY";
/// Set for it if it speaks TLS: the directory of the certificate.
const BARE_TLS: &str = "BENCH_BARE_TLS";

/// What is asked.
struct Case {
    name: &'static str,
    request: fn(u64) -> String,
    /// Whether a line for each request goes to a file.
    is_logged: bool,
    /// Whether each request has a connection of its own.
    connects_anew: bool,
    /// Whether both speak TLS, with a whole handshake for each connection.
    speaks_tls: bool,
}

const CASES: [Case; 8] = [
    Case {
        name: "health",
        request: |_| health(),
        is_logged: false,
        connects_anew: false,
        speaks_tls: false,
    },
    Case {
        name: "health, logged",
        request: |_| health(),
        is_logged: true,
        connects_anew: false,
        speaks_tls: false,
    },
    Case {
        name: "document",
        request: |_| get("/.well-known/api-catalog"),
        is_logged: false,
        connects_anew: false,
        speaks_tls: false,
    },
    Case {
        name: "chat quota",
        request: |_| get("/api/v1/assistant/chat"),
        is_logged: false,
        connects_anew: false,
        speaks_tls: false,
    },
    Case {
        name: "echo",
        request: |_| echo(),
        is_logged: false,
        connects_anew: false,
        speaks_tls: false,
    },
    Case {
        name: "health, connections anew",
        request: |_| health(),
        is_logged: false,
        connects_anew: true,
        speaks_tls: false,
    },
    Case {
        name: "health, TLS",
        request: |_| health(),
        is_logged: false,
        connects_anew: false,
        speaks_tls: true,
    },
    Case {
        name: "health, TLS, connections anew",
        request: |_| health(),
        is_logged: false,
        connects_anew: true,
        speaks_tls: true,
    },
];

#[tokio::main]
async fn main() {
    if let Ok(body) = std::env::var(BARE_BODY) {
        let body = Bytes::from(body);
        let tls = std::env::var_os(BARE_TLS).map(|dir| tls::acceptor(dir.as_ref()));
        let answer = move |_| std::future::ready(Ok(json(body.clone())));
        return serve_bare_over(tls, answer).await;
    }
    let numbers: Vec<u64> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let rounds = numbers.first().copied().unwrap_or(5);
    let length = Duration::from_secs(numbers.get(1).copied().unwrap_or(1));
    println!(
        "{CONNECTIONS} connections, kept alive but for two cases, clients on all cores, medians of {rounds} rounds of \
         {length:?}"
    );
    for case in CASES {
        compare(&case, rounds, length).await;
    }
}

async fn compare(case: &Case, rounds: u64, length: Duration) {
    let (data_dir, log_dir) = (directory(), directory());
    let log_level = if case.is_logged { "info" } else { "warn" };
    let mut command = service_command(data_dir.path(), log_level);
    command.stderr(File::create(log_dir.path().join("log")).unwrap());
    let tls = case.speaks_tls.then(|| {
        let (flags, connector) = tls::make(log_dir.path());
        command.args(flags);
        connector
    });
    let service = Server::start_over(tls.clone(), command);
    let body = service.body((case.request)(0)).await;
    let mut bare_command = Command::new(std::env::current_exe().unwrap());
    bare_command.env(BARE_BODY, body);
    if case.speaks_tls {
        bare_command.env(BARE_TLS, log_dir.path());
    }
    let bare = Server::start_over(tls, bare_command);

    let mut clients = Clients::on_all_cores(CONNECTIONS);
    clients.connects_anew = case.connects_anew;
    let (mut of_service, mut of_bare) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        of_bare.push(bare.measure(clients, length, case.request).await);
        of_service.push(service.measure(clients, length, case.request).await);
    }
    let ratio = ratio(&of_service, &of_bare);
    println!("{}", case.name);
    medians(&of_bare).print("  bare hyper");
    medians(&of_service).print("  landing-api");
    println!(
        "  ratio           cpu {:.2}x  throughput {:.2}x  p99 {:.2}x",
        ratio.cpu_us, ratio.per_second, ratio.p99_us
    );
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

fn echo() -> String {
    let body = r#"{"message":"Is anybody there?"}"#;
    let length = body.len();
    format!(
        "POST /api/v1/sandbox/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}
