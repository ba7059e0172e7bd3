//! The idle deadline of a connection: when it last made progress, and what it is doing.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Buf, Bytes, Frame, SizeHint};
use tokio::time::Instant;

use super::reply::ReplyBody;
use super::sse::BrokenOff;

/// How many bytes of an unfinished answer count as progress. A client that reads byte by byte makes
/// none.
const PROGRESS_BYTES: usize = 4096;

/// The counters of one connection, and the time of its last progress. Progress is a request answered, an
/// answer or one of its events sent, or [`PROGRESS_BYTES`] of answers sent.
#[derive(Debug)]
pub(super) struct Activity {
    opened: Instant,
    /// Milliseconds after `opened`.
    last_ms: AtomicU64,
    /// Requests without an answer yet.
    in_flight: AtomicUsize,
    /// Bodies and pieces of bodies that have not been sent.
    unsent: AtomicUsize,
    /// Bytes sent since the last progress, of pieces that are partly sent.
    sent_bytes: AtomicUsize,
}

impl Activity {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            last_ms: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            unsent: AtomicUsize::new(0),
            sent_bytes: AtomicUsize::new(0),
        })
    }

    fn touch(&self) {
        let ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(ms, Ordering::Relaxed);
    }

    fn sent(&self, bytes: usize) {
        if self.sent_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes >= PROGRESS_BYTES {
            self.sent_bytes.store(0, Ordering::Relaxed);
            self.touch();
        }
    }

    /// Counts a request until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Counted {
        Counted::new(self, |activity| &activity.in_flight)
    }

    /// When to check again. `rest` is the deadline between two requests, `stall` that while an answer is
    /// being sent. `None` once it has passed.
    pub(super) fn next_look(&self, rest: Duration, stall: Duration) -> Option<Instant> {
        let now = Instant::now();
        if self.in_flight.load(Ordering::Acquire) > 0 {
            return Some(now + rest);
        }
        let is_sending = self.unsent.load(Ordering::Acquire) > 0;
        let last = self.opened + Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
        let deadline = last + if is_sending { stall } else { rest };
        // Once the answer is sent, `rest` applies.
        (deadline > now).then(|| deadline.min(now + rest))
    }
}

/// A guard that decrements its counter when dropped.
#[derive(Debug)]
pub(super) struct Counted {
    activity: Arc<Activity>,
    counter: fn(&Activity) -> &AtomicUsize,
}

impl Counted {
    fn new(activity: &Arc<Activity>, counter: fn(&Activity) -> &AtomicUsize) -> Self {
        counter(activity).fetch_add(1, Ordering::Relaxed);
        let activity = Arc::clone(activity);
        Self { activity, counter }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.activity.touch();
        (self.counter)(&self.activity).fetch_sub(1, Ordering::Release);
    }
}

/// The body of an answer, counted as unsent.
pub(super) struct ActiveBody {
    body: ReplyBody,
    /// Handed to the last piece.
    unsent: Option<Counted>,
}

impl ActiveBody {
    pub(super) fn new(body: ReplyBody, activity: &Arc<Activity>) -> Self {
        let unsent = Some(Counted::new(activity, |activity| &activity.unsent));
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
                    Some(unsent) => Some(Counted::new(&unsent.activity, unsent.counter)),
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
pub(super) struct Piece {
    bytes: Bytes,
    unsent: Option<Counted>,
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
    use crate::http::reply::whole;

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
    async fn a_request_in_flight_may_take_any_time() {
        let activity = Activity::new();
        let request = activity.begin();
        advance(10 * STALL).await;
        assert_eq!(activity.next_look(REST, STALL), Some(Instant::now() + REST));
        drop(request);
        assert_eq!(activity.next_look(REST, STALL), Some(Instant::now() + REST));
    }
}
