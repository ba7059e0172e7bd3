//! What the benches over HTTP share: a child process that serves, clients that ask it on loopback,
//! and what comes of that. Linux only: processor time comes from `/proc`.
//!
//! A bench is its own peer: [`serve_bare`] runs in a second process of the same program, which an
//! environment variable tells what it is. Nothing here uses the crate: without it a bench links in half
//! the time. The peers `rival` and `sqlite` belong to the benches that measure them.
#![allow(dead_code, reason = "no bench needs all of it")]

pub(crate) mod tls;

use std::convert::Infallible;
use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::iter;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use memchr::memmem;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// The least that can answer: hyper, and one `answer` to everything, over TLS if there is an acceptor.
pub(crate) async fn serve_bare<A, F>(tls: Option<TlsAcceptor>, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let scheme = if tls.is_some() { "https" } else { "http" };
    println!("listening on {scheme}://{}", listener.local_addr().unwrap());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (answer, tls) = (answer.clone(), tls.clone());
        tokio::spawn(async move {
            let (http, answer) = (http1::Builder::new(), service_fn(answer));
            let Some(tls) = tls else {
                let _ = http.serve_connection(TokioIo::new(stream), answer).await;
                return;
            };
            if let Ok(stream) = tls.accept(stream).await {
                let _ = http.serve_connection(TokioIo::new(stream), answer).await;
            }
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

/// A directory on the disk that the project is built on: a file system in memory syncs for nothing.
pub(crate) fn directory() -> TempDir {
    tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap()
}

/// The service, with every policy counting and none refusing.
pub(crate) fn service_command(data_dir: &Path, log_level: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing-api"));
    command.arg("--data-dir").arg(data_dir);
    command.args(["--listen", "127.0.0.1:0", "--log-level", log_level]);
    for policy in [
        "default",
        "ip",
        "newsletter",
        "newsletter-ip",
        "newsletter-all",
    ] {
        command.args(["--limit", &format!("{policy}=1000000000/60s")]);
    }
    command
}

/// A process that serves until this is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// How clients speak TLS with it, if they do.
    tls: Option<TlsConnector>,
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
    pub(crate) fn start(command: Command) -> Self {
        Self::start_over(None, command)
    }

    /// The same, where clients speak TLS if there is a connector.
    pub(crate) fn start_over(tls: Option<TlsConnector>, mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let (listening, address) = line.trim().split_once("://").unwrap();
        assert_eq!(listening.ends_with("https"), tls.is_some(), "{line}");
        Self {
            address: address.parse().unwrap(),
            child,
            tls,
            numbers: Arc::default(),
        }
    }

    /// The body of the answer to one request.
    pub(crate) async fn body(&self, request: String) -> String {
        let mut stream = connect(self.address, self.tls.as_ref(), false).await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut buffer = Vec::new();
        let length = read_answer(&mut stream, &mut buffer).await;
        let text = String::from_utf8(buffer[..length].to_vec()).unwrap();
        text.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// Sends what `request` makes of a running number on connections kept alive, each one request
    /// after the other, for `length`.
    pub(crate) async fn measure(
        &self,
        clients: Clients,
        length: Duration,
        request: impl Fn(u64) -> String + Clone + Send + 'static,
    ) -> Measured {
        let until = Instant::now() + length;
        let request = move |number| (Instant::now() < until).then(|| request(number));
        self.ask(clients, request).await
    }

    /// Like [`Server::measure`], until there is no further request.
    pub(crate) async fn ask(
        &self,
        clients: Clients,
        request: impl Fn(u64) -> Option<String> + Clone + Send + 'static,
    ) -> Measured {
        let cpu_before = cpu_us(self.id());
        let began = Instant::now();
        let mut threads = JoinSet::new();
        for connections in clients.by_thread() {
            let (address, tls) = (self.address, self.tls.clone());
            let numbers = self.numbers.clone();
            let request = request.clone();
            let next = move || request(numbers.fetch_add(1, Ordering::Relaxed));
            let anew = clients.connects_anew;
            threads.spawn_blocking(move || ask_alone(address, tls, connections, anew, next));
        }
        let latencies_us = threads.join_all().await.concat();
        let cpu_us = cpu_us(self.id()) - cpu_before;
        Measured::new(latencies_us, began.elapsed(), cpu_us)
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(mut self) {
        let process = Pid::from_child(&self.child);
        kill_process(process, Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    /// Of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

/// Time that the threads of a process have run so far, in microseconds. Its `stat` counts hundredths of a second, which
/// is too coarse for short rounds; `schedstat` counts nanoseconds. Threads that have ended are not counted.
pub(crate) fn cpu_us(process: u32) -> f64 {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let run_ns = threads.map(|thread| {
        let stat = std::fs::read_to_string(thread.unwrap().path().join("schedstat"));
        let run_ns = stat
            .unwrap_or_default()
            .split(' ')
            .next()
            .map(str::parse::<f64>);
        // A thread that has just ended has none.
        run_ns.unwrap().unwrap_or(0.0)
    });
    let run_ns: f64 = run_ns.sum();
    assert!(run_ns > 0.0, "the kernel has no schedstat");
    run_ns / 1000.0
}

/// Clients that ask a server: so many connections altogether, shared out among threads. A
/// connection stays on its thread, as with load generators: threads that take work from each other
/// also wait for each other, and leave cores idle that the server could use.
#[derive(Clone, Copy)]
pub(crate) struct Clients {
    connections: usize,
    threads: usize,
    /// Whether each request has a connection of its own, which is reset after the answer.
    pub(crate) connects_anew: bool,
}

impl Clients {
    /// On a thread for each core.
    pub(crate) fn on_all_cores(connections: usize) -> Self {
        Self {
            connections,
            threads: available_parallelism().unwrap().get(),
            connects_anew: false,
        }
    }

    /// On one thread, which leaves the server more of the cores that they share.
    pub(crate) fn on_one_thread(connections: usize) -> Self {
        Self {
            connections,
            threads: 1,
            connects_anew: false,
        }
    }

    /// How many connections each thread has; the later ones take what is left over.
    fn by_thread(self) -> impl Iterator<Item = usize> {
        let threads = self.threads.min(self.connections);
        (0..threads).map(move |thread| (self.connections + thread) / threads)
    }
}

/// Asks on so many connections from this thread alone, and gives how long each answer took, in
/// microseconds.
fn ask_alone(
    address: SocketAddr,
    tls: Option<TlsConnector>,
    connections: usize,
    connects_anew: bool,
    next: impl Fn() -> Option<String> + Clone + Send + 'static,
) -> Vec<u32> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = |_| client(address, tls.clone(), connects_anew, next.clone());
        let clients = (0..connections).map(client);
        clients.collect::<JoinSet<_>>().join_all().await.concat()
    })
}

/// A connection, in the clear or not.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Connects. One that `is_reset` at its end keeps no port taken.
async fn connect(
    address: SocketAddr,
    tls: Option<&TlsConnector>,
    is_reset: bool,
) -> Box<dyn Stream> {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    if is_reset {
        stream.set_zero_linger().unwrap();
    }
    match tls {
        None => Box::new(stream),
        Some(tls) => Box::new(tls.connect(tls::name(), stream).await.unwrap()),
    }
}

async fn client(
    address: SocketAddr,
    tls: Option<TlsConnector>,
    connects_anew: bool,
    next: impl Fn() -> Option<String>,
) -> Vec<u32> {
    let mut kept = None;
    let mut latencies_us = Vec::new();
    let mut buffer = Vec::new();
    while let Some(request) = next() {
        let sent = Instant::now();
        let mut stream = match kept.take() {
            Some(stream) => stream,
            None => connect(address, tls.as_ref(), connects_anew).await,
        };
        stream.write_all(request.as_bytes()).await.unwrap();
        read_answer(&mut stream, &mut buffer).await;
        assert!(buffer.starts_with(b"HTTP/1.1 200"), "not a 200");
        latencies_us.push(u32::try_from(sent.elapsed().as_micros()).unwrap());
        if !connects_anew {
            kept = Some(stream);
        }
    }
    latencies_us
}

/// Reads one answer into `buffer` and gives its length.
pub(crate) async fn read_answer(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> usize {
    const LENGTH: &[u8] = b"content-length: ";
    buffer.clear();
    loop {
        let count = stream.read_buf(buffer).await.unwrap();
        assert!(count > 0, "the server hung up");
        let Some(head_end) = memmem::find(buffer, b"\r\n\r\n") else {
            continue;
        };
        let length_at = memmem::find(buffer, LENGTH).unwrap() + LENGTH.len();
        let digits = &buffer[length_at..head_end];
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
    sign_up_of(&format!("visitor{number}@example.com"))
}

pub(crate) fn sign_up_of(email: &str) -> String {
    let body = format!("{{\"email\":\"{email}\"}}");
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
    pub(crate) max_us: f64,
}

impl Measured {
    /// Of requests that took `latencies_us` one by one, and `elapsed` and `cpu_us` together.
    pub(crate) fn new(mut latencies_us: Vec<u32>, elapsed: Duration, cpu_us: f64) -> Self {
        latencies_us.sort_unstable();
        let count = latencies_us.len();
        Self {
            cpu_us: cpu_us / count as f64,
            per_second: count as f64 / elapsed.as_secs_f64(),
            p50_us: percentile(&latencies_us, 50),
            p99_us: percentile(&latencies_us, 99),
            max_us: latencies_us
                .last()
                .map_or(f64::NAN, |&longest| f64::from(longest)),
        }
    }

    /// Each number as a multiple of `other`'s.
    fn in_times_of(&self, other: &Self) -> Self {
        Self {
            cpu_us: self.cpu_us / other.cpu_us,
            per_second: self.per_second / other.per_second,
            p50_us: self.p50_us / other.p50_us,
            p99_us: self.p99_us / other.p99_us,
            max_us: self.max_us / other.max_us,
        }
    }

    pub(crate) fn print(self, name: &str) {
        let Self {
            cpu_us,
            per_second,
            p50_us,
            p99_us,
            max_us: _,
        } = self;
        println!(
            "{name:<16}  cpu {cpu_us:>6.2} us a request  {per_second:>7.0} requests/s  p50 \
             {p50_us:>6.0} us  p99 {p99_us:>6.0} us"
        );
    }
}

/// Of numbers in order; not a number if there are none.
pub(crate) fn percentile(sorted: &[u32], percent: usize) -> f64 {
    let found = sorted.get(sorted.len() * percent / 100);
    found.map_or(f64::NAN, |&number| f64::from(number))
}

/// The median of each number in times of that of `others` in the same round: the machine changes its
/// speed between rounds.
pub(crate) fn ratio(rounds: &[Measured], others: &[Measured]) -> Measured {
    let ratios: Vec<_> = iter::zip(rounds, others)
        .map(|(measured, other)| measured.in_times_of(other))
        .collect();
    medians(&ratios)
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
        max_us: median(|measured| measured.max_us),
    }
}
