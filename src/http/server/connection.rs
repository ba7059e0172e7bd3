//! One connection: TLS or none, HTTP/1.1 or HTTP/2, its timeouts, and its end.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::domain::Network;

use crate::http::request::head::HEADERS_MAX;
use crate::http::server::activity::{ActiveBody, Activity, HALF_CLOSED_REST, ReceivedBody};
use crate::http::server::handshake::{Failures, Handshakes, foreign};
use crate::http::server::limits::{STOP_GRACE, ServerLimits};
use crate::http::server::redirect::Redirect;
use crate::http::server::shares::Share;
use crate::http::server::slots::Places;
use crate::http::server::socket::Socket;
use crate::http::service::LandingService;

/// The largest header list on HTTP/2, as RFC 9113, section 6.5.2 counts it. A byte on the wire can
/// become a header of a hundred bytes in memory.
const HEADER_LIST_MAX: u32 = 16 * 1024;

/// How much of bodies a client may send on HTTP/2 before any is read.
const WINDOW: u32 = 64 * 1024 - 1;

/// How often, and after what pause, to peek for the rest of what may be HTTP/2's preface. Clients send
/// its 24 bytes in one piece.
const PREFACE_TRIES: u32 = 10;
const PREFACE_PAUSE: Duration = Duration::from_millis(20);

/// What ends a connection early, for the log.
const IDLE: &str = "idle for too long";

/// What a listener's connections speak.
#[derive(Clone)]
pub(crate) enum Speaks {
    Clear,
    Tls(Arc<Handshakes>),
    /// In the clear, to be sent elsewhere.
    Redirect(Arc<Redirect>),
}

pub(crate) struct Connection {
    pub(crate) service: Arc<LandingService>,
    pub(crate) peer: IpAddr,
    pub(crate) limits: ServerLimits,
    pub(crate) speaks: Speaks,
    pub(crate) failures: Arc<Failures>,
    /// `None` for a trusted proxy.
    pub(crate) network: Option<Network>,
    pub(crate) places: Arc<Places>,
    pub(crate) activity: Arc<Activity>,
}

/// The right to speak HTTP/2 until it is dropped.
struct Http2Place {
    streams_max: u32,
    /// `None` for a trusted proxy, which may have any number.
    _share: Option<Share>,
}

impl Connection {
    pub(crate) async fn serve(
        self: Arc<Self>,
        stream: TcpStream,
        mut stopped: watch::Receiver<bool>,
    ) -> Result<(), String> {
        let socket = |error: io::Error| format!("socket: {error}");
        // Nagle's algorithm would only delay answers, which are written whole.
        stream.set_nodelay(true).map_err(socket)?;
        // Accepted a moment before the stop, its request may be on the way.
        let stop = stopped_for(&mut stopped, STOP_GRACE);
        if let Speaks::Tls(handshakes) = &self.speaks {
            let (stream, http2) = tokio::select! {
                shaken = handshakes.accept(stream, || self.http2_place().ok()) => shaken?,
                () = stop => return Ok(()),
            };
            return self.speak(stream, http2, stopped).await;
        }
        let is_http2 = tokio::select! {
            first = speaks_http2(&stream) => first.map_err(socket)?,
            () = sleep(self.limits.head_deadline) => return Err(IDLE.to_owned()),
            () = stop => return Ok(()),
        };
        // It has begun, so this does not wait. hyper answers what is no HTTP.
        if let Some(cause) = foreign(&stream, false).await.map_err(socket)? {
            self.failures
                .log(cause, "connections without HTTP since the last such line");
        }
        let http2 = is_http2.then(|| self.http2_place()).transpose();
        let http2 = http2.map_err(|cause| format!("HTTP/2: {cause}"))?;
        self.speak(stream, http2, stopped).await
    }

