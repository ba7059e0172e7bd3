//! When a connection last did anything, so that one that does nothing can be closed, and an answer
//! that is silent for a while, or read slowly, is not taken for one.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Buf, Bytes, Frame, SizeHint};
use tokio::time::Instant;

use super::events::BrokenOff;
use super::reply::ReplyBody;

/// A body whose every piece shows that its connection is in use: a stream lasts longer than a
/// connection may idle, and of one that nobody reads nothing is sent.
pub(super) struct ActiveBody {
    body: ReplyBody,
    /// Goes with the last piece.
    answering: Option<Answering>,
}

impl ActiveBody {
    pub(super) fn new(body: ReplyBody, activity: &Arc<Activity>) -> Self {
        Self {
            body,
            answering: Some(Answering::new(activity)),
        }
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
                answering: if is_last {
                    this.answering.take()
                } else {
                    this.answering.as_ref().map(Answering::again)
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

/// A piece of an answer, which the connection keeps until it has been sent. That can be long after
/// the body has ended: a whole answer is one piece, and HTTP/2 lets its reader take it bit by bit.
pub(super) struct Piece {
    bytes: Bytes,
    answering: Option<Answering>,
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
            && let Some(answering) = &self.answering
        {
            answering.0.touch();
        }
    }
}

/// An answer, or a piece of one, that has not been sent to its end.
struct Answering(Arc<Activity>);

impl Answering {
    fn new(activity: &Arc<Activity>) -> Self {
        activity.unsent.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(activity))
    }

    /// Shows that some of the answer has been given out, and stands for that piece.
    fn again(&self) -> Self {
        self.0.touch();
        Self::new(&self.0)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.touch();
        self.0.unsent.fetch_sub(1, Ordering::Relaxed);
    }
}

/// When a connection last did anything.
pub(super) struct Activity {
    pub(super) opened: Instant,
    /// Milliseconds after `opened` at which a request was last answered (if that was at once, at
    /// which it arrived), or some of an answer given out or sent.
    last_ms: AtomicU64,
    in_flight: AtomicU32,
    /// Answers, and pieces of them, that have not been sent to their end.
    unsent: AtomicU32,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            opened: Instant::now(),
            last_ms: AtomicU64::new(0),
            in_flight: AtomicU32::new(0),
            unsent: AtomicU32::new(0),
        }
    }

    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    /// Takes note that something has just been done.
    pub(super) fn touch(&self) {
        self.touch_at(Instant::now());
    }

    /// Takes note that something was done at `now`, which is a moment ago at most.
    pub(super) fn touch_at(&self, now: Instant) {
        let ms = now.saturating_duration_since(self.opened).as_millis();
        let ms = u64::try_from(ms).unwrap_or(u64::MAX);
        self.last_ms.store(ms, Ordering::Relaxed);
    }

    /// Whether an answer has begun and has not been sent to its end.
    pub(super) fn is_answering(&self) -> bool {
        self.unsent.load(Ordering::Relaxed) > 0
    }

    /// Since when nothing has been in flight; nothing while something is. An answer that is only
    /// being sent is not: nobody may read it.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
        (self.in_flight.load(Ordering::Relaxed) == 0).then(|| self.opened + last)
    }
}

/// A request in flight.
pub(super) struct Busy(Arc<Activity>);

impl Busy {
    /// That of its connection.
    pub(super) fn activity(&self) -> &Arc<Activity> {
        &self.0
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.touch();
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
