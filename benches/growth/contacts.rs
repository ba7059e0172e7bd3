//! Starting with a million contacts: after a clean stop, and when the index has to be made again.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use landing_api::adapters::data_dir::DataDir;
use landing_api::adapters::ledger::LedgerStore;
use landing_api::adapters::system::SystemEntropy;
use landing_api::domain::contact::{Origin, OriginHash, SignUp};
use landing_api::domain::email::EmailAddress;
use landing_api::domain::time::Timestamp;
use landing_api::ports::ContactStore;

use crate::process::{disk, memory, mib};
use crate::row;
use crate::support::{Server, directory, health, service_command};

const CONTACTS: u64 = 1_000_000;

/// Sign-ups at once: they share a sync.
const CALLERS: usize = 4096;

const NOW: Timestamp = Timestamp::from_ms(1_700_000_000_000);

pub(crate) async fn run() {
    let directory = directory();
    let path = directory.path();
    fill(path).await;
    let size = format!("{:.0} MiB", mib(disk(path)));
    row("disk with 1,000,000 contacts", &size, "");
    start(path, "start with them after a clean stop", "1 s").await;
    fs::remove_dir_all(path.join("index")).unwrap();
    start(path, "start that makes the index again", "6 s").await;
    start(path, "and the next, after a clean stop", "1 s").await;
}

/// Signs them all up, through the port, and stops cleanly.
async fn fill(path: &Path) {
    let data_dir = DataDir::open(path, &SystemEntropy).unwrap();
    let store = Arc::new(LedgerStore::open(&data_dir).unwrap());
    let numbers = Arc::new(AtomicU64::new(0));
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (store, numbers) = (store.clone(), numbers.clone());
            tokio::spawn(async move {
                loop {
                    let number = numbers.fetch_add(1, Ordering::Relaxed);
                    if number >= CONTACTS {
                        return;
                    }
                    let email = format!("visitor{number}@example.com");
                    let origin = Origin {
                        network: OriginHash::from_bytes([7; 8]),
                        credential: None,
                    };
                    let sign_up = SignUp {
                        email: EmailAddress::parse(&email).unwrap(),
                        origin,
                        at: NOW,
                    };
                    store.keep(sign_up).await.unwrap();
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    store.close().unwrap();
}

/// Starts the service, times that to its first answer, and stops it.
async fn start(path: &Path, what: &str, target: &str) {
    let began = Instant::now();
    let server = Server::start(service_command(path, "warn"));
    let listening = began.elapsed();
    server.body(health()).await;
    let answered = began.elapsed();
    let memory = memory(&server);
    let measured = format!(
        "listening after {:.2} s, first answer after {:.2} s; memory {:.1} MiB, at most {:.1} MiB",
        listening.as_secs_f64(),
        answered.as_secs_f64(),
        memory.resident_mib,
        memory.peak_mib
    );
    row(what, &measured, target);
    server.stop();
}
