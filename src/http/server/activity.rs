//! The idle deadline of a connection: when it last made progress, and what it is doing.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Buf, Bytes, Frame, Incoming, SizeHint};
use tokio::time::Instant;

use crate::http::answer::reply::ReplyBody;
use crate::http::answer::sse::BrokenOff;
use crate::http::request::body::BodyError;

/// How many bytes of an unfinished answer count as progress. A client that reads byte by byte makes
/// none.
const PROGRESS_BYTES: usize = 4096;

/// How long the answer to a client that has half-closed may make no progress. Such a client may have
/// gone: only a write to it shows that.
pub(crate) const HALF_CLOSED_REST: Duration = Duration::from_secs(4);

/// The counters of one connection, and the time of its last progress. Progress is a request answered, an
/// answer or one of its events sent, or [`PROGRESS_BYTES`] of answers sent.
#[derive(Debug)]
pub(crate) struct Activity {
    opened: Instant,
    /// Milliseconds after `opened`.
    last_ms: AtomicU64,
    /// Requests without an answer yet.
    in_flight: AtomicUsize,
    /// Bodies and pieces of bodies that have not been sent.
    unsent: AtomicUsize,
    /// Bytes sent since the last progress, of pieces that are partly sent.
    sent_bytes: AtomicUsize,
    /// When the client was found to send no more while an answer was due to it, in milliseconds after
    /// `opened`; `u64::MAX` until then.
    half_closed_ms: AtomicU64,
}

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            last_ms: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            unsent: AtomicUsize::new(0),
            sent_bytes: AtomicUsize::new(0),
            half_closed_ms: AtomicU64::new(u64::MAX),
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

    fn sent(&self, bytes: usize) {
        if self.sent_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes >= PROGRESS_BYTES {
            self.sent_bytes.store(0, Ordering::Relaxed);
            self.touch();
        }
    }

    /// Counts a request until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> ActivityGuard {
        ActivityGuard::new(self, |activity| &activity.in_flight)
    }

    fn is_waiting(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) > 0
    }

    fn is_sending(&self) -> bool {
        self.unsent.load(Ordering::Acquire) > 0
    }

    /// Called when the client sends no more. Whether an answer is due, until whose end that is not told.
    pub(crate) fn holds_end(&self) -> bool {
        let is_due = self.is_waiting() || self.is_sending();
        if is_due {
            self.half_closed_ms
                .fetch_min(self.age_ms(), Ordering::Relaxed);
        }
        is_due
    }

    /// Whether the answer is sent that an end was held back for.
    pub(crate) fn releases_end(&self) -> bool {
        self.is_half_closed() && !self.is_waiting() && !self.is_sending()
    }

    /// When to check again. `rest` is the deadline between two requests, `stall` that while an answer is
    /// being sent. `None` once it has passed.
    pub(crate) fn next_look(&self, rest: Duration, stall: Duration) -> Option<Instant> {
        let now = Instant::now();
        let mut last_ms = self.last_ms.load(Ordering::Relaxed);
        let allowed = if self.is_half_closed() {
            last_ms = last_ms.max(self.half_closed_ms.load(Ordering::Relaxed));
            HALF_CLOSED_REST.min(rest)
        } else if self.is_waiting() {
            return Some(now + rest);
        } else if self.is_sending() {
            stall
        } else {
            rest
        };
        let deadline = self.opened + Duration::from_millis(last_ms) + allowed;
        // Once the answer is sent, `rest` applies.
        (deadline > now).then(|| deadline.min(now + rest))
    }
}

/// A guard that decrements its counter when dropped.
#[derive(Debug)]
pub(crate) struct ActivityGuard {
    activity: Arc<Activity>,
    counter: fn(&Activity) -> &AtomicUsize,
}

