//! When a connection last did anything, so that one that does nothing can be closed, and a stream
//! that is silent for a while is not taken for one.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::Instant;

use super::events::BrokenOff;
use super::reply::ReplyBody;

/// A body whose every piece shows that its connection is in use: a stream lasts longer than a
/// connection may idle, and one that nobody reads yields no pieces.
pub(super) struct ActiveBody {
    body: ReplyBody,
    activity: Arc<Activity>,
    is_stream: bool,
}

impl ActiveBody {
    pub(super) fn new(body: ReplyBody, activity: Arc<Activity>) -> Self {
        let is_stream = body.size_hint().exact().is_none();
        if is_stream {
            activity.streams.fetch_add(1, Ordering::Relaxed);
        }
        Self {
            body,
            activity,
            is_stream,
        }
    }
}

impl Drop for ActiveBody {
    fn drop(&mut self) {
        if self.is_stream {
            self.activity.streams.fetch_sub(1, Ordering::Relaxed);
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
        let frame = Pin::new(&mut this.body).poll_frame(context);
        if frame.is_ready() {
            this.activity.touch();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// When a connection last did anything.
pub(super) struct Activity {
    opened: Instant,
    /// Milliseconds after `opened` at which a request was last answered, or a piece of an answer
    /// given out.
    last_ms: AtomicU64,
    in_flight: AtomicU32,
    /// Answers that are sent piece by piece.
    streams: AtomicU32,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            opened: Instant::now(),
            last_ms: AtomicU64::new(0),
            in_flight: AtomicU32::new(0),
            streams: AtomicU32::new(0),
        }
    }

    pub(super) fn begin(&self) -> Busy<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Busy(self)
    }

    fn touch(&self) {
        let ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(ms, Ordering::Relaxed);
    }

    /// Whether an answer is being sent piece by piece.
    pub(super) fn has_stream(&self) -> bool {
        self.streams.load(Ordering::Relaxed) > 0
    }

    /// Since when nothing has been in flight; nothing while something is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
        (self.in_flight.load(Ordering::Relaxed) == 0).then(|| self.opened + last)
    }
}

/// A request in flight.
pub(super) struct Busy<'a>(&'a Activity);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.touch();
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
