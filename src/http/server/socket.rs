//! A connection's socket, and its activity: the side being waited for, and the time of the last progress; and the
//! protocols that are recognised only to be refused.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use arrayvec::ArrayVec;
use futures_util::stream;
use http_body_util::{BodyExt as _, Either, StreamBody};
use hyper::Version;
use hyper::body::Body as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use crate::http::ReplyBody;

/// Minimum bytes of a write that count as progress. HTTP/2 frames that acknowledge a ping or a setting are
/// smaller.
const PROGRESS_BYTES: usize = 64;

/// Maximum bytes that a client may send between two requests: the largest bodies of all its streams are 10 MiB, and it
/// acknowledges long streamed responses. More is a flood of frames that request nothing (CVE-2019-9512, CVE-2019-9515).
const BYTES_PER_REQUEST_MAX: usize = 12 * 1024 * 1024;

/// Size of the largest response that is written in one piece.
const JOINED_BYTES_MAX: usize = 4096;

/// The side a connection waits for, and the time of its last progress. Progress is a completed response, or
/// [`PROGRESS_BYTES`] sent.
#[derive(Debug)]
pub(super) struct Activity {
    opened: Instant,
    /// Milliseconds after `opened`.
    last_ms: AtomicU64,
    /// Requests without a response yet, and responses whose next part isn't ready.
    waiting: AtomicUsize,
    /// Nothing has been written since a request arrived. Its response is usually written at once, and needs no other look
    /// at the clock. Changed by the connection's task only.
    is_fresh: AtomicBool,
    /// The socket's send buffer is full: the client doesn't read.
    is_blocked: AtomicBool,
    /// Bytes received since the last request. Above the maximum, the client has flooded. Changed by the connection's
    /// task only.
    received: AtomicUsize,
    /// Unbounded for a trusted proxy, which passes on no flood.
    received_max: usize,
    /// The connection's task.
    task: OnceLock<AbortHandle>,
}

impl Activity {
    pub(super) fn new(is_trusted: bool) -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            last_ms: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            is_fresh: AtomicBool::new(false),
            is_blocked: AtomicBool::new(false),
            received: AtomicUsize::new(0),
            received_max: match is_trusted {
                true => usize::MAX,
                false => BYTES_PER_REQUEST_MAX,
            },
            task: OnceLock::new(),
        })
    }

    /// A request has arrived. A flood stays one.
    pub(super) fn begin_request(&self, arrived: Instant, version: Version) {
        if !self.has_flooded() {
            self.received.store(0, Ordering::Relaxed);
        }
        self.touch(arrived);
        // HTTP/2 writes when the client lets it.
        let is_fresh = version < Version::HTTP_2;
        self.is_fresh.store(is_fresh, Ordering::Relaxed);
    }

    /// The connection waits for the service until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> ActivityGuard {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        ActivityGuard(Arc::clone(self))
    }

    /// Time of the last progress, unless a response is pending.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        (!self.is_waiting()).then(|| self.last())
    }

    /// Resolves after no progress for `rest`, counted from now at the earliest, or for `stall` while the
    /// client doesn't read its response. Responses still being made may take any time.
    pub(super) async fn idle(&self, rest: Duration, stall: Duration) {
        let mut look = Instant::now() + rest;
        loop {
            // Not reset by each request: when it fires, `last` has the time of the last one.
            sleep_until(look).await;
            let now = Instant::now();
            let deadline = if self.is_blocked.load(Ordering::Relaxed) {
                self.last() + stall
            } else if self.is_waiting() {
                now + rest
            } else {
                self.last() + rest
            };
            if deadline <= now {
                return;
            }
            // Once the response is sent, `rest` applies.
            look = deadline.min(now + rest);
        }
    }

    /// `task` serves the connection.
    pub(super) fn belongs_to(&self, task: AbortHandle) {
        // A connection has one task.
        let _ = self.task.set(task);
    }

    /// Closes the connection at once.
    pub(super) fn evict(&self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }

    fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    fn last(&self) -> Instant {
        self.opened + Duration::from_millis(self.last_ms.load(Ordering::Relaxed))
    }

    fn touch(&self, now: Instant) {
        let age = now.saturating_duration_since(self.opened);
        let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(age_ms, Ordering::Relaxed);
    }

    /// Called after each read of the socket with the number of bytes.
    ///
    /// # Errors
    /// When the client sent more than its requests can need.
    fn read(&self, bytes: usize) -> io::Result<()> {
        let received = self.received.load(Ordering::Relaxed);
        let received = received.saturating_add(bytes);
        self.received.store(received, Ordering::Relaxed);
        if self.has_flooded() {
            return Err(io::Error::other(
                "flood: the client sent more than its requests need",
            ));
        }
        Ok(())
    }

    /// True if the client sent more than its requests can need.
    pub(super) fn has_flooded(&self) -> bool {
        self.received.load(Ordering::Relaxed) > self.received_max
    }

    /// Called after each write to the socket with its result.
    fn wrote<E>(&self, polled: &Poll<Result<usize, E>>) {
        self.is_blocked
            .store(polled.is_pending(), Ordering::Relaxed);
        if self.is_fresh.load(Ordering::Relaxed) {
            self.is_fresh.store(false, Ordering::Relaxed);
        } else if matches!(polled, Poll::Ready(Ok(PROGRESS_BYTES..))) {
            self.touch(Instant::now());
        }
    }
}

