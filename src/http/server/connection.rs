//! A listener with the limits of the server, and each of its connections: TLS or plain, HTTP/1.1 or HTTP/2, its
//! timeouts, and its end.
//!
//! A client that hangs up, or shuts down its sending side before its response, ends the connection. Handlers
//! with effects that have begun finish without it (`pipeline.rs`).

use std::future::{poll_fn, ready};
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::http::Peer;
use crate::http::log_throttle::LogThrottle;
use crate::http::pipeline::{LandingService, Responded};
use crate::http::server::handshake::Handshakes;
use crate::http::server::redirect::Redirect;
use crate::http::server::shares::{Share, Shares};
use crate::http::server::slots::{Slot, Slots};
use crate::http::server::socket::{Socket, foreign};

/// Maximum request head on HTTP/1.1, in bytes. Each connection may hold an unfinished one.
pub(super) const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Maximum header list on HTTP/2, counted as in RFC 9113, section 6.5.2. One byte on the wire can become a
/// header of a hundred bytes in memory.
const HEADER_LIST_MAX: u32 = 16 * 1024;

/// Maximum number of concurrent streams of an HTTP/2 connection. A stream can take 10 KiB before it counts as a
/// request.
const STREAMS_MAX: u32 = 32;

/// The same for a trusted proxy, which passes on the requests of many clients.
const PROXY_STREAMS_MAX: u32 = 128;

/// Body bytes that a client may send on HTTP/2 before any are read.
const WINDOW: u32 = 64 * 1024 - 1;

/// Beginning of HTTP/2's preface (RFC 9113, section 3.4), which clients send in one piece. No method has it.
const PREFACE: &[u8] = b"PRI";

/// Time for which a client that flooded keeps its HTTP/2 slot, so that it can't reconnect at once.
const FLOOD_HOLD: Duration = Duration::from_secs(60);

/// The reason for closing a connection early, for the log.
const IDLE: &str = "idle for too long";

/// Time that a connection without a request may stay open after the stop signal.
pub const STOP_GRACE: Duration = Duration::from_secs(1);

/// Limits of the server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Maximum number of open connections, each of up to 32 KiB: hyper's buffers and an unfinished head. TLS
    /// adds up to 48 KiB: a record being received, one being sent, and rustls's state. An eighth of them may
    /// speak HTTP/2, which takes 72 KiB. One network has an eighth of either; trusted proxies are not limited.
    pub connections_max: usize,
    /// Maximum time without progress: for the next request's head on HTTP/1.1, for the next request on HTTP/2, and
    /// for a client to read 4 KiB of a response.
    pub idle_deadline: Duration,
    /// Time for requests to finish after the stop signal, before they are interrupted.
    pub drain_deadline: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections_max: 4096,
            // Longer than the 60 s for which many proxies keep an unused connection.
            idle_deadline: Duration::from_secs(75),
            drain_deadline: Duration::from_secs(10),
        }
    }
}

/// The protocol of a listener's connections.
pub(super) enum Speaks {
    Clear,
    Tls(Handshakes),
    /// Plain HTTP, answered with redirects.
    Redirect(Redirect),
}

/// What the connections of one socket share.
pub(super) struct Listener {
    pub(super) service: Arc<LandingService>,
    pub(super) speaks: Speaks,
    pub(super) slots: Arc<Slots>,
    /// Permits for HTTP/2 connections, of which a network may hold an eighth.
    pub(super) http2: Arc<Shares>,
    pub(super) limits: ServerLimits,
    pub(super) connections: TaskTracker,
    /// Connections that don't speak the port's protocol, or fail at it.
    pub(super) failures: LogThrottle,
    /// Cancelled when the service stops.
    pub(super) stop: CancellationToken,
}

