//! What the benches over HTTP share: a child process that serves, clients that ask it on loopback,
//! and what comes of that. Linux only: processor time comes from `/proc`.
//!
//! A bench is its own peer: [`serve_bare`] runs in a second process of the same program, which an
//! environment variable tells what it is.
#![allow(dead_code, reason = "no bench needs all of it")]

use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The least that can answer: hyper, and one `answer` to everything.
pub(crate) async fn serve_bare<A, F>(answer: A)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("listening on http://{}", listener.local_addr().unwrap());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let answer = answer.clone();
        tokio::spawn(async move {
            let io = TokioIo::new(stream);
            let _ = http1::Builder::new()
                .serve_connection(io, service_fn(answer))
                .await;
        });
    }
}

/// A 200 with that body.
pub(crate) fn json(body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// A process that serves until this is dropped.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    /// Of the next request: none is made twice.
    numbers: Arc<AtomicU64>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts it, and waits until it says where it listens.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap();
        Self {
            address: address.parse().unwrap(),
            child,
            numbers: Arc::default(),
        }
    }

    /// The body of the answer to one request.
    pub(crate) async fn body(&self, request: String) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
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

    /// Sends what `request` makes of a running number on `connections` kept alive, each one
    /// request after the other, for `length`.
    pub(crate) async fn measure(
        &self,
        connections: usize,
        length: Duration,
        request: fn(u64) -> String,
    ) -> Measured {
        let cpu_before = self.cpu_us();
        let began = Instant::now();
        let until = began + length;
        let clients: Vec<_> = (0..connections)
            .map(|_| tokio::spawn(client(self.address, until, request, self.numbers.clone())))
            .collect();
        let mut latencies_us = Vec::new();
        for client in clients {
            latencies_us.extend(client.await.unwrap());
        }
        let elapsed = began.elapsed();
        let cpu_us = self.cpu_us() - cpu_before;
        Measured::new(latencies_us, elapsed, cpu_us)
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

pub(crate) fn health() -> String {
    "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned()
}

/// A sign-up of the address with that number.
pub(crate) fn sign_up(number: u64) -> String {
    let body = format!("{{\"email\":\"visitor{number}@example.com\"}}");
    let length = body.len();
    format!(
        "POST /api/v1/newsletter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// What came of some requests.
#[derive(Clone, Copy)]
pub(crate) struct Measured {
    /// Of the server, a request.
    pub(crate) cpu_us: f64,
    pub(crate) per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

impl Measured {
    /// Of requests that took `latencies_us` one by one, and `elapsed` and `cpu_us` together.
    pub(crate) fn new(mut latencies_us: Vec<u32>, elapsed: Duration, cpu_us: f64) -> Self {
        latencies_us.sort_unstable();
        let count = latencies_us.len();
        Self {
            cpu_us: cpu_us / count as f64,
            per_second: count as f64 / elapsed.as_secs_f64(),
            p50_us: f64::from(latencies_us[count / 2]),
            p99_us: f64::from(latencies_us[count * 99 / 100]),
        }
    }

    pub(crate) fn print(self, name: &str) {
        let Self {
            cpu_us,
            per_second,
            p50_us,
            p99_us,
        } = self;
        println!(
            "{name:<28}  cpu {cpu_us:>6.2} us a request  {per_second:>7.0} requests/s  p50 \
             {p50_us:>6.0} us  p99 {p99_us:>6.0} us"
        );
    }
}

/// The median of each number.
pub(crate) fn medians(rounds: &[Measured]) -> Measured {
    let median = |number: fn(&Measured) -> f64| {
        let mut numbers: Vec<_> = rounds.iter().map(number).collect();
        numbers.sort_by(f64::total_cmp);
        numbers[numbers.len() / 2]
    };
    Measured {
        cpu_us: median(|measured| measured.cpu_us),
        per_second: median(|measured| measured.per_second),
        p50_us: median(|measured| measured.p50_us),
        p99_us: median(|measured| measured.p99_us),
    }
}
