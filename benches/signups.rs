//! Durable sign-ups, a new address each, fsynced before it is answered: the ledger beside SQLite, on the same
//! disk in one run. Once called directly, and once over HTTP on loopback: the real service with every policy
//! counting, and SQLite behind bare hyper that does nothing else, with all clients on one thread,
//! which leaves the servers more of the cores that they share. Only the ratios mean anything on a
//! shared machine: medians of those of each round.
//!
//! `cargo bench --bench signups`, optionally with `-- ROUNDS SECONDS` (3 rounds of 2 seconds each).
//! The data directories are made under `target/tmp`. Linux only.
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

#[path = "support/sqlite.rs"]
mod sqlite;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use landing_api::adapters::files::data_dir::DataDir;
use landing_api::adapters::ledger::LedgerStore;
use landing_api::adapters::system::SystemEntropy;
use landing_api::domain::consent::{Consent, LeaveToken, SignUpWay, TextDigest};
use landing_api::domain::contact::{Origin, OriginHash, SignUp, Subscription};
use landing_api::domain::email::EmailAddress;
use landing_api::ports::ContactStore;
use tokio::runtime::Runtime;

use sqlite::{NETWORK, NOW, Sqlite};
use support::{
    Clients, Measured, Server, cpu_us, directory, medians, ratio, service_command, sign_up,
};

/// Callers or connections at once.
const CROWDS: [usize; 2] = [1, 64];

fn main() {
    sqlite::serve_if_asked();
    let runtime = Runtime::new().unwrap();
    let numbers: Vec<u64> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let rounds = numbers.first().copied().unwrap_or(3);
    let length = Duration::from_secs(numbers.get(1).copied().unwrap_or(2));
    println!("durable sign-ups, medians of {rounds} rounds");
    runtime.block_on(called_directly(rounds, length));
    runtime.block_on(over_http(rounds, length));
}

async fn called_directly(rounds: u64, length: Duration) {
    let (of_store, of_sqlite) = (directory(), directory());
    let data_dir = DataDir::open(of_store.path(), &SystemEntropy).unwrap();
    let store = Arc::new(LedgerStore::open(&data_dir).unwrap());
    let sqlite = Sqlite::open(of_sqlite.path());
    for callers in CROWDS {
        let (mut of_store, mut of_sqlite) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            of_sqlite.push(call(&Keeper::Sqlite(sqlite.clone()), callers, length).await);
            of_store.push(call(&Keeper::Store(store.clone()), callers, length).await);
        }
        compare(
            &format!("called directly, {callers} at once"),
            &of_store,
            &of_sqlite,
        );
    }
}

async fn over_http(rounds: u64, length: Duration) {
    let (of_service, of_sqlite) = (directory(), directory());
    let service = Server::start(service_command(of_service.path(), "warn"));
    let sqlite = sqlite::start(of_sqlite.path());
    for connections in CROWDS {
        let clients = Clients::on_one_thread(connections);
        let (mut of_service, mut of_sqlite) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            of_sqlite.push(sqlite.measure(clients, length, sign_up).await);
            of_service.push(service.measure(clients, length, sign_up).await);
        }
        compare(
            &format!("over HTTP, {connections} connections"),
            &of_service,
            &of_sqlite,
        );
    }
}

fn compare(title: &str, ours: &[Measured], sqlite: &[Measured]) {
    let ratio = ratio(ours, sqlite);
    let (ours, sqlite) = (medians(ours), medians(sqlite));
    println!("\n{title}");
    sqlite.print("SQLite");
    ours.print("landing-api");
    println!(
        "{:<16}  throughput {:.2}x  p50 {:.2}x  p99 {:.2}x",
        "ratio", ratio.per_second, ratio.p50_us, ratio.p99_us
    );
}

/// Signs new addresses up from `callers` tasks for `length`. The processor time is that of the
/// callers, too.
async fn call(keeper: &Keeper, callers: usize, length: Duration) -> Measured {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let process = std::process::id();
    let cpu_before = cpu_us(process);
    let began = Instant::now();
    let calling: Vec<_> = (0..callers)
        .map(|_| {
            let keeper = keeper.clone();
            tokio::spawn(async move {
                let mut latencies_us = Vec::new();
                while began.elapsed() < length {
                    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
                    let called = Instant::now();
                    keeper.keep(format!("visitor{number}@example.com")).await;
                    latencies_us.push(u32::try_from(called.elapsed().as_micros()).unwrap());
                }
                latencies_us
            })
        })
        .collect();
    let mut latencies_us = Vec::new();
    for caller in calling {
        latencies_us.extend(caller.await.unwrap());
    }
    Measured::new(latencies_us, began.elapsed(), cpu_us(process) - cpu_before)
}

/// What keeps addresses.
#[derive(Clone)]
enum Keeper {
    Store(Arc<dyn ContactStore>),
    Sqlite(Sqlite),
}

impl Keeper {
    async fn keep(&self, email: String) {
        match self {
            Self::Store(store) => {
                let origin = Origin {
                    network: OriginHash::from_bytes(NETWORK),
                    credential: None,
                };
                let token = email.clone();
                let email = EmailAddress::parse(&email).unwrap();
                let sign_up = SignUp {
                    notice: None,
                    is_to_be_confirmed: false,
                    email,
                    origin,
                    consent: Consent {
                        at: NOW,
                        way: SignUpWay::Form,
                        language: None,
                        text: None,
                        source: None,
                        ip: None,
                    },
                    consent_text: None,
                    leave_token: LeaveToken::from_bytes(*TextDigest::of(&token).as_bytes()),
                };
                let kept = store.sign_up(sign_up).await;
                assert_eq!(kept, Ok(Subscription::Created));
            }
            Self::Sqlite(sqlite) => assert!(sqlite.keep(&email)),
        }
    }
}