impl Listener {
    /// Accepts the connections of `socket`. Never ends.
    pub(super) async fn run(self: Arc<Self>, socket: &TcpListener) {
        let failures = LogThrottle::one_a_minute();
        loop {
            match socket.accept().await {
                Ok((stream, peer)) => self.begin(stream, peer.ip()).await,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    // Most likely out of file descriptors, until connections close.
                    if let Some(suppressed) = failures.admit() {
                        tracing::warn!(count = suppressed + 1, %error, "cannot accept connections");
                    }
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Serves a connection in a task of its own, if there is a slot for it.
    async fn begin(self: &Arc<Self>, stream: TcpStream, peer: IpAddr) {
        let Some(slot) = self.slots.take(&self.service.state, peer).await else {
            // A reset, so that the refused connection doesn't linger in the kernel. If this fails, it is
            // closed in the ordinary way.
            let _ = stream.set_zero_linger();
            return;
        };
        let activity = Arc::clone(&slot.activity);
        let connection = Connection {
            listener: Arc::clone(self),
            peer: self.service.peer(peer),
            slot,
            stop: self.stop.child_token(),
        };
        let task = self.connections.spawn(async move {
            if let Err(error) = connection.serve(stream).await {
                tracing::debug!(%error, "connection ended");
            }
        });
        activity.belongs_to(task.abort_handle());
    }

    fn log_failure(&self, error: &str) {
        if let Some(suppressed) = self.failures.admit() {
            tracing::info!(
                count = suppressed + 1,
                error,
                "connections or TLS handshakes failed since the last such line"
            );
        }
    }
}

struct Connection {
    listener: Arc<Listener>,
    peer: Arc<Peer>,
    slot: Slot,
    /// A child of the listener's token, so that connections share no lock.
    stop: CancellationToken,
}

/// What HTTP is spoken over.
type Transport = Either<TlsStream<Socket>, Socket>;

impl Connection {
    async fn serve(self, stream: TcpStream) -> Result<(), String> {
        // Nagle's algorithm would only delay responses, which are written whole.
        stream
            .set_nodelay(true)
            .map_err(|error| format!("socket: {error}"))?;
        let opened = tokio::select! {
            opened = self.open(stream) => opened,
            () = self.stopped() => return Ok(()),
        };
        let (stream, http2) = opened?;
        let io = TokioIo::new(stream);
        let answer = service_fn(|request| self.answer(request));
        // Held until the end.
        let Some(_share) = http2 else {
            let connection = http1_builder().serve_connection(io, answer);
            let shut_down = http1::Connection::graceful_shutdown;
            return self.drive(connection, shut_down, STOP_GRACE).await;
        };
        let connection = self.http2_builder().serve_connection(io, answer);
        // hyper ends the connection with the last response.
        let grace = self.listener.limits.idle_deadline;
        let ended = self.drive(connection, http2::Connection::graceful_shutdown, grace);
        let ended = ended.await;
        if self.slot.activity.has_flooded() {
            let _ = timeout(FLOOD_HOLD, self.stop.cancelled()).await;
        }
        ended
    }

    /// Performs the handshake, or waits for the first bytes. Returns a share for HTTP/2 if that is spoken.
    async fn open(&self, stream: TcpStream) -> Result<(Transport, Option<Share>), String> {
        let listener = &*self.listener;
        let stream = Socket {
            stream,
            activity: Arc::clone(&self.slot.activity),
        };
        if let Speaks::Tls(handshakes) = &listener.speaks {
            let shaken = handshakes.accept(stream, || self.http2_share().ok()).await;
            let (stream, http2) = shaken.inspect_err(|error| listener.log_failure(error))?;
            return Ok((Either::Left(stream), http2));
        }
        let first = timeout(listener.limits.idle_deadline, stream.first_bytes());
        let first = first.await.map_err(|_elapsed| IDLE)?;
        let first = first.map_err(|error| format!("socket: {error}"))?;
        // hyper answers what isn't HTTP.
        if let Some(error) = foreign(&first, false) {
            listener.log_failure(error);
        }
        let is_http2 = first.starts_with(PREFACE);
        let http2 = is_http2.then(|| self.http2_share()).transpose();
        let http2 = http2.map_err(|cause| format!("HTTP/2: {cause}"))?;
        Ok((Either::Right(stream), http2))
    }

    /// Resolves a moment after the stop: a request may be on its way on a connection accepted just before.
    async fn stopped(&self) {
        self.stop.cancelled().await;
        sleep(STOP_GRACE).await;
    }

    /// Takes a share of the HTTP/2 connections.
    ///
    /// # Errors
    /// When none is free.
    fn http2_share(&self) -> Result<Share, &'static str> {
        let mut share = self.listener.http2.of(self.slot.network);
        if !self.slot.is_proxy {
            share.grow_to(1)?;
        }
        Ok(share)
    }

    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Responded> + use<> {
        let (activity, arrived) = (&self.slot.activity, Instant::now());
        activity.begin_request(arrived, request.version());
        let service = &self.listener.service;
        // Called here, not when the future is polled: hyper reads ahead in between, into the same buffer once
        // the head is dropped.
        let responding = match &self.listener.speaks {
            Speaks::Redirect(redirect) => {
                future::Either::Left(ready(Ok(redirect.answer(&request))))
            }
            Speaks::Clear | Speaks::Tls(_) => service.respond(&self.peer, arrived, request),
        };
        match responding {
            future::Either::Left(response) => future::Either::Left(response),
            future::Either::Right(response) => {
                let waiting = activity.begin();
                let sent = |response: Response<_>| response.map(|body| waiting.sending(body));
                future::Either::Right(response.map(|response| response.map(sent)))
            }
        }
    }

    /// Runs the connection until it ends, idles or the service stops. Pending requests then finish: after a stop, they
    /// may go without progress for `grace`. Requests with an incomplete head are not waited for.
    async fn drive<C: Future<Output = hyper::Result<()>>>(
        &self,
        connection: C,
        shut_down: impl FnOnce(Pin<&mut C>),
        grace: Duration,
    ) -> Result<(), String> {
        let http = |error: hyper::Error| format!("http: {error}");
        let (activity, idle) = (&self.slot.activity, self.listener.limits.idle_deadline);
        let mut connection = pin!(connection);
        // `FuturesUnordered` polls the end only when it is woken, not with each request.
        let mut end = FuturesUnordered::from_iter([async {
            tokio::select! {
                () = self.stop.cancelled() => grace,
                // On HTTP/2 the client is notified, so that it knows which requests were not processed (RFC 9113,
                // section 6.8).
                () = activity.idle(idle, idle) => STOP_GRACE,
            }
        }]);
        let grace = tokio::select! {
            // The end first: a connection that is always ready would hide it.
            biased;
            Some(grace) = end.next() => grace,
            ended = connection.as_mut() => return ended.map_err(http),
        };
        // A request that has already arrived is read first: hyper closes a fresh connection at once.
        let ended = poll_fn(|context| Poll::Ready(connection.as_mut().poll(context)));
        if let Poll::Ready(ended) = ended.await {
            return ended.map_err(http);
        }
        shut_down(connection.as_mut());
        tokio::select! {
            biased;
            () = activity.idle(grace, idle) => Err(IDLE.to_owned()),
            ended = connection => ended.map_err(http),
        }
    }

    fn http2_builder(&self) -> http2::Builder<TokioExecutor> {
        let streams_max = match self.slot.is_proxy {
            true => PROXY_STREAMS_MAX,
            false => STREAMS_MAX,
        };
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(streams_max)
            .max_header_list_size(HEADER_LIST_MAX)
            // RFC 9113's default. hyper's would be 1 MiB, and that much could wait to be read.
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            // Rapid reset (CVE-2023-44487).
            .max_pending_accept_reset_streams(20)
            .max_local_error_reset_streams(256)
            // A client in the middle of a header block can't answer a ping, so this is also the deadline of the
            // block.
            .keep_alive_interval(Some(Duration::from_secs(20)))
            .keep_alive_timeout(Duration::from_secs(10));
        builder
    }
}

fn http1_builder() -> http1::Builder {
    // hyper's default of 100 headers applies: setting it makes hyper allocate its table of headers for each
    // request.
    let mut builder = http1::Builder::new();
    builder
        // hyper would set a timer for each head; the activity has one for the connection.
        .header_read_timeout(None)
        .max_buf_size(HEAD_BYTES_MAX)
        .keep_alive(true)
        // Otherwise hyper wouldn't notice clients that are gone.
        .half_close(false);
    builder
}