impl ActivityGuard {
    fn new(activity: &Arc<Activity>, counter: fn(&Activity) -> &AtomicUsize) -> Self {
        counter(activity).fetch_add(1, Ordering::Relaxed);
        let activity = Arc::clone(activity);
        Self { activity, counter }
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.activity.touch();
        (self.counter)(&self.activity).fetch_sub(1, Ordering::Release);
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
        let is_cut = |it: &Arc<Activity>| it.is_half_closed();
        match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Pending if this.activity.as_ref().is_some_and(is_cut) => {
                Poll::Ready(Some(Err("the client sends no more".into())))
            }
            polled @ (Poll::Ready(_) | Poll::Pending) => polled.map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer, counted as unsent.
pub(crate) struct ActiveBody {
    body: ReplyBody,
    /// Handed to the last piece.
    unsent: Option<ActivityGuard>,
}

impl ActiveBody {
    pub(crate) fn new(body: ReplyBody, activity: &Arc<Activity>) -> Self {
        let unsent = Some(ActivityGuard::new(activity, |activity| &activity.unsent));
        Self { body, unsent }
    }
}

impl Body for ActiveBody {
    type Data = Piece;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, BrokenOff>>> {
        let this = self.get_mut();
        let frame = Pin::new(&mut this.body).poll_frame(context);
        let is_last = this.body.is_end_stream();
        frame.map_ok(|frame| {
            frame.map_data(|bytes| Piece {
                bytes,
                unsent: match &this.unsent {
                    Some(_) if is_last => this.unsent.take(),
                    Some(unsent) => Some(ActivityGuard::new(&unsent.activity, unsent.counter)),
                    None => None,
                },
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A piece of an answer. hyper holds it until it is sent. On HTTP/2 the client's flow control can delay
/// that beyond the end of the body.
pub(crate) struct Piece {
    bytes: Bytes,
    unsent: Option<ActivityGuard>,
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        if self.bytes.has_remaining()
            && let Some(unsent) = &self.unsent
        {
            unsent.activity.sent(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::time::advance;

    use super::*;
    use crate::http::answer::reply::whole;

    const REST: Duration = Duration::from_secs(30);
    const STALL: Duration = Duration::from_secs(75);
    const PAUSE: Duration = Duration::from_secs(7);

    fn piece(activity: &Arc<Activity>) -> Piece {
        let text = Bytes::from_static(&[b'x'; 3 * PROGRESS_BYTES]);
        let mut body = ActiveBody::new(whole(text), activity);
        let polled = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Some(Ok(frame))) = polled else {
            panic!("a whole body is there at once");
        };
        frame.into_data().ok().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_since_its_last_answer_was_sent() {
        let activity = Activity::new();
        let piece = piece(&activity);
        advance(PAUSE).await;
        drop(piece);
        let end = Instant::now() + REST;
        assert_eq!(activity.next_look(REST, STALL), Some(end));
        advance(PAUSE).await;
        assert_eq!(activity.next_look(REST, STALL), Some(end));
        advance(REST - PAUSE).await;
        assert_eq!(activity.next_look(REST, STALL), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_has_longer_and_each_part_that_is_sent_counts() {
        let activity = Activity::new();
        let mut piece = piece(&activity);
        advance(STALL - PAUSE).await;
        assert_eq!(
            activity.next_look(REST, STALL),
            Some(Instant::now() + PAUSE)
        );
        piece.advance(PROGRESS_BYTES);
        advance(STALL - PAUSE).await;
        assert_eq!(
            activity.next_look(REST, STALL),
            Some(Instant::now() + PAUSE)
        );
        advance(PAUSE).await;
        assert_eq!(activity.next_look(REST, STALL), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_bytes_now_and_then_are_no_progress() {
        let activity = Activity::new();
        let mut piece = piece(&activity);
        let began = Instant::now();
        for _ in 0..10 {
            advance(STALL / 10).await;
            assert!(activity.next_look(REST, STALL).is_some() || began.elapsed() >= STALL);
            piece.advance(1);
        }
        assert_eq!(activity.next_look(REST, STALL), None);
        // Many pieces that together are enough are.
        for _ in 10..PROGRESS_BYTES {
            piece.advance(1);
        }
        assert_eq!(activity.next_look(REST, STALL), Some(Instant::now() + REST));
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
        let mut piece = piece(&activity);
        drop(request);
        for _ in 0..2 {
            let end = Instant::now() + HALF_CLOSED_REST;
            assert_eq!(activity.next_look(REST, STALL), Some(end));
            advance(Duration::from_secs(3)).await;
            piece.advance(PROGRESS_BYTES);
        }
        assert!(activity.holds_end() && !activity.releases_end());
        advance(HALF_CLOSED_REST).await;
        assert_eq!(activity.next_look(REST, STALL), None);
        drop(piece);
        assert!(!activity.holds_end() && activity.releases_end());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_in_flight_may_take_any_time() {
        let activity = Activity::new();
        let request = activity.begin();
        advance(10 * STALL).await;
        assert_eq!(activity.next_look(REST, STALL), Some(Instant::now() + REST));
        drop(request);
        assert_eq!(activity.next_look(REST, STALL), Some(Instant::now() + REST));
    }
}
