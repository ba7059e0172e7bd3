//! A list that grows: sign-ups with so many contacts there, beside SQLite with as many rows; the longest wait of
//! a sign-up beside what an operator does; memory, disk and the start.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use landing_api::adapters::files::data_dir::DataDir;
use landing_api::adapters::ledger::LedgerStore;
use landing_api::adapters::system::SystemEntropy;
use landing_api::domain::contact::Contact;
use landing_api::domain::email::EmailAddress;
use landing_api::ports::ContactStore;
use tokio::task::spawn_blocking;

use crate::process::{disk, memory, mib};
use crate::row;
use crate::sqlite::{self, NOW, Sqlite};
use crate::support::{
    Clients, Measured, Server, directory, health, medians, ratio, service_command, sign_up,
    sign_up_of,
};

const CONNECTIONS: usize = 64;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(2);

/// Answers of which the medians are compared, in blocks of new and known addresses in turn.
const COMPARED: usize = 10_000;
const BLOCK: u64 = 1_000;

/// How many contacts are imported beside sign-ups.
const IMPORTED: u64 = 1_000_000;

/// How many contacts are added at a time before the measurement.
const FILLED_TOGETHER: usize = 50_000;

fn known(number: u64) -> String {
    format!("known{number}@example.com")
}

pub(crate) async fn run(sizes: &[u64]) {
    for size in sizes {
        with(*size).await;
    }
}

/// Measures with so many contacts there.
async fn with(contacts: u64) {
    let (of_service, of_sqlite) = (directory(), directory());
    let (path, number) = (of_service.path(), grouped(contacts));
    fill(path, contacts).await;
    Sqlite::open(of_sqlite.path()).fill((0..contacts).map(known));
    let size = disk(&path.join("ledger.jsonl"));
    let all = disk(path);
    row(
        &format!("disk with {number} contacts: ledger, all else"),
        &format!("{:.1}, {:.1} MiB", mib(size), mib(all - size)),
        "nothing but the ledger",
    );
    let server = start(path, &format!("start with {number} after a clean stop")).await;
    let sqlite = sqlite::start(of_sqlite.path());
    rates(&server, &sqlite, contacts).await;
    drop(sqlite);
    compare_known(&server, contacts).await;
    let after = memory(&server);
    row(
        &format!("memory after the sign-ups, {number}"),
        &format!(
            "{:.1} MiB, at most {:.1}",
            after.resident_mib, after.peak_mib
        ),
        "200 MiB at 4,000,000",
    );
    for act in ACTS {
        beside(&server, path, act, &number).await;
    }
    let after = memory(&server);
    row(
        &format!("memory after all of this, {number}"),
        &format!(
            "{:.1} MiB, at most {:.1}",
            after.resident_mib, after.peak_mib
        ),
        "200 MiB at 4,000,000",
    );
    // Killed.
    drop(server);
    drop(start(path, &format!("start with {number} and more after SIGKILL")).await);
}

/// Adds so many contacts, and stops cleanly.
async fn fill(path: &Path, contacts: u64) {
    let data_dir = DataDir::open(path, &SystemEntropy).unwrap();
    let store = LedgerStore::open(&data_dir).unwrap();
    for first in (0..contacts).step_by(FILLED_TOGETHER) {
        let rows = (first..contacts.min(first + FILLED_TOGETHER as u64)).map(|number| {
            let email = EmailAddress::parse(&known(number)).unwrap();
            Contact::imported(email, NOW, None, None)
        });
        store.import(rows.collect(), false).await.unwrap();
    }
    store.close().unwrap();
}

/// Starts the service, and times that to its first answer.
async fn start(path: &Path, what: &str) -> Server {
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
    row(what, &measured, "1 s, 3 s after SIGKILL, a million");
    server
}

/// Sign-ups of new addresses, of known ones, and into SQLite, in turn.
async fn rates(server: &Server, sqlite: &Server, contacts: u64) {
    let clients = Clients::on_one_thread(CONNECTIONS);
    let (mut new, mut again, mut of_sqlite) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        of_sqlite.push(sqlite.measure(clients, ROUND, sign_up).await);
        new.push(server.measure(clients, ROUND, sign_up).await);
        if contacts > 0 {
            let request = move |number| sign_up_of(&known(number % contacts));
            again.push(server.measure(clients, ROUND, request).await);
        }
    }
    let number = grouped(contacts);
    let mut line = of(&medians(&new));
    let _ = write!(
        line,
        "; {:.2} x SQLite's",
        ratio(&new, &of_sqlite).per_second
    );
    row(&format!("new addresses, {number}"), &line, "3.5 x");
    if contacts > 0 {
        let mut line = of(&medians(&again));
        let _ = write!(line, "; {:.2} x new ones'", ratio(&again, &new).per_second);
        row(&format!("known addresses, {number}"), &line, "0.9 to 1.1 x");
    }
}

