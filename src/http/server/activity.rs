//! The idle deadline of a connection: when it last made progress, and what it waits for.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::http::ReplyBody;
use crate::http::answer::sse::BrokenOff;
use crate::http::request::body::BodyError;
use crate::http::server::intake::Intake;

/// How many bytes a write has to send to count as progress. The frames of HTTP/2 that answer a ping or change
/// a setting have fewer.
const PROGRESS_BYTES: usize = 64;

/// How long the answer to a client that has half-closed may make no progress. Such a client may have
/// gone: only a write to it shows that.
pub(crate) const HALF_CLOSED_REST: Duration = Duration::from_secs(4);

/// What a connection waits for, and the time of its last progress. Progress is a request answered, or
/// [`PROGRESS_BYTES`] sent.
#[derive(Debug)]
pub(crate) struct Activity {
    opened: Instant,
    /// Milliseconds after `opened`.
    last_ms: AtomicU64,
    /// Requests without an answer yet, and answers whose next part is not there yet.
    waiting: AtomicUsize,
    /// Whether the socket takes no more: the client does not read.
    is_blocked: AtomicBool,
    /// When the client was found to send no more while an answer was due to it, in milliseconds after
    /// `opened`; `u64::MAX` until then.
    half_closed_ms: AtomicU64,
    /// Whether the connection ends once what it has begun is answered.
    is_ending: AtomicBool,
    evicted: Notify,
    pub(crate) intake: Intake,
}

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            last_ms: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            is_blocked: AtomicBool::new(false),
            half_closed_ms: AtomicU64::new(u64::MAX),
            is_ending: AtomicBool::new(false),
            evicted: Notify::new(),
            intake: Intake::default(),
        })
    }

    fn age_ms(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn touch(&self) {
        self.last_ms.store(self.age_ms(), Ordering::Relaxed);
    }

    /// Whether an end of what the client sends was held back.
    pub(crate) fn is_half_closed(&self) -> bool {
        self.half_closed_ms.load(Ordering::Relaxed) != u64::MAX
    }

    /// Called after each write to the socket with what it returned.
    pub(crate) fn wrote<E>(&self, polled: &Poll<Result<usize, E>>) {
        self.is_blocked
            .store(polled.is_pending(), Ordering::Relaxed);
        if matches!(polled, Poll::Ready(Ok(PROGRESS_BYTES..))) {
            self.touch();
        }
    }

    /// Called after each flush of the socket with what it returned. TLS takes what is written and sends it
    /// later, which is progress only when all of it has been sent.
    pub(crate) fn flushed<T>(&self, polled: &Poll<T>) {
        let is_blocked = polled.is_pending();
        if self.is_blocked.swap(is_blocked, Ordering::Relaxed) && !is_blocked {
            self.touch();
        }
    }

    /// Counts a request until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> ActivityGuard {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.intake.begin_request();
        ActivityGuard(Arc::clone(self))
    }

    /// Since when there has been no progress, unless an answer is due.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let last_ms = self.last_ms.load(Ordering::Relaxed);
        (!self.is_waiting()).then(|| self.opened + Duration::from_millis(last_ms))
    }

    /// Ends the connection once what it has begun is answered.
    pub(crate) fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
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

    fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::Relaxed)
    }

    /// Called when the client sends no more. Whether an answer is due, until whose end hyper is not told.
    pub(crate) fn holds_end(&self) -> bool {
        let is_due = self.is_waiting() || self.is_blocked();
        if is_due {
            self.half_closed_ms
                .fetch_min(self.age_ms(), Ordering::Relaxed);
        }
        is_due
    }

    /// Whether the answer is sent that an end was held back for.
    pub(crate) fn releases_end(&self) -> bool {
        self.is_half_closed() && !self.is_waiting() && !self.is_blocked()
    }

    /// When to check again. `rest` is the deadline between two requests, `stall` that while the client does
    /// not read what it is sent. `None` once it has passed.
    pub(crate) fn next_look(&self, rest: Duration, stall: Duration) -> Option<Instant> {
        let now = Instant::now();
        let mut last_ms = self.last_ms.load(Ordering::Relaxed);
        let allowed = if self.is_half_closed() {
            last_ms = last_ms.max(self.half_closed_ms.load(Ordering::Relaxed));
            HALF_CLOSED_REST.min(rest)
        } else if self.is_blocked() {
            stall
        } else if self.is_waiting() {
            return Some(now + rest);
        } else {
            rest
        };
        let deadline = self.opened + Duration::from_millis(last_ms) + allowed;
        // Once the answer is sent, `rest` applies.
        (deadline > now).then(|| deadline.min(now + rest))
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

/// The body of a request. Once the client sends no more, what is missing from it is an error: hyper is
/// not told and would wait for it.
pub(crate) struct ReceivedBody {
    body: Incoming,
    /// Absent if there is no body.
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
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(context);
        match &this.activity {
            Some(activity) if polled.is_ready() => activity.intake.read_body(),
            Some(activity) if activity.is_half_closed() => {
                return Poll::Ready(Some(Err("the client sends no more".into())));
            }
            Some(_) | None => {}
        }
        polled.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer. While its next part is not there, the connection waits for the service.
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
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(context);
        if polled.is_ready() {
            this.waiting = None;
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::task::Waker;

    use futures_util::{StreamExt as _, stream};
    use http_body_util::{BodyExt as _, StreamBody};
    use tokio::time::advance;

    use super::*;
    use crate::http::answer::reply::whole;

    const REST: Duration = Duration::from_secs(30);
    const STALL: Duration = Duration::from_secs(75);
    const PAUSE: Duration = Duration::from_secs(7);

    fn sent(activity: &Activity, count: usize) {
        activity.wrote(&Poll::Ready(Ok::<_, Infallible>(count)));
    }

    fn blocked(activity: &Activity) {
        activity.wrote(&Poll::<Result<usize, Infallible>>::Pending);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_since_its_last_answer_was_sent() {
        let activity = Activity::new();
        let request = activity.begin();
        advance(10 * STALL).await;
        let mut body = ActiveBody::new(whole(Bytes::from_static(b"whole")), request);
        assert_eq!(activity.next_look(REST, STALL), Some(Instant::now() + REST));
        let polled = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_ready());
        advance(PAUSE).await;
        sent(&activity, PROGRESS_BYTES);
        let end = Instant::now() + REST;
        assert_eq!(activity.next_look(REST, STALL), Some(end));
        advance(PAUSE).await;
        assert_eq!(activity.next_look(REST, STALL), Some(end));
        advance(REST - PAUSE).await;
        assert_eq!(activity.next_look(REST, STALL), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_has_longer_and_each_write_counts() {
        let activity = Activity::new();
        for _ in 0..3 {
            blocked(&activity);
            advance(STALL - PAUSE).await;
            let end = Instant::now() + PAUSE;
            assert_eq!(activity.next_look(REST, STALL), Some(end));
            sent(&activity, PROGRESS_BYTES);
        }
        blocked(&activity);
        // Another request of the same client changes nothing.
        let _request = activity.begin();
        advance(STALL).await;
        assert_eq!(activity.next_look(REST, STALL), None);
    }

    #[tokio::test(start_paused = true)]
    async fn frames_that_keep_a_connection_alive_are_no_progress() {
        let activity = Activity::new();
        for _ in 0..3 {
            advance(REST / 3).await;
            sent(&activity, PROGRESS_BYTES - 1);
        }
        assert_eq!(activity.next_look(REST, STALL), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_to_a_client_that_sends_no_more_has_to_make_progress() {
        let activity = Activity::new();
        assert!(!activity.holds_end(), "no answer is due");
        let request = activity.begin();
        advance(10 * STALL).await;
        assert!(activity.holds_end());
        let end = Instant::now() + HALF_CLOSED_REST;
        assert_eq!(activity.next_look(REST, STALL), Some(end));
        advance(Duration::from_secs(3)).await;
        assert!(activity.holds_end());
        assert_eq!(activity.next_look(REST, STALL), Some(end));
        // The answer begins, and goes on.
        drop(request);
        for _ in 0..2 {
            sent(&activity, PROGRESS_BYTES);
            blocked(&activity);
            let end = Instant::now() + HALF_CLOSED_REST;
            assert_eq!(activity.next_look(REST, STALL), Some(end));
            advance(Duration::from_secs(3)).await;
        }
        assert!(activity.holds_end() && !activity.releases_end());
        advance(HALF_CLOSED_REST).await;
        assert_eq!(activity.next_look(REST, STALL), None);
        sent(&activity, PROGRESS_BYTES);
        assert!(!activity.holds_end() && activity.releases_end());
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_service_has_not_made_yet_may_take_any_time() {
        let activity = Activity::new();
        let request = activity.begin();
        advance(10 * STALL).await;
        assert_eq!(activity.next_look(REST, STALL), Some(Instant::now() + REST));
        // A part of the answer, then none for long.
        let parts = stream::iter([Ok(Frame::data(Bytes::from_static(b"part")))]);
        let body = StreamBody::new(parts.chain(stream::pending()));
        let mut body = ActiveBody::new(body.boxed_unsync(), request);
        let context = &mut Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut body).poll_frame(context).is_ready());
        assert!(!activity.is_waiting());
        assert!(Pin::new(&mut body).poll_frame(context).is_pending());
        advance(10 * STALL).await;
        assert_eq!(activity.next_look(REST, STALL), Some(Instant::now() + REST));
        drop(body);
        assert!(!activity.is_waiting());
    }
}
