//! One connection: TLS or plain, HTTP/1.1 or HTTP/2, its timeouts, and its end.
//!
//! A client that hangs up, or shuts down its sending side before its response, ends the connection. Handlers
//! with effects that have begun finish without it (`pipeline.rs`).

use std::convert::Infallible;
use std::future::{poll_fn, ready};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::Either;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::domain::Network;

use crate::http::Peer;
use crate::http::log_throttle::LogThrottle;
use crate::http::request::body::BodyError;
use crate::http::server::activity::{Activity, Socket};
use crate::http::server::handshake::{Handshakes, first_bytes, foreign};
use crate::http::server::limits::{STOP_GRACE, ServerLimits};
use crate::http::server::redirect::Redirect;
use crate::http::server::shares::Share;
use crate::http::server::slots::Places;
use crate::http::service::LandingService;

/// Maximum header list on HTTP/2, counted as in RFC 9113, section 6.5.2. One byte on the wire can become a
/// header of a hundred bytes in memory.
const HEADER_LIST_MAX: u32 = 16 * 1024;

/// Body bytes that a client may send on HTTP/2 before any are read.
const WINDOW: u32 = 64 * 1024 - 1;

/// Beginning of HTTP/2's preface (RFC 9113, section 3.4), which clients send in one piece. No method has it.
const PREFACE: &[u8] = b"PRI";

/// Time for which a client that flooded keeps its HTTP/2 slot, so that it can't reconnect at once.
const FLOOD_HOLD: Duration = Duration::from_secs(60);

/// The reason for closing a connection early, for the log.
const IDLE: &str = "idle for too long";

/// The protocol of a listener's connections.
pub(crate) enum Speaks {
    Clear,
    Tls(Handshakes),
    /// Plain HTTP, answered with redirects.
    Redirect(Redirect),
}

/// The state shared by a listener's connections.
pub(crate) struct Common {
    pub(crate) service: Arc<LandingService>,
    pub(crate) places: Arc<Places>,
    pub(crate) limits: ServerLimits,
    pub(crate) speaks: Speaks,
    /// Connections that don't speak the port's protocol, or fail at it.
    pub(crate) failures: LogThrottle,
    /// Cancelled when the service stops.
    pub(crate) stop: CancellationToken,
}

pub(crate) struct Connection {
    pub(crate) common: Arc<Common>,
    pub(crate) peer: Arc<Peer>,
    /// `None` for a trusted proxy.
    pub(crate) network: Option<Network>,
    pub(crate) activity: Arc<Activity>,
    /// A child of the listener's token, so that connections share no lock.
    pub(crate) stop: CancellationToken,
}

/// A slot for HTTP/2, held until drop.
struct Http2Place {
    streams_max: u32,
    /// `None` for a trusted proxy, which is not limited.
    _share: Option<Share>,
}

impl Connection {
    pub(crate) async fn serve(self: Arc<Self>, stream: TcpStream) -> Result<(), String> {
        let socket = |error: io::Error| format!("socket: {error}");
        // Nagle's algorithm would only delay responses, which are written whole.
        stream.set_nodelay(true).map_err(socket)?;
        let stream = Socket {
            stream,
            activity: Arc::clone(&self.activity),
        };
        let Common {
            limits,
            speaks,
            failures,
            ..
        } = &*self.common;
        let log = |error: &str| {
            if let Some(suppressed) = failures.admit() {
                tracing::info!(
                    count = suppressed + 1,
                    error,
                    "connections or TLS handshakes failed since the last such line"
                );
            }
        };
        if let Speaks::Tls(handshakes) = speaks {
            let shaken = tokio::select! {
                shaken = handshakes.accept(stream, || self.http2_place().ok()) => shaken,
                () = self.stopped() => return Ok(()),
            };
            let (stream, http2) = shaken.inspect_err(|error| log(error))?;
            return self.speak(stream, http2).await;
        }
        let first = tokio::select! {
            first = first_bytes(&stream.stream) => first.map_err(socket)?,
            () = sleep(limits.head_deadline) => return Err(IDLE.to_owned()),
            () = self.stopped() => return Ok(()),
        };
        // hyper answers what isn't HTTP.
        if let Some(error) = foreign(&first, false) {
            log(error);
        }
        let is_http2 = first.starts_with(PREFACE);
        let http2 = is_http2.then(|| self.http2_place()).transpose();
        let http2 = http2.map_err(|cause| format!("HTTP/2: {cause}"))?;
        self.speak(stream, http2).await
    }

