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

use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Keep-alive connections that ask at once.
const CONNECTIONS: usize = 64;

/// Set for the child that is bare hyper: the body to answer with.
const BARE_BODY: &str = "BENCH_BARE_BODY";

#[tokio::main]
async fn main() {
    if let Ok(body) = std::env::var(BARE_BODY) {
        return serve_bare(body.into()).await;
    }
    let numbers: Vec<u64> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let rounds = numbers.first().copied().unwrap_or(3);
    let length = Duration::from_secs(numbers.get(1).copied().unwrap_or(2));

    let data_dir = tempfile::tempdir().unwrap();
    let service = Server::start(service_command(data_dir.path()));
    let body = service.health_body().await;
    let mut bare_command = Command::new(std::env::current_exe().unwrap());
    bare_command.env(BARE_BODY, body);
    let bare = Server::start(bare_command);

    println!("GET /api/v1/health, {CONNECTIONS} connections, medians of {rounds} rounds");
    let (mut of_service, mut of_bare) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        of_bare.push(bare.measure(length, |_| health()).await);
        of_service.push(service.measure(length, |_| health()).await);
    }
    let (of_service, of_bare) = (medians(of_service), medians(of_bare));
    of_bare.print("bare hyper");
    of_service.print("landing-api");
    println!(
        "ratio             cpu {:.2}x  throughput {:.2}x  p99 {:.2}x",
        of_service.cpu_us / of_bare.cpu_us,
        of_service.per_second / of_bare.per_second,
        of_service.p99_us / of_bare.p99_us
    );

    println!("POST /api/v1/newsletter, a new address each, fsynced before its 200");
    let sign_ups = service.measure(length, sign_up).await;
    sign_ups.print("64 connections");
}

/// The service, with every policy counting and none refusing.
fn service_command(data_dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing-api"));
    command.arg("--data-dir").arg(data_dir);
    command.args(["--listen", "127.0.0.1:0", "--log-level", "warn"]);
    for policy in ["default", "ip", "newsletter", "newsletter-ip"] {
        command.args(["--limit", &format!("{policy}=1000000000/60s")]);
    }
    command
}

/// The least that can answer: hyper, one fixed body.
async fn serve_bare(body: Bytes) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("listening on http://{}", listener.local_addr().unwrap());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let body = body.clone();
        tokio::spawn(async move {
            let answer = service_fn(move |_: Request<_>| {
                let mut response = Response::new(Full::new(body.clone()));
                let json = hyper::header::HeaderValue::from_static("application/json");
                response.headers_mut().insert(CONTENT_TYPE, json);
                async move { Ok::<_, Infallible>(response) }
            });
            let io = TokioIo::new(stream);
            let _ = http1::Builder::new().serve_connection(io, answer).await;
        });
    }
}

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap();
        Self {
            address: address.parse().unwrap(),
            child,
        }
    }

    async fn health_body(&self) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(health().as_bytes()).await.unwrap();
        let mut buffer = Vec::new();
        let length = read_answer(&mut stream, &mut buffer).await;
        let text = String::from_utf8(buffer[..length].to_vec()).unwrap();
        text.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// User and system time of the process so far, in microseconds.
    fn cpu_us(&self) -> f64 {
        // Ticks of a hundredth of a second, on every Linux that is about.
        const TICK_US: f64 = 10_000.0;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split(' ').collect();
        let ticks = |index: usize| fields[index].parse::<f64>().unwrap();
        (ticks(12) + ticks(13)) * TICK_US
    }

    /// Sends what `request` makes of a running number, on every connection, for `length`.
    async fn measure(&self, length: Duration, request: fn(u64) -> String) -> Measured {
        let numbers = Arc::new(AtomicU64::new(0));
        let cpu_before = self.cpu_us();
        let began = Instant::now();
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                tokio::spawn(client(
                    self.address,
                    began + length,
                    request,
                    numbers.clone(),
                ))
            })
            .collect();
        let mut latencies_us = Vec::new();
        for client in clients {
            latencies_us.extend(client.await.unwrap());
        }
        let elapsed = began.elapsed();
        latencies_us.sort_unstable();
        let count = latencies_us.len();
        Measured {
            cpu_us: (self.cpu_us() - cpu_before) / count as f64,
            per_second: count as f64 / elapsed.as_secs_f64(),
            p99_us: f64::from(latencies_us[count * 99 / 100]),
        }
    }
}

async fn client(
    address: SocketAddr,
    until: Instant,
    request: fn(u64) -> String,
    numbers: Arc<AtomicU64>,
) -> Vec<u32> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut latencies_us = Vec::new();
    let mut buffer = Vec::new();
    while Instant::now() < until {
        let request = request(numbers.fetch_add(1, Ordering::Relaxed));
        let sent = Instant::now();
        stream.write_all(request.as_bytes()).await.unwrap();
        read_answer(&mut stream, &mut buffer).await;
        assert!(buffer.starts_with(b"HTTP/1.1 200"), "not a 200");
        latencies_us.push(u32::try_from(sent.elapsed().as_micros()).unwrap());
    }
    latencies_us
}

/// Reads one answer into `buffer` and gives its length.
async fn read_answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> usize {
    const LENGTH: &[u8] = b"content-length: ";
    buffer.clear();
    loop {
        let count = stream.read_buf(buffer).await.unwrap();
        assert!(count > 0, "the server hung up");
        let find = |needle: &[u8]| buffer.windows(needle.len()).position(|w| w == needle);
        let Some(head_end) = find(b"\r\n\r\n") else {
            continue;
        };
        let digits = &buffer[find(LENGTH).unwrap() + LENGTH.len()..head_end];
        let digits = digits.split(|&byte| byte == b'\r').next().unwrap();
        let body: usize = std::str::from_utf8(digits).unwrap().parse().unwrap();
        let length = head_end + 4 + body;
        if buffer.len() >= length {
            return length;
        }
    }
}

fn health() -> String {
    "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned()
}

fn sign_up(number: u64) -> String {
    let body = format!("{{\"email\":\"visitor{number}@example.com\"}}");
    let length = body.len();
    format!(
        "POST /api/v1/newsletter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

#[derive(Clone, Copy)]
struct Measured {
    cpu_us: f64,
    per_second: f64,
    p99_us: f64,
}

impl Measured {
    fn print(self, name: &str) {
        let Self {
            cpu_us,
            per_second,
            p99_us,
        } = self;
        println!(
            "{name:<16}  cpu {cpu_us:>6.2} us a request  {per_second:>7.0} requests/s  p99 \
             {p99_us:>6.0} us"
        );
    }
}

fn medians(rounds: Vec<Measured>) -> Measured {
    let median = |number: fn(&Measured) -> f64| {
        let mut numbers: Vec<_> = rounds.iter().map(number).collect();
        numbers.sort_by(f64::total_cmp);
        numbers[numbers.len() / 2]
    };
    Measured {
        cpu_us: median(|measured| measured.cpu_us),
        per_second: median(|measured| measured.per_second),
        p99_us: median(|measured| measured.p99_us),
    }
}
