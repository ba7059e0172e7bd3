//! Answers that come in pieces: server-sent events (WHATWG HTML, section 9.2), written at one end
//! of a short queue and sent from the other.
//!
//! A reader that does not read fills the queue and then holds the writer up, for so long and no
//! longer; what it costs is the queue. A reader that leaves closes it.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

/// Events that wait for the reader.
const QUEUE_LEN: usize = 16;
/// How long a full queue may hold the writer up.
const STALL_DEADLINE: Duration = Duration::from_secs(20);
/// After so long without an event a comment is sent: it keeps proxies from giving the stream up,
/// and finds out whether the reader is still there.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);
const COMMENT: &[u8] = b":\n\n";

/// A stream of events: where they are written, and what is sent.
pub(crate) fn channel() -> (EventSink, EventStream) {
    let (sender, events) = mpsc::channel(QUEUE_LEN);
    let sink = EventSink {
        events: sender,
        is_stalled: AtomicBool::new(false),
    };
    let stream = EventStream {
        events,
        comment: Box::pin(tokio::time::sleep(COMMENT_INTERVAL)),
        is_finished: false,
    };
    (sink, stream)
}

/// Where events are written. Dropped without [`EventSink::finish`], it breaks the stream off.
#[derive(Debug)]
pub(crate) struct EventSink {
    events: mpsc::Sender<Event>,
    is_stalled: AtomicBool,
}

#[derive(Debug)]
struct Event {
    text: Bytes,
    is_last: bool,
}

/// Why an event was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untaken {
    /// The reader has left.
    Left,
    /// The reader has not read for too long.
    Stalled,
}

impl EventSink {
    /// Writes an event; `data` is one line.
    ///
    /// # Errors
    /// [`Untaken`] when the reader does not take it.
    pub(crate) async fn send(&self, name: &str, data: &[u8]) -> Result<(), Untaken> {
        self.write(name, data, false).await
    }

    /// Writes the event that the stream ends with.
    ///
    /// # Errors
    /// [`Untaken`] when the reader does not take it.
    pub(crate) async fn finish(self, name: &str, data: &[u8]) -> Result<(), Untaken> {
        self.write(name, data, true).await
    }

    /// Ready once the reader has left.
    pub(crate) async fn left(&self) {
        self.events.closed().await;
    }

    async fn write(&self, name: &str, data: &[u8], is_last: bool) -> Result<(), Untaken> {
        if self.is_stalled.load(Ordering::Relaxed) {
            return Err(Untaken::Stalled);
        }
        let text = [b"event: ", name.as_bytes(), b"\ndata: ", data, b"\n\n"].concat();
        let event = Event {
            text: Bytes::from(text),
            is_last,
        };
        match self.events.send_timeout(event, STALL_DEADLINE).await {
            Ok(()) => Ok(()),
            Err(mpsc::error::SendTimeoutError::Closed(_)) => Err(Untaken::Left),
            Err(mpsc::error::SendTimeoutError::Timeout(_)) => {
                self.is_stalled.store(true, Ordering::Relaxed);
                Err(Untaken::Stalled)
            }
        }
    }
}

/// What is sent: a body that grows as events are written.
#[derive(Debug)]
pub(crate) struct EventStream {
    events: mpsc::Receiver<Event>,
    comment: Pin<Box<Sleep>>,
    is_finished: bool,
}

/// The stream ended without its last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream was broken off")]
pub struct BrokenOff;

impl Body for EventStream {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let this = self.get_mut();
        if this.is_finished {
            return Poll::Ready(None);
        }
        match this.events.poll_recv(context) {
            Poll::Ready(Some(event)) => {
                this.is_finished = event.is_last;
                this.delay_comment();
                Poll::Ready(Some(Ok(Frame::data(event.text))))
            }
            Poll::Ready(None) => {
                this.is_finished = true;
                Poll::Ready(Some(Err(BrokenOff)))
            }
            Poll::Pending => {
                std::task::ready!(this.comment.as_mut().poll(context));
                this.delay_comment();
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(COMMENT)))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_finished
    }
}

impl EventStream {
    fn delay_comment(&mut self) {
        self.comment
            .as_mut()
            .reset(Instant::now() + COMMENT_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    async fn next(stream: &mut EventStream) -> Option<Result<String, BrokenOff>> {
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
        assert!(stream.is_end_stream());
        assert_eq!(next(&mut stream).await, None);
    }

    #[tokio::test]
    async fn a_stream_without_its_last_event_is_broken_off() {
        let (sink, mut stream) = channel();
        drop(sink);
        assert_eq!(next(&mut stream).await, Some(Err(BrokenOff)));
        assert_eq!(next(&mut stream).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stalls_is_given_up_once() {
        let (sink, _stream) = channel();
        let began = Instant::now();
        for _ in 0..QUEUE_LEN {
            sink.send("delta", b"{}").await.unwrap();
        }
        assert_eq!(sink.send("delta", b"{}").await, Err(Untaken::Stalled));
        assert_eq!(sink.finish("message", b"{}").await, Err(Untaken::Stalled));
        assert_eq!(began.elapsed(), STALL_DEADLINE);
    }

    #[tokio::test]
    async fn a_reader_that_leaves_is_noticed() {
        let (sink, stream) = channel();
        drop(stream);
        sink.left().await;
        assert_eq!(sink.send("delta", b"{}").await, Err(Untaken::Left));
    }
}
