//! Activity of a connection: the side being waited for, and the time of the last progress.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use arrayvec::ArrayVec;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::http::ReplyBody;

/// Minimum bytes of a write that count as progress. HTTP/2 frames that acknowledge a ping or a setting are
/// smaller.
const PROGRESS_BYTES: usize = 64;

/// Bytes that a client may send per request, besides its body. More is a flood of frames that request nothing
/// (CVE-2019-9512, CVE-2019-9515).
const REQUEST_BYTES: i64 = 64 * 1024;

/// Maximum bytes that a client may send before its next request is counted: on HTTP/2, all heads that have
/// arrived and a window of body data are read before that.
const AHEAD_BYTES: i64 = 256 * 1024;

/// Bytes that a client may send per frame of a response: some clients acknowledge each one with two
/// `WINDOW_UPDATE` frames, over TLS in a record each.
const FRAME_BYTES: i64 = 128;

/// Size of the largest response that is written in one piece.
const JOINED_BYTES_MAX: usize = 4096;

/// The side a connection waits for, and the time of its last progress. Progress is a completed response, or
/// [`PROGRESS_BYTES`] sent.
#[derive(Debug)]
pub(crate) struct Activity {
    opened: Instant,
    /// Milliseconds after `opened`.
    last_ms: AtomicU64,
    /// Requests without a response yet, and responses whose next part isn't ready.
    waiting: AtomicUsize,
    /// The socket's send buffer is full: the client doesn't read.
    is_blocked: AtomicBool,
    /// Bytes that the client may still send.
    credit: AtomicI64,
    closing: Notify,
    evicted: Notify,
}

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            last_ms: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            is_blocked: AtomicBool::new(false),
            credit: AtomicI64::new(AHEAD_BYTES),
            closing: Notify::new(),
            evicted: Notify::new(),
        })
    }

    /// Counts a request until the guard is dropped.
    pub(crate) fn begin_request(self: &Arc<Self>) -> ActivityGuard {
        self.allow(REQUEST_BYTES);
        self.begin()
    }

    /// Lifts the bound: a trusted proxy passes on no flood.
    pub(super) fn trust(&self) {
        self.allow(i64::MAX / 2);
    }

    /// Returns the new credit.
    fn allow(&self, bytes: i64) -> i64 {
        let allowed = self.credit.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if allowed > AHEAD_BYTES && allowed < i64::MAX / 4 {
            self.credit.store(AHEAD_BYTES, Ordering::Relaxed);
            return AHEAD_BYTES;
        }
        allowed
    }

    /// The connection waits for the service until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> ActivityGuard {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        ActivityGuard(Arc::clone(self))
    }

    /// Time of the last progress, unless a response is pending.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        (!self.is_waiting()).then(|| self.last())
    }

    /// Resolves after no progress for `rest`, counted from now at the earliest, or for `stall` while the
    /// client doesn't read its response. Responses still being made may take any time.
    pub(crate) async fn idle(&self, rest: Duration, stall: Duration) {
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

    /// Ends the connection after its pending responses.
    pub(crate) fn close(&self) {
        self.closing.notify_one();
    }

    pub(crate) async fn closing(&self) {
        self.closing.notified().await;
    }

    /// Ends the connection now.
    pub(crate) fn evict(&self) {
        self.evicted.notify_one();
    }

    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    fn last(&self) -> Instant {
        self.opened + Duration::from_millis(self.last_ms.load(Ordering::Relaxed))
    }

    fn touch(&self) {
        let age_ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(age_ms, Ordering::Relaxed);
    }

    /// Called after each read of the socket with the number of bytes.
    ///
    /// # Errors
    /// When the client sent more than its requests can need.
    fn read(&self, bytes: usize) -> io::Result<()> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        if self.allow(-bytes) < 0 {
            return Err(io::Error::other(
                "flood: the client sent more than its requests need",
            ));
        }
        Ok(())
    }

    /// True if the client sent more than its requests can need.
    pub(crate) fn has_flooded(&self) -> bool {
        self.credit.load(Ordering::Relaxed) < 0
    }

    /// Called after each write to the socket with its result.
    fn wrote<E>(&self, polled: &Poll<Result<usize, E>>) {
        self.is_blocked
            .store(polled.is_pending(), Ordering::Relaxed);
        if matches!(polled, Poll::Ready(Ok(PROGRESS_BYTES..))) {
            self.touch();
        }
    }
}

/// The connection waits for the service until this is dropped.
#[derive(Debug)]
pub(crate) struct ActivityGuard(Arc<Activity>);

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.0.touch();
        self.0.waiting.fetch_sub(1, Ordering::Release);
    }
}

/// A request's body. The client may send as many bytes as are read of it.
pub(crate) struct ReceivedBody {
    body: Incoming,
    /// `None` if it is empty.
    activity: Option<Arc<Activity>>,
}

impl ReceivedBody {
    pub(crate) fn new(body: Incoming, activity: &Arc<Activity>) -> Self {
        let activity = (!body.is_end_stream()).then(|| Arc::clone(activity));
        Self { body, activity }
    }
}