    /// Resolves a moment after the stop: a request may be on its way on a connection accepted just before.
    async fn stopped(&self) {
        self.stop.cancelled().await;
        sleep(STOP_GRACE).await;
    }

    /// Takes a slot for HTTP/2.
    ///
    /// # Errors
    /// When none is free.
    fn http2_place(&self) -> Result<Http2Place, &'static str> {
        let (limits, places) = (self.common.limits, &self.common.places.http2);
        let share = self.network.map(|network| places.take(network));
        Ok(Http2Place {
            _share: share.transpose()?,
            streams_max: self.network.map_or(limits.streams_max, |network| {
                limits.streams_max_of(places.held_by(network))
            }),
        })
    }

    /// Serves HTTP on a connection whose first bytes have arrived: HTTP/2 if it has a slot for it.
    async fn speak(
        self: Arc<Self>,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        http2: Option<Http2Place>,
    ) -> Result<(), String> {
        let this = Arc::clone(&self);
        let answer = service_fn(move |request| this.answer(request));
        let io = TokioIo::new(stream);
        if let Some(place) = http2 {
            let connection = http2_builder(place.streams_max).serve_connection(io, answer);
            let ended = self
                .drive(connection, http2::Connection::graceful_shutdown, true)
                .await;
            if self.activity.has_flooded() {
                let _ = timeout(FLOOD_HOLD, self.stop.cancelled()).await;
            }
            ended
        } else {
            let connection = self.http1().serve_connection(io, answer);
            self.drive(connection, http1::Connection::graceful_shutdown, false)
                .await
        }
    }

    fn http1(&self) -> http1::Builder {
        // hyper's default of 100 headers applies: setting it makes hyper allocate its table of headers for
        // each request.
        let mut builder = http1::Builder::new();
        builder
            // hyper would set a timer for each head; `end` has one for the connection.
            .header_read_timeout(None)
            .max_buf_size(self.common.limits.head_bytes_max)
            .keep_alive(true)
            // Otherwise hyper wouldn't notice clients that are gone.
            .half_close(false);
        builder
    }

    fn answer(
        &self,
        request: Request<Incoming>,
    ) -> impl Future<
        Output = Result<Response<impl Body<Data = Bytes, Error = BodyError> + use<>>, Infallible>,
    > + use<> {
        let waiting = self.activity.begin_request();
        let request = request.map(|body| self.activity.received(body));
        // Called here, not when the future is polled: hyper reads ahead in between, into the same buffer once
        // the head is dropped.
        let responding = match &self.common.speaks {
            Speaks::Redirect(redirect) => Either::Left(ready(redirect.answer(&request))),
            Speaks::Clear | Speaks::Tls(_) => self.common.service.respond(&self.peer, request),
        };
        responding.map(|response| Ok(response.map(|body| waiting.sending(body))))
    }

    /// Runs the connection until it ends or must end, then lets its pending requests finish.
    async fn drive<C: Future<Output = hyper::Result<()>>>(
        &self,
        connection: C,
        shut_down: impl FnOnce(Pin<&mut C>),
        is_http2: bool,
    ) -> Result<(), String> {
        let http = |error: hyper::Error| format!("http: {error}");
        let mut connection = pin!(connection);
        // `FuturesUnordered` polls `end` only when it is woken, not with each request.
        let mut end = FuturesUnordered::from_iter([self.end(is_http2)]);
        let rest = tokio::select! {
            // The end first: a connection that is always ready would hide it.
            biased;
            Some(rest) = end.next() => rest?,
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
            () = self.activity.idle(rest, self.common.limits.idle_deadline) => Err(IDLE.to_owned()),
            ended = connection => ended.map_err(http),
        }
    }

    /// Resolves when no further request may begin. Returns the time that pending requests may then go without
    /// progress. Requests with an incomplete head are not waited for.
    ///
    /// # Errors
    /// When the connection must be closed at once.
    async fn end(&self, is_http2: bool) -> Result<Duration, String> {
        let stall = self.common.limits.idle_deadline;
        let rest = if is_http2 {
            stall
        } else {
            self.common.limits.head_deadline
        };
        tokio::select! {
            // On HTTP/2, hyper ends the connection with the last response.
            () = self.stop.cancelled() => Ok(if is_http2 { rest } else { STOP_GRACE }),
            // An idle client is notified of the end, so that it knows which requests were not processed (RFC
            // 9113, section 6.8).
            () = self.activity.idle(rest, stall) => match is_http2 {
                true => Ok(STOP_GRACE),
                false => Err(IDLE.to_owned()),
            },
        }
    }
}

fn http2_builder(streams_max: u32) -> http2::Builder<TokioExecutor> {
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