fn of(measured: &Measured) -> String {
    format!(
        "{:.0}/s, {:.1} us of processor time each, p99 {:.1} ms, longest {:.1} ms",
        measured.per_second,
        measured.cpu_us,
        measured.p99_us / 1000.0,
        measured.max_us / 1000.0
    )
}

/// How much sooner or later known addresses are answered, on one connection.
async fn compare_known(server: &Server, contacts: u64) {
    if contacts == 0 {
        return;
    }
    let clients = Clients::on_one_thread(1);
    let (mut new, mut again) = (Vec::new(), Vec::new());
    for block in 0..COMPARED as u64 / BLOCK {
        let begin = block * BLOCK;
        new.push(
            ask(server, clients, move |number| {
                format!("early{begin}x{number}@example.com")
            })
            .await,
        );
        // Spread over the list, each once.
        let step = (contacts / COMPARED as u64).max(1);
        again.push(
            ask(server, clients, move |number| {
                known((begin + number % BLOCK) * step % contacts)
            })
            .await,
        );
    }
    let (new, again) = (medians(&new).p50_us, medians(&again).p50_us);
    row(
        &format!("median answer of a known address, {}", grouped(contacts)),
        &format!("{again:.0} us, of a new one {new:.0} us"),
        "within 3 us",
    );
}

/// Signs a block of addresses up.
async fn ask(
    server: &Server,
    clients: Clients,
    email: impl Fn(u64) -> String + Clone + Send + 'static,
) -> Measured {
    let left = Arc::new(std::sync::atomic::AtomicU64::new(BLOCK));
    let next = move |number| {
        let is_left = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(1)
        });
        is_left.ok().map(|_| sign_up_of(&email(number)))
    };
    server.ask(clients, next).await
}

/// What an operator does, and how the command begins.
const ACTS: [(&str, &[&str]); 6] = [
    ("nothing", &[]),
    ("export", &["contacts", "export", "--output"]),
    ("backup", &["backup"]),
    ("compact", &["ledger", "compact"]),
    (
        "forget one",
        &["contacts", "forget", "known0@example.com", "--yes"],
    ),
    ("import 1,000,000", &["contacts", "import"]),
];

/// The longest wait of a sign-up beside it.
async fn beside(server: &Server, path: &Path, (name, words): (&str, &[&str]), contacts: &str) {
    let beside = directory();
    let file = beside.path().join("file.csv");
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing-api"));
    command
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match name {
        "export" | "backup" => drop(command.arg(&file)),
        "import 1,000,000" => {
            let rows = (0..IMPORTED).map(|number| format!("import{number}@example.com\n"));
            fs::write(&file, rows.collect::<String>()).unwrap();
            command.arg(&file);
        }
        _ => {}
    }
    command.arg("--data-dir").arg(path);
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    let is_nothing = words.is_empty();
    let acting = spawn_blocking(move || {
        let began = Instant::now();
        if is_nothing {
            std::thread::sleep(ROUND);
        } else {
            let status = command.status().unwrap();
            // An address may not have been known.
            assert!(
                matches!(status.code(), Some(0 | 3)),
                "{command:?}: {status}"
            );
        }
        done.store(true, Ordering::Relaxed);
        began.elapsed()
    });
    let next = move |number| (!is_done.load(Ordering::Relaxed)).then(|| sign_up(number));
    let measured = server.ask(Clients::on_one_thread(CONNECTIONS), next).await;
    let took = acting.await.unwrap();
    row(
        &format!("beside {name}, {contacts}"),
        &format!("{}; it takes {:.1} s", of(&measured), took.as_secs_f64()),
        "longest 100 ms at 1,000,000, 250 ms at 4,000,000",
    );
}

/// With commas.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().collect();
    String::from_utf8(groups.join(&b',')).unwrap()
}
