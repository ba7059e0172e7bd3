//! Server-sent events (WHATWG HTML, section 9.2): written into a short queue, sent from its other end.
//!
//! A client that does not read fills the queue and blocks the writer until the stall deadline. A
//! client that hangs up closes the queue.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

use crate::ports::SinkClosed;

/// Events that wait to be sent.
const QUEUE_LEN: usize = 16;
/// How long a full queue may block the writer.
const STALL_DEADLINE: Duration = Duration::from_secs(20);
/// A comment is sent after this long without an event: it keeps proxies from closing the stream, and
/// finds out whether the client is still connected.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);

/// A queue of events and the body that sends them.
pub(crate) fn channel() -> (SseSink, SseStream) {
    let (sender, events) = mpsc::channel(QUEUE_LEN);
    let sink = SseSink {
        events: sender,
        is_stalled: AtomicBool::new(false),
    };
    let stream = SseStream {
        events,
        comment: Box::pin(tokio::time::sleep(COMMENT_INTERVAL)),
    };
    (sink, stream)
}

/// Writes events. Dropped without [`SseSink::finish`], it breaks the stream off.
#[derive(Debug)]
pub(crate) struct SseSink {
    /// `None` after the last event.
    events: mpsc::Sender<Option<Bytes>>,
    is_stalled: AtomicBool,
}

impl SseSink {
    /// Writes an event; `data` is one line.
    ///
    /// # Errors
    /// [`SinkClosed`] when the client has hung up, or has not read until the stall deadline.
    pub(crate) async fn send(&self, name: &str, data: &[u8]) -> Result<(), SinkClosed> {
        let text = [b"event: ", name.as_bytes(), b"\ndata: ", data, b"\n\n"].concat();
        self.queue(Some(Bytes::from(text))).await
    }

    /// Writes the last event.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub(crate) async fn finish(self, name: &str, data: &[u8]) -> Result<(), SinkClosed> {
        self.send(name, data).await?;
        self.queue(None).await
    }

    /// Resolves once the client has hung up.
    pub(crate) async fn left(&self) {
        self.events.closed().await;
    }

    async fn queue(&self, event: Option<Bytes>) -> Result<(), SinkClosed> {
        if self.is_stalled.load(Ordering::Relaxed) {
            return Err(SinkClosed);
        }
        let queued = self.events.send_timeout(event, STALL_DEADLINE).await;
        queued.map_err(|_unsent| {
            self.is_stalled.store(true, Ordering::Relaxed);
            SinkClosed
        })
    }
}

/// The body of an answer whose events are still being written.
#[derive(Debug)]
pub(crate) struct SseStream {
    events: mpsc::Receiver<Option<Bytes>>,
    comment: Pin<Box<Sleep>>,
}

/// The writer was dropped before the last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream was broken off")]
pub struct BrokenOff;

impl Body for SseStream {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let this = self.get_mut();
        let text = match this.events.poll_recv(context) {
            Poll::Ready(Some(Some(text))) => text,
            Poll::Ready(Some(None)) => return Poll::Ready(None),
            Poll::Ready(None) => return Poll::Ready(Some(Err(BrokenOff))),
            Poll::Pending => {
                std::task::ready!(this.comment.as_mut().poll(context));
                Bytes::from_static(b":\n\n")
            }
        };
        let next_comment = Instant::now() + COMMENT_INTERVAL;
        this.comment.as_mut().reset(next_comment);
        Poll::Ready(Some(Ok(Frame::data(text))))
    }
}
