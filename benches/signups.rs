//! Durable sign-ups, a new address each, fsynced before it is answered: the ledger beside SQLite
//! (WAL, synchronous FULL, a row a commit, a unique index on the address), on the same disk in one
//! run. Once called directly, and once over HTTP on loopback: the real service with every policy
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

mod support;

use std::convert::Infallible;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use landing_api::adapters::data_dir::DataDir;
use landing_api::adapters::ledger::LedgerStore;
use landing_api::adapters::system::SystemEntropy;
use landing_api::domain::contact::{Origin, OriginHash, SignUp, Subscription};
use landing_api::domain::email::EmailAddress;
use landing_api::domain::time::Timestamp;
use landing_api::ports::ContactStore;
use rusqlite::Connection;
use tokio::runtime::Runtime;

use support::{
    Clients, Measured, Server, cpu_us, directory, json, medians, ratio, serve_bare,
    service_command, sign_up,
};

/// Set for the child that is SQLite behind bare hyper: where it keeps its database.
const SQLITE_DIR: &str = "BENCH_SQLITE_DIR";

/// Callers or connections at once.
const CROWDS: [usize; 2] = [1, 64];

const NETWORK: [u8; 8] = [7; 8];
const NOW: Timestamp = Timestamp::from_ms(1_700_000_000_000);

fn main() {
    let runtime = Runtime::new().unwrap();
    if let Some(directory) = std::env::var_os(SQLITE_DIR) {
        let sqlite = Sqlite::open(Path::new(&directory));
        return runtime.block_on(serve_bare(move |request| answer(sqlite.clone(), request)));
    }
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
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(SQLITE_DIR, of_sqlite.path());
    let sqlite = Server::start(command);
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
                let email = EmailAddress::parse(&email).unwrap();
                let sign_up = SignUp {
                    email,
                    origin,
                    at: NOW,
                };
                let kept = store.keep(sign_up).await;
                assert_eq!(kept, Ok(Subscription::Created));
            }
            Self::Sqlite(sqlite) => assert!(sqlite.keep(&email)),
        }
    }
}

/// One connection behind a lock, used in place: nothing is handed to another thread, and SQLite
/// has one writer at a time in any case.
#[derive(Clone)]
struct Sqlite(Arc<Mutex<Connection>>);

impl Sqlite {
    fn open(directory: &Path) -> Self {
        let connection = Connection::open(directory.join("contacts.sqlite")).unwrap();
        let mode: String = connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
            .unwrap();
        assert_eq!(mode, "wal");
        connection
            .execute_batch(
                "PRAGMA synchronous = FULL;
                 CREATE TABLE contacts (
                     email TEXT NOT NULL UNIQUE,
                     network BLOB NOT NULL,
                     subscribed_at INTEGER NOT NULL
                 );",
            )
            .unwrap();
        Self(Arc::new(Mutex::new(connection)))
    }

    /// Whether the address is new.
    fn keep(&self, email: &str) -> bool {
        let connection = self.0.lock().unwrap();
        let mut insert = connection
            .prepare_cached("INSERT INTO contacts VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
            .unwrap();
        let at = i64::try_from(NOW.as_ms()).unwrap();
        insert.execute((email, NETWORK, at)).unwrap() == 1
    }
}

async fn answer(
    sqlite: Sqlite,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let is_new = sqlite.keep(body["email"].as_str().unwrap());
    let body = serde_json::json!({ "ok": true, "mode": "contact", "alreadyExists": !is_new });
    Ok(json(serde_json::to_vec(&body).unwrap().into()))
}