    /// Takes a place for HTTP/2.
    ///
    /// # Errors
    /// When none is free.
    fn http2_place(&self) -> Result<Http2Place, &'static str> {
        let limits = &self.limits;
        let Some(network) = self.network else {
            return Ok(Http2Place {
                streams_max: limits.streams_max,
                _share: None,
            });
        };
        let places = &self.places.http2;
        let share = places.take(network)?;
        Ok(Http2Place {
            streams_max: limits.streams_max_of(places.held_by(network)),
            _share: Some(share),
        })
    }

    /// Speaks HTTP on a connection that has begun: HTTP/2 if it has a place for that.
    async fn speak(
        self: Arc<Self>,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        http2: Option<Http2Place>,
        stopped: watch::Receiver<bool>,
    ) -> Result<(), String> {
        let is_http2 = http2.is_some();
        let this = Arc::clone(&self);
        let answer = service_fn(move |request| Arc::clone(&this).answer(request));
        let io = TokioIo::new(Socket::new(stream, Arc::clone(&self.activity), !is_http2));
        if let Some(place) = http2 {
            let builder = http2_builder(place.streams_max);
            let connection = pin!(builder.serve_connection(io, answer));
            let shut_down = http2::Connection::graceful_shutdown;
            self.drive(connection, shut_down, is_http2, stopped).await
        } else {
            let connection = pin!(self.http1().serve_connection(io, answer));
            let shut_down = http1::Connection::graceful_shutdown;
            self.drive(connection, shut_down, is_http2, stopped).await
        }
    }

    fn http1(&self) -> http1::Builder {
        let mut builder = http1::Builder::new();
        builder
            // hyper would set a timer for each head; `drive` has one for the connection.
            .header_read_timeout(None)
            .max_headers(HEADERS_MAX)
            .max_buf_size(self.limits.head_bytes_max)
            .keep_alive(true)
            // hyper would no longer notice clients that have gone; `Socket` lets them half-close.
            .half_close(false);
        builder
    }

    fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<ActiveBody>, Infallible>> {
        // Counted now: on HTTP/2 the future may be polled later.
        let waiting = self.activity.begin();
        async move {
            if let Speaks::Redirect(redirect) = &self.speaks {
                self.activity.end();
                return Ok(redirect
                    .answer(&request)
                    .map(|body| ActiveBody::new(body, waiting)));
            }
            let is_http1 = request.version() < Version::HTTP_2;
            let request = request.map(|body| ReceivedBody::new(body, &self.activity));
            let mut response = self.service.respond(self.peer, request).await;
            if self.network.is_some_and(|it| self.places.are_short_for(it)) {
                self.activity.end();
                if is_http1 {
                    let close = HeaderValue::from_static("close");
                    response.headers_mut().insert(CONNECTION, close);
                }
            }
            Ok(response.map(|body| ActiveBody::new(body, waiting)))
        }
    }

    /// Runs the connection until it ends, is idle for too long, or has drained after the stop.
    async fn drive<C: Future<Output = hyper::Result<()>>>(
        &self,
        mut connection: Pin<&mut C>,
        shut_down: impl Fn(Pin<&mut C>),
        is_http2: bool,
        mut stopped: watch::Receiver<bool>,
    ) -> Result<(), String> {
        let mut keep_alive = if is_http2 {
            self.limits.idle_deadline
        } else {
            self.limits.head_deadline
        };
        let mut stop = pin!(stopped_for(&mut stopped, Duration::ZERO));
        let activity = &self.activity;
        let (mut is_ending, mut is_half_closed) = (false, false);
        // Not reset by each request: when it fires, the activity knows when the last one was.
        let mut idle = pin!(sleep(keep_alive));
        let http = |error: hyper::Error| format!("http: {error}");
        loop {
            tokio::select! {
                // The stop first: a connection that is always ready would hide it.
                biased;
                () = &mut stop, if !is_ending => {
                    // A request that has arrived is read first: hyper closes a fresh connection at once.
                    activity.intake.begin_turn();
                    let ended = poll_fn(|context| Poll::Ready(connection.as_mut().poll(context)));
                    if let Poll::Ready(ended) = ended.await {
                        return ended.map_err(http);
                    }
                    is_ending = true;
                    // On HTTP/2, hyper ends the connection with the last answer.
                    if !is_http2 {
                        keep_alive = STOP_GRACE;
                    }
                }
                () = &mut idle => {
                    match activity.next_look(keep_alive, self.limits.idle_deadline) {
                        Some(next) => {
                            idle.as_mut().reset(next);
                            continue;
                        }
                        // An idle client is told of the end first, so that it knows what was not processed
                        // (RFC 9113, section 6.8).
                        None if is_http2 && !is_ending => {
                            is_ending = true;
                            keep_alive = STOP_GRACE;
                        }
                        None => return Err(IDLE.to_owned()),
                    }
                }
                ended = turn(activity, connection.as_mut()) => return ended.map_err(http),
                // After the connection, which is what finds out.
                () = until(|| activity.is_half_closed()), if !is_half_closed => {
                    is_half_closed = true;
                    idle.as_mut().reset(Instant::now() + HALF_CLOSED_REST.min(keep_alive));
                    continue;
                }
                () = until(|| activity.is_ending()), if !is_ending => {
                    is_ending = true;
                    keep_alive = STOP_GRACE;
                }
            }
            shut_down(connection.as_mut());
            // A request whose head is not complete by then is not waited for.
            idle.as_mut().reset(Instant::now() + keep_alive);
        }
    }
}

fn http2_builder(streams_max: u32) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(streams_max)
        .max_header_list_size(HEADER_LIST_MAX)
        // RFC 9113's default. hyper's would be a MiB, and so much could wait to be read.
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        // Rapid reset (CVE-2023-44487).
        .max_pending_accept_reset_streams(20)
        .max_local_error_reset_streams(256)
        // A client in the middle of a header block cannot answer a ping, so this is also the deadline of
        // the block.
        .keep_alive_interval(Some(Duration::from_secs(20)))
        .keep_alive_timeout(Duration::from_secs(10));
    builder
}

/// Polls the connection, each time as a new turn.
async fn turn<C: Future>(activity: &Activity, mut connection: Pin<&mut C>) -> C::Output {
    poll_fn(|context| {
        activity.intake.begin_turn();
        connection.as_mut().poll(context)
    })
    .await
}

/// Resolves when `is_so`. Polled whenever the connection is.
async fn until(is_so: impl Fn() -> bool) {
    poll_fn(|_context| {
        if is_so() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// Resolves when the service has been stopping for as long as `grace`.
async fn stopped_for(stopped: &mut watch::Receiver<bool>, grace: Duration) {
    // An error means that the sender is gone, which is a stop, too.
    let _ = stopped.wait_for(|&stopped| stopped).await;
    sleep(grace).await;
}

/// Whether the client starts with HTTP/2's preface (RFC 9113, section 3.4). No method begins with
/// `PRI`, so three bytes decide. hyper-util's `auto` builder detects it too, but without a deadline.
async fn speaks_http2(stream: &TcpStream) -> io::Result<bool> {
    const PREFACE: &[u8; 3] = b"PRI";
    let mut first = [0; PREFACE.len()];
    for _ in 0..PREFACE_TRIES {
        let count = stream.peek(&mut first).await?;
        let (seen, _) = first.split_at(count);
        if count == 0 || count == PREFACE.len() || !PREFACE.starts_with(seen) {
            return Ok(seen == PREFACE);
        }
        // Another peek would return the same bytes at once.
        sleep(PREFACE_PAUSE).await;
    }
    // hyper waits for the rest of an HTTP/1.1 head.
    Ok(false)
}
