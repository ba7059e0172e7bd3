//! A mixed load at a steady rate, for as long as is asked: whether latency, memory and disk level.
//!
//! Every identity is a new address that makes four requests and is not seen again, so windows come
//! and go all the time; sign-ups repeat among [`CONTACTS`] addresses, so that the ledger is
//! compacted again and again. All windows are a minute long.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use landing_api::domain::policy::PolicyName;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::process::{disk, memory, mib};
use crate::support::{Server, directory, percentile, read_answer, service_command};

const PER_SECOND: u64 = 3000;
const CONNECTIONS: usize = 16;
const REPORTING: Duration = Duration::from_secs(30);
const WINDOW: Duration = Duration::from_secs(60);
const CONTACTS: u64 = 10_000;
const REQUESTS_PER_IDENTITY: u64 = 4;

/// What a window of one mark takes as bytes, with its key.
const WINDOW_BYTES: u64 = 24;

/// One request of so many is of each of the other kinds; the rest are health checks.
const MIX: u64 = 20;

pub(crate) async fn run(length: Duration) {
    let directory = directory();
    let mut command = service_command(directory.path(), "warn");
    command.args(["--trusted-proxy", "127.0.0.1"]);
    for policy in PolicyName::ALL {
        let count = policy.default_quota().count();
        let quota = format!("{}={count}/{}s", policy.as_str(), WINDOW.as_secs());
        command.args(["--limit", &quota]);
    }
    let server = Server::start(command);
    println!(
        "mixed load, {PER_SECOND} requests/s on {CONNECTIONS} connections\n\n\
         | After | Requests/s | p50 | p99 | p99 of sign-ups | Refused | Memory | Disk | \
         Windows' disk | Live windows | Disk a live byte |\n|---|---|---|---|---|---|---|---|---|---|---|"
    );
    let load = Arc::new(Load {
        began: Instant::now(),
        length,
        numbers: AtomicU64::new(0),
        lot: Mutex::default(),
    });
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|_| tokio::spawn(client(server.address, load.clone())))
        .collect();
    let mut largest = 0.0_f64;
    let mut reported = Duration::ZERO;
    while reported < length {
        let lot = REPORTING.min(length - reported);
        reported += lot;
        tokio::time::sleep_until((load.began + reported).into()).await;
        largest = largest.max(report(&load, lot, &server, directory.path()));
    }
    for client in clients {
        client.await.unwrap();
    }
    server.stop();
    println!("\nat most {largest:.1} bytes of disk a live byte of windows (target: 6)");
}

struct Load {
    began: Instant,
    length: Duration,
    numbers: AtomicU64,
    lot: Mutex<Lot>,
}

/// What came of the requests since the last report.
#[derive(Default)]
struct Lot {
    latencies_us: Vec<u32>,
    of_sign_ups_us: Vec<u32>,
    refused: u64,
}

/// Prints a line, and says what a live byte of the windows takes of the disk.
fn report(load: &Load, length: Duration, server: &Server, directory: &Path) -> f64 {
    let mut lot = std::mem::take(&mut *load.lot.lock().unwrap());
    lot.latencies_us.sort_unstable();
    lot.of_sign_ups_us.sort_unstable();
    let count = lot.latencies_us.len() + lot.of_sign_ups_us.len();
    let ms = |latencies: &[u32], percent| percentile(latencies, percent) / 1000.0;
    let windows = disk(&directory.join("windows"));
    let live = live_windows(load);
    let factor = windows as f64 / (live * WINDOW_BYTES) as f64;
    println!(
        "| {:.0} s | {:.0} | {:.2} ms | {:.2} ms | {:.2} ms | {} | {:.1} MiB | {:.1} MiB | {:.1} \
         MiB | {live} | {factor:.1} |",
        load.began.elapsed().as_secs_f64(),
        count as f64 / length.as_secs_f64(),
        ms(&lot.latencies_us, 50),
        ms(&lot.latencies_us, 99),
        ms(&lot.of_sign_ups_us, 99),
        lot.refused,
        memory(server).resident_mib,
        mib(disk(directory)),
        mib(windows)
    );
    factor
}

/// How many windows the requests of the last minute have: `default` and `ip` for each identity, and
/// two more for each sign-up and each chat message.
fn live_windows(load: &Load) -> u64 {
    let seconds = load.began.elapsed().min(WINDOW).as_secs();
    let requests = seconds * PER_SECOND;
    requests / REQUESTS_PER_IDENTITY * 2 + requests / MIX * 2 * 2
}

async fn client(address: std::net::SocketAddr, load: Arc<Load>) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut buffer = Vec::new();
    loop {
        let number = load.numbers.fetch_add(1, Ordering::Relaxed);
        let due = Duration::from_secs(1) * u32::try_from(number).unwrap()
            / u32::try_from(PER_SECOND).unwrap();
        if due >= load.length {
            return;
        }
        tokio::time::sleep_until((load.began + due).into()).await;
        let request = request(number);
        let sent = Instant::now();
        stream.write_all(request.as_bytes()).await.unwrap();
        read_answer(&mut stream, &mut buffer).await;
        let latency_us = u32::try_from(sent.elapsed().as_micros()).unwrap();
        let is_refused = buffer.starts_with(b"HTTP/1.1 429");
        assert!(is_refused || buffer.starts_with(b"HTTP/1.1 200"));
        let mut lot = load.lot.lock().unwrap();
        lot.refused += u64::from(is_refused);
        if number.is_multiple_of(MIX) {
            lot.of_sign_ups_us.push(latency_us);
        } else {
            lot.latencies_us.push(latency_us);
        }
    }
}

fn request(number: u64) -> String {
    /// One who asks far too often.
    const GREEDY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    let identity = u32::try_from(number / REQUESTS_PER_IDENTITY % (1 << 24)).unwrap();
    let address = Ipv4Addr::from(u32::from(Ipv4Addr::new(11, 0, 0, 0)) + identity);
    let (line, body) = match number % MIX {
        0 => {
            let contact = number / MIX % CONTACTS;
            let body = format!("{{\"email\":\"visitor{contact}@example.com\"}}");
            ("POST /api/v1/newsletter", body)
        }
        4 => {
            let body = r#"{"messages":[{"role":"user","content":"Is there a health check?"}]}"#;
            ("POST /api/v1/assistant/chat", body.to_owned())
        }
        8 => (
            "POST /api/v1/sandbox/echo",
            r#"{"message":"hello"}"#.to_owned(),
        ),
        12 => ("GET /api/v1/assistant/chat", String::new()),
        16 => ("GET /docs", String::new()),
        _ => ("GET /api/v1/health", String::new()),
    };
    let address = if number % MIX == 19 { GREEDY } else { address };
    let length = body.len();
    format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {address}\r\nContent-Type: \
         application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}
