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

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    async fn next(stream: &mut SseStream) -> Option<Result<String, BrokenOff>> {
        let frame = stream.frame().await?;
        let text = |frame: Frame<Bytes>| String::from_utf8(frame.into_data().unwrap().to_vec());
        Some(frame.map(|frame| text(frame).unwrap()))
    }

    #[tokio::test(start_paused = true)]
    async fn events_are_sent_in_order_and_silence_is_filled() {
        let (sink, mut stream) = channel();
        sink.send("delta", b"{}").await.unwrap();
        let first = next(&mut stream).await;
        assert_eq!(first, Some(Ok("event: delta\ndata: {}\n\n".to_owned())));
        let began = Instant::now();
        assert_eq!(next(&mut stream).await, Some(Ok(":\n\n".to_owned())));
        assert_eq!(began.elapsed(), COMMENT_INTERVAL);
        assert_eq!(next(&mut stream).await, Some(Ok(":\n\n".to_owned())));
        sink.finish("message", b"1").await.unwrap();
        let last = next(&mut stream).await;
        assert_eq!(last, Some(Ok("event: message\ndata: 1\n\n".to_owned())));
        assert_eq!(next(&mut stream).await, None);
    }

    #[tokio::test]
    async fn a_stream_without_its_last_event_is_broken_off() {
        let (sink, mut stream) = channel();
        drop(sink);
        assert_eq!(next(&mut stream).await, Some(Err(BrokenOff)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stalls_is_given_up_once() {
        let (sink, _stream) = channel();
        let began = Instant::now();
        for _ in 0..QUEUE_LEN {
            sink.send("delta", b"{}").await.unwrap();
        }
        assert!(sink.send("delta", b"{}").await.is_err());
        assert!(sink.finish("message", b"{}").await.is_err());
        assert_eq!(began.elapsed(), STALL_DEADLINE);
    }

    #[tokio::test]
    async fn a_reader_that_leaves_is_noticed() {
        let (sink, stream) = channel();
        drop(stream);
        sink.left().await;
        assert!(sink.send("delta", b"{}").await.is_err());
    }
}
