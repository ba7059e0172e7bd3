//! The real service beside bare hyper, which answers with the same body, and beside axum with a rate limit, on
//! loopback, in one run: processor time, throughput and latency. Only the ratios mean anything on a shared machine:
//! medians of those of each round.
//!
//! `cargo bench --bench http`, optionally with `-- ROUNDS SECONDS` (5 rounds of a second each). With `-- check` it
//! asks for health alone, and fails when that takes too much more than bare hyper.
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

#[path = "support/rival.rs"]
mod rival;
mod support;

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use hyper::body::Bytes;

use support::{
    Clients, Server, directory, health, json, medians, ratio, serve_bare, service_command, tls,
};

/// Keep-alive connections that ask at once.
const CONNECTIONS: usize = 64;

/// Set for a child: the server that it is, and the body to answer with.
const CHILD: &str = "BENCH_CHILD";
const CHILD_BODY: &str = "BENCH_CHILD_BODY";
/// Set for it if it speaks TLS: the directory of the certificate.
const CHILD_TLS: &str = "BENCH_CHILD_TLS";

/// `-- check` fails when a health check takes more than so many times the processor time of bare hyper: 1.27 on an idle
/// machine, 1.16 to 1.22 on a busy one. On some machines a tenth more has been seen.
const CHECKED_RATIO: f64 = 1.45;
/// Its rounds: short ones, so that what else the machine does meets both.
const CHECK_ROUNDS: usize = 40;
const CHECK_LENGTH: Duration = Duration::from_millis(150);

/// What is asked.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    request: fn(u64) -> String,
    /// Whether a line for each request goes to a file.
    is_logged: bool,
    /// Whether each request has a connection of its own.
    connects_anew: bool,
    /// Whether all speak TLS, with a whole handshake for each connection.
    speaks_tls: bool,
    /// Whether axum is measured, too.
    has_rival: bool,
}

const HEALTH: Case = Case {
    name: "health",
    request: |_| health(),
    is_logged: false,
    connects_anew: false,
    speaks_tls: false,
    has_rival: false,
};

const CASES: [Case; 8] = [
    Case {
        has_rival: true,
        ..HEALTH
    },
    Case {
        name: "health, logged",
        is_logged: true,
        ..HEALTH
    },
    Case {
        name: "document",
        request: |_| get("/.well-known/api-catalog"),
        ..HEALTH
    },
    Case {
        name: "chat quota",
        request: |_| get("/api/v1/assistant/chat"),
        ..HEALTH
    },
    Case {
        name: "echo",
        request: |_| echo(),
        ..HEALTH
    },
    Case {
        name: "health, connections anew",
        connects_anew: true,
        ..HEALTH
    },
    Case {
        name: "health, TLS",
        speaks_tls: true,
        ..HEALTH
    },
    Case {
        name: "health, TLS, connections anew",
        connects_anew: true,
        speaks_tls: true,
        ..HEALTH
    },
];

#[tokio::main]
async fn main() {
    if let Ok(child) = std::env::var(CHILD) {
        let body = std::env::var(CHILD_BODY).unwrap();
        if child == AXUM {
            return rival::serve(body).await;
        }
        let body = Bytes::from(body);
        let tls = std::env::var_os(CHILD_TLS).map(|dir| tls::acceptor(dir.as_ref()));
        let answer = move |_| std::future::ready(Ok(json(body.clone())));
        return serve_bare(tls, answer).await;
    }
    if std::env::args().any(|argument| argument == "check") {
        let cpu = compare(&HEALTH, CHECK_ROUNDS, CHECK_LENGTH).await;
        assert!(cpu <= CHECKED_RATIO, "more than {CHECKED_RATIO} times");
        return;
    }
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<u32>().ok());
    let rounds = numbers.next().unwrap_or(5) as usize;
    let length = Duration::from_secs(1) * numbers.next().unwrap_or(1);
    println!(
        "{CONNECTIONS} connections, kept alive but for two cases, clients on all cores, medians of {rounds} rounds of \
         {length:?}"
    );
    for case in CASES {
        compare(&case, rounds, length).await;
    }
}

const BARE: &str = "bare hyper";
const AXUM: &str = "axum, governor";

/// Measures the servers in turn. Gives the service's processor time in times of bare hyper's.
async fn compare(case: &Case, rounds: usize, length: Duration) -> f64 {
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
    let child = |name: &'static str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(CHILD, name).env(CHILD_BODY, &body);
        if case.speaks_tls {
            command.env(CHILD_TLS, log_dir.path());
        }
        (name, Server::start_over(tls.clone(), command))
    };
    let mut servers = vec![child(BARE), ("landing-api", service)];
    if case.has_rival {
        servers.push(child(AXUM));
    }
    let mut clients = Clients::on_all_cores(CONNECTIONS);
    clients.connects_anew = case.connects_anew;
    let mut measured = vec![Vec::new(); servers.len()];
    for round in 0..rounds {
        // The servers take turns at going first.
        for turn in 0..servers.len() {
            let index = (round + turn) % servers.len();
            let (_, server) = &servers[index];
            let result = server.measure(clients, length, case.request).await;
            measured[index].push(result);
        }
    }
    println!("{}", case.name);
    for ((name, _), rounds) in servers.iter().zip(&measured) {
        let ratio = ratio(rounds, &measured[0]);
        medians(rounds).print(&format!("  {name}"));
        println!(
            "                  in times of bare hyper: cpu {:.2}  throughput {:.2}  p99 {:.2}",
            ratio.cpu_us, ratio.per_second, ratio.p99_us
        );
    }
    ratio(&measured[1], &measured[0]).cpu_us
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
