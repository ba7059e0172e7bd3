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
            answering.activity.touch();
        }
    }
}

/// An answer, or a piece of one, that has not been sent to its end. Whoever makes one also takes note
/// of the time: [`Activity::touch_at`], [`Answering::again`], or the end of its [`Busy`].
struct Answering {
    activity: Arc<Activity>,
    /// The connection's round in which it was made.
    round: u32,
}

impl Answering {
    fn new(activity: &Arc<Activity>) -> Self {
        Self {
            activity: Arc::clone(activity),
            round: activity.round(),
        }
    }

    /// Shows that some of the answer has been given out, and stands for that piece.
    fn again(&self) -> Self {
        self.activity.touch();
        Self::new(&self.activity)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        // Most are sent in the round that made them: that moment is noted already, and to read the
        // clock again would cost more than all else here.
        if self.round != self.activity.round() {
            self.activity.touch();
        }
    }
}

/// When a connection last did anything. Held by the connection, by each of its requests in flight
/// ([`Busy`]) and by what has not been sent of its answers ([`Answering`]), and by nothing else:
/// [`Activity::is_busy`] counts who holds it.
pub(super) struct Activity {
    pub(super) opened: Instant,
    /// Milliseconds after `opened` at which a request was last answered (if that was at once, at
    /// which it arrived), or some of an answer given out or sent.
    last_ms: AtomicU64,
    in_flight: AtomicU32,
    /// How often the connection's task has come round to it. That task alone writes it.
    round: AtomicU32,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            opened: Instant::now(),
            last_ms: AtomicU64::new(0),
            in_flight: AtomicU32::new(0),
            round: AtomicU32::new(0),
        }
    }

    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    /// Takes note that something has just been done.
    fn touch(&self) {
        self.touch_at(Instant::now());
    }

    /// Takes note that something was done at `now`, which is a moment ago at most.
    pub(super) fn touch_at(&self, now: Instant) {
        let ms = now.saturating_duration_since(self.opened).as_millis();
        let ms = u64::try_from(ms).unwrap_or(u64::MAX);
        self.last_ms.store(ms, Ordering::Relaxed);
    }

    /// The connection's task comes round to it once more. Nobody else may say so: a load and a store
    /// cost less than an atomic addition.
    pub(super) fn next_round(&self) {
        let next = self.round().wrapping_add(1);
        self.round.store(next, Ordering::Relaxed);
    }

    fn round(&self) -> u32 {
        self.round.load(Ordering::Relaxed)
    }

    /// Whether a request is in flight or an answer has not been sent to its end: whether anybody but
    /// the connection holds this.
    pub(super) fn is_busy(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1
    }

    /// Since when nothing has been in flight; nothing while something is. An answer that is only
    /// being sent is not: nobody may read it.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        // Whoever is seen to have ended has noted when, first.
        if self.in_flight.load(Ordering::Acquire) > 0 {
            return None;
        }
        let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
        Some(self.opened + last)
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
        self.0.in_flight.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::time::advance;

    use super::*;

    const PAUSE: Duration = Duration::from_secs(7);

    fn piece(activity: &Arc<Activity>) -> Piece {
        let mut body = ActiveBody::new(ReplyBody::from(Bytes::from_static(b"hi")), activity);
        let polled = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Some(Ok(frame))) = polled else {
            panic!("a whole body is there at once");
        };
        frame.into_data().ok().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_sent_in_a_later_round_shows_when_that_was() {
        for (rounds, since) in [(0, Duration::ZERO), (1, PAUSE), (3, PAUSE)] {
            let activity = Arc::new(Activity::new());
            activity.next_round();
            let piece = piece(&activity);
            for _ in 0..rounds {
                activity.next_round();
            }
            advance(PAUSE).await;
            drop(piece);
            assert_eq!(activity.idle_since(), Some(activity.opened + since));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_sent_in_parts_shows_each() {
        let activity = Arc::new(Activity::new());
        let mut piece = piece(&activity);
        advance(PAUSE).await;
        piece.advance(1);
        assert_eq!(activity.idle_since(), Some(activity.opened + PAUSE));
    }

    #[test]
    fn an_answer_is_on_its_way_until_its_last_piece_has_gone() {
        let activity = Arc::new(Activity::new());
        assert!(!activity.is_busy());
        let (first, second) = (piece(&activity), piece(&activity));
        drop(first);
        assert!(activity.is_busy());
        drop(second);
        assert!(!activity.is_busy());
    }
}