impl Body for ReceivedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(context);
        if let (Poll::Ready(Some(Ok(frame))), Some(activity)) = (&polled, &this.activity) {
            // A short part can come in a frame that is larger than its content.
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            activity.allow(2 * i64::try_from(bytes).unwrap_or(0));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A response's body. While its next part isn't ready, the connection waits for the service.
pub(crate) struct ActiveBody {
    body: ReplyBody,
    activity: Arc<Activity>,
    waiting: Option<ActivityGuard>,
}

impl ActiveBody {
    /// `waiting` counts the request until now.
    pub(crate) fn new(body: ReplyBody, waiting: ActivityGuard) -> Self {
        Self {
            body,
            activity: Arc::clone(&waiting.0),
            waiting: Some(waiting),
        }
    }
}

impl Body for ActiveBody {
    type Data = Bytes;
    type Error = <ReplyBody as Body>::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(context);
        if polled.is_ready() {
            this.waiting = None;
            this.activity.allow(FRAME_BYTES);
        } else {
            this.waiting.get_or_insert_with(|| this.activity.begin());
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection's socket, below TLS. Reports received and sent bytes to the activity.
pub(crate) struct Socket {
    pub(crate) stream: TcpStream,
    pub(crate) activity: Arc<Activity>,
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
mod tests {
    use std::convert::Infallible;
    use std::pin::pin;
    use std::task::Waker;

    use futures_util::FutureExt as _;
    use http_body_util::Either;
    use tokio::time::advance;

    use super::*;
    use crate::http::answer::sse;
    use crate::http::whole;

    const REST: Duration = Duration::from_secs(30);
    const STALL: Duration = Duration::from_secs(75);
    const PAUSE: Duration = Duration::from_secs(7);
    const MOMENT: Duration = Duration::from_millis(2);

    fn sent(activity: &Activity, count: usize) {
        activity.wrote(&Poll::Ready(Ok::<_, Infallible>(count)));
    }

    fn blocked(activity: &Activity) {
        activity.wrote(&Poll::<Result<usize, Infallible>>::Pending);
    }

    /// Fails unless the connection counts as idle after exactly `expected`.
    async fn idles_after(activity: &Activity, expected: Duration) {
        let began = Instant::now();
        activity.idle(REST, STALL).await;
        let elapsed = began.elapsed();
        assert!(
            elapsed >= expected && elapsed < expected + MOMENT,
            "{elapsed:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_since_its_last_answer_was_sent() {
        let activity = Activity::new();
        let mut idle = pin!(activity.idle(REST, STALL));
        let request = activity.begin();
        for _ in 0..10 {
            advance(STALL).await;
            assert!(idle.as_mut().now_or_never().is_none());
        }
        let mut body = ActiveBody::new(whole("whole"), request);
        let polled = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_ready());
        advance(PAUSE).await;
        sent(&activity, PROGRESS_BYTES);
        let began = Instant::now();
        idle.await;
        assert!(began.elapsed() >= REST && began.elapsed() < REST + MOMENT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_has_longer_and_each_write_counts() {
        let activity = Activity::new();
        let mut idle = pin!(activity.idle(REST, STALL));
        for _ in 0..3 {
            blocked(&activity);
            advance(STALL - PAUSE).await;
            assert!(idle.as_mut().now_or_never().is_none());
            sent(&activity, PROGRESS_BYTES);
        }
        blocked(&activity);
        // Another request of the same client changes nothing.
        let _request = activity.begin();
        let began = Instant::now();
        idle.await;
        assert!(began.elapsed() >= STALL && began.elapsed() < STALL + MOMENT);
    }

    #[tokio::test(start_paused = true)]
    async fn frames_that_keep_a_connection_alive_are_no_progress() {
        let activity = Activity::new();
        let idle = async {
            for _ in 0..2 {
                tokio::time::sleep(REST / 3).await;
                sent(&activity, PROGRESS_BYTES - 1);
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = idle => {}
            () = idles_after(&activity, REST) => {}
        }
    }

    #[test]
    fn a_client_may_send_what_its_requests_need_and_no_more() {
        let activity = Activity::new();
        let [ahead, request] = [AHEAD_BYTES, REQUEST_BYTES].map(|it| usize::try_from(it).unwrap());
        // Unused credit of many requests doesn't add up.
        for _ in 0..1000 {
            drop(activity.begin_request());
        }
        activity.read(ahead).unwrap();
        drop(activity.begin_request());
        activity.read(request).unwrap();
        assert!(!activity.has_flooded());
        assert!(activity.read(1).is_err());
        assert!(activity.has_flooded());
        let trusted = Activity::new();
        trusted.trust();
        drop(trusted.begin_request());
        trusted.read(1 << 40).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_service_has_not_made_yet_may_take_any_time() {
        let activity = Activity::new();
        let request = activity.begin();
        // A part of the response, then none for long.
        let (sink, stream) = sse::channel();
        sink.send("part", b"1").await.unwrap();
        let mut body = ActiveBody::new(Either::Right(Box::new(stream)), request);
        let context = &mut Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut body).poll_frame(context).is_ready());
        assert!(!activity.is_waiting());
        assert!(Pin::new(&mut body).poll_frame(context).is_pending());
        let mut idle = pin!(activity.idle(REST, STALL));
        for _ in 0..10 {
            advance(STALL).await;
            assert!(idle.as_mut().now_or_never().is_none());
        }
        drop(body);
        assert!(!activity.is_waiting());
    }
}
