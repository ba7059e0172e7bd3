//! Clients that do nothing wrong.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_rustls::rustls::ClientConfig;

use super::harness::{PROXY, STRANGER};
use super::wire::{HEALTH, Wire, forwarded_for, sign_up};

/// Connections kept alive, one request after the other.
const CLIENTS: usize = 16;
/// Between two requests of a client: visitors think, and a machine that is full before an attack shows
/// nothing of it.
const THINKING: Duration = Duration::from_millis(5);
/// After so many requests a client connects anew: a service that accepts nobody is noticed.
const REQUESTS_PER_CONNECTION: usize = 50;
/// How often somebody without a proxy comes, on a connection of their own.
const STRANGER_PAUSE: Duration = Duration::from_millis(250);

#[derive(Clone, Copy)]
pub(super) enum Visits {
    /// Health, the home page and sign-ups.
    All,
    /// No sign-ups, and without a proxy, each client from an address of its own.
    Direct,
}

impl Visits {
    /// Where the connections of client `number` come from.
    fn address(self, number: usize) -> IpAddr {
        match self {
            Self::All => PROXY,
            Self::Direct => IpAddr::V4(Ipv4Addr::new(127, 2, 0, u8::try_from(number + 1).unwrap())),
        }
    }
}

/// How they speak TLS, if they do.
pub(super) type Tls = Option<Arc<ClientConfig>>;

/// Numbers of visitors: none signs up twice.
static VISITOR: AtomicU32 = AtomicU32::new(0);

/// Clients at work, on a thread that no attacker shares.
pub(super) struct Honest {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Load>,
}

pub(super) struct Load {
    pub(super) per_second: f64,
    pub(super) p99: Duration,
    /// What was no 200.
    pub(super) refusals: Vec<String>,
}

#[derive(Default)]
struct Asked {
    latencies: Vec<Duration>,
    refusals: Vec<String>,
}

impl Honest {
    pub(super) fn begin(address: SocketAddr, visits: Visits, tls: Tls) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(all(address, visits, tls, stopping))
        });
        Self { stop, thread }
    }

    pub(super) fn end(self) -> Load {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

async fn all(address: SocketAddr, visits: Visits, tls: Tls, stop: Arc<AtomicBool>) -> Load {
    let began = Instant::now();
    let clients =
        (0..CLIENTS).map(|number| client(number, address, visits, tls.clone(), Arc::clone(&stop)));
    let mut clients: JoinSet<Asked> = clients.collect();
    clients.spawn(stranger(address, tls.clone(), Arc::clone(&stop)));
    let asked = clients.join_all().await;
    let elapsed = began.elapsed();
    let mut latencies: Vec<_> = asked.iter().flat_map(|it| &it.latencies).collect();
    latencies.sort_unstable();
    let p99 = latencies.get(latencies.len() * 99 / 100);
    let refusals = asked.iter().flat_map(|it| it.refusals.clone());
    Load {
        per_second: latencies.len() as f64 / elapsed.as_secs_f64(),
        p99: p99.map_or(Duration::MAX, |it| **it),
        refusals: refusals.take(3).collect(),
    }
}

async fn client(
    number: usize,
    address: SocketAddr,
    visits: Visits,
    tls: Tls,
    stop: Arc<AtomicBool>,
) -> Asked {
    let from = visits.address(number);
    let mut asked = Asked::default();
    while !stop.load(Ordering::Relaxed) {
        let mut wire = match Wire::connect_with(from, address, tls.as_ref()).await {
            Ok(wire) => wire,
            Err(error) => {
                asked.refusals.push(format!("connecting: {error}"));
                return asked;
            }
        };
        for number in 0..REQUESTS_PER_CONNECTION {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let sent = Instant::now();
            let answer = wire.ask(request(number, visits)).await;
            asked.latencies.push(sent.elapsed());
            match answer {
                Ok(answer) if answer.status == 200 => {}
                Ok(answer) => asked.refusals.push(answer.body),
                Err(error) => {
                    asked.refusals.push(format!("request: {error}"));
                    break;
                }
            }
            sleep(THINKING).await;
        }
    }
    asked
}

/// Each request is another visitor's, so that no limit concerns them.
fn request(number: usize, visits: Visits) -> String {
    let visitor = VISITOR.fetch_add(1, Ordering::Relaxed);
    // 10.0.0.0/8.
    let header = forwarded_for(Ipv4Addr::from(0x0A00_0000 | visitor));
    let get = |path| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n");
    match (number % 4, visits) {
        (0, Visits::All) => sign_up(&header, &format!("visitor{visitor}@example.com")),
        (1, _) => get("/"),
        _ => get("/api/v1/health"),
    }
}

async fn stranger(address: SocketAddr, tls: Tls, stop: Arc<AtomicBool>) -> Asked {
    let mut asked = Asked::default();
    while !stop.load(Ordering::Relaxed) {
        let asking = async {
            let wire = Wire::connect_with(STRANGER, address, tls.as_ref()).await;
            wire?.ask(HEALTH).await
        };
        match asking.await {
            Ok(answer) if answer.status == 200 => {}
            Ok(answer) => asked.refusals.push(format!("stranger: {}", answer.body)),
            Err(error) => {
                asked.refusals.push(format!("stranger: {error}"));
                return asked;
            }
        }
        sleep(STRANGER_PAUSE).await;
    }
    asked
}