/// The connection waits for the service until this is dropped.
#[derive(Debug)]
pub(super) struct ActivityGuard(Arc<Activity>);

impl ActivityGuard {
    /// The body of the response. The connection waits for the service while the next part of a stream isn't ready.
    /// HTTP/2 polls a stream only if the client takes more.
    pub(super) fn sending(self, body: ReplyBody) -> ReplyBody {
        let Either::Right(mut stream) = body else {
            return body;
        };
        let activity = Arc::clone(&self.0);
        let mut waiting = Some(self);
        let frames = stream::poll_fn(move |context| {
            let polled = Pin::new(&mut stream).poll_frame(context);
            if polled.is_ready() {
                waiting = None;
            } else {
                waiting.get_or_insert_with(|| activity.begin());
            }
            polled
        });
        Either::Right(StreamBody::new(frames).boxed_unsync())
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.0.touch(Instant::now());
        self.0.waiting.fetch_sub(1, Ordering::Release);
    }
}

/// A connection's socket, below TLS. Reports received and sent bytes to the activity.
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    pub(super) activity: Arc<Activity>,
}

impl Socket {
    /// The bytes that the connection begins with, zeros in place of those that have not arrived. They stay unread.
    pub(super) async fn first_bytes(&self) -> io::Result<[u8; 6]> {
        let mut first = [0; 6];
        self.stream.peek(&mut first).await?;
        Ok(first)
    }
}

/// The protocol of a connection that can't be served.
pub(super) fn foreign(first: &[u8; 6], has_tls: bool) -> Option<&'static str> {
    match (first, has_tls) {
        (b"PROXY " | b"\r\n\r\n\0\r", _) => Some(
            "it is the PROXY protocol, which is not supported: turn it off in the proxy \
             (send-proxy, proxy_protocol)",
        ),
        (&[0x16, 3, ..], false) => Some("it is TLS, but this port has none"),
        (&[b'A'..=b'Z', b'A'..=b'Z', ..], true) => Some("it is HTTP without TLS"),
        _ => None,
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.activity.read(buffer.filled().len() - before))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, buffer);
        self.activity.wrote(&polled);
        polled
    }

    /// Joins the pieces of a small response, because one piece costs the kernel less than two. hyper could join them,
    /// but its buffer would stay as large as the largest response of the connection.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut joined = ArrayVec::<u8, JOINED_BYTES_MAX>::new();
        let fits = |buffer: &IoSlice<'_>| joined.try_extend_from_slice(buffer).is_ok();
        if buffers.iter().all(fits) {
            return self.poll_write(context, &joined);
        }
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.activity.wrote(&polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
