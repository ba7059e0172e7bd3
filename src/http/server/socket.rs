//! The socket of a connection, as hyper reads and writes it.
//!
//! Short answers leave as one buffer. hyper passes an answer's head and body as a list of buffers, and
//! writing one buffer costs less than writing a list. hyper can join them itself, but then it also
//! copies large bodies.
//!
//! A client that shuts down its sending side and waits for its answer (a half-close) looks like one
//! that has gone. hyper takes it for gone, or with `half_close` does not check whether it is there. So
//! the socket holds the end of the client's data back while an answer is due, and the activity decides
//! for how long.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrayvec::ArrayVec;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::server::activity::Activity;
use crate::http::server::intake::MayRead;

/// The largest list that is joined, in bytes. Copying more costs as much as it saves.
const JOINED_MAX: usize = 4096;

/// A socket that writes short lists of buffers as one buffer.
#[derive(Debug)]
pub(crate) struct Socket<T> {
    stream: T,
    activity: Arc<Activity>,
    /// Whether the end of what the client sends is held back while an answer is due.
    holds_end: bool,
}

impl<T> Socket<T> {
    pub(crate) fn new(stream: T, activity: Arc<Activity>, holds_end: bool) -> Self {
        Self {
            stream,
            activity,
            holds_end,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Socket<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.activity.intake.may_read() {
            MayRead::Now => {}
            MayRead::NextTurn => {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            MayRead::Never => {
                self.activity.end();
                return Poll::Pending;
            }
        }
        let filled = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let count = buffer.filled().len() - filled;
        self.activity.intake.read(count);
        let is_end = count == 0 && buffer.remaining() > 0;
        if is_end && self.holds_end && self.activity.holds_end() {
            // Once no answer is due, `poll_flush` wakes the reader.
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Socket<T> {
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut joined = ArrayVec::<u8, JOINED_MAX>::new();
        let mut join = |buffer: &IoSlice<'_>| joined.try_extend_from_slice(buffer).is_ok();
        if buffers.iter().all(&mut join) {
            return self.poll_write(context, &joined);
        }
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.activity.wrote(&polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, buffer);
        self.activity.wrote(&polled);
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper calls this when all that it had is written.
        if self.holds_end && self.activity.releases_end() {
            context.waker().wake_by_ref();
        }
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.activity.flushed(&polled);
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    /// Notes the buffers of every write, and takes all of them.
    #[derive(Default)]
    struct Sink(Vec<Vec<usize>>);

    impl AsyncWrite for Sink {
        fn poll_write(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.poll_write_vectored(context, &[IoSlice::new(buffer)])
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _context: &mut Context<'_>,
            buffers: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let lengths: Vec<usize> = buffers.iter().map(|buffer| buffer.len()).collect();
            let total = lengths.iter().sum();
            self.0.push(lengths);
            Poll::Ready(Ok(total))
        }

        fn is_write_vectored(&self) -> bool {
            true
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// Counts how often it was woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_socket_that_always_has_more_is_read_in_turns_and_no_more_once_it_asked_for_nothing() {
        let activity = Activity::new();
        let mut socket = Socket::new(tokio::io::repeat(0), Arc::clone(&activity), false);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut read = || {
            let mut total = 0;
            activity.intake.begin_turn();
            loop {
                let (mut bytes, context) = ([0; 1024], &mut Context::from_waker(&waker));
                let mut buffer = ReadBuf::new(&mut bytes);
                if Pin::new(&mut socket)
                    .poll_read(context, &mut buffer)
                    .is_pending()
                {
                    return total;
                }
                total += buffer.filled().len();
            }
        };
        for turns in 1..=8 {
            assert_eq!(read(), 16 * 1024);
            assert_eq!(woken.0.load(Ordering::Relaxed), turns);
            assert!(!activity.is_ending());
        }
        // 128 KiB, and what tells that there is more.
        assert_eq!(read(), 1024);
        assert_eq!(read(), 0);
        assert!(activity.is_ending());
    }

    #[test]
    fn short_lists_are_joined_and_long_ones_passed_on() {
        for (lengths, written) in [
            (vec![300, 120], vec![420]),
            (vec![0, 0], vec![0]),
            (vec![JOINED_MAX], vec![JOINED_MAX]),
            (vec![1, JOINED_MAX - 1], vec![JOINED_MAX]),
            (vec![1, JOINED_MAX], vec![1, JOINED_MAX]),
            (vec![JOINED_MAX + 1, 0], vec![JOINED_MAX + 1, 0]),
        ] {
            let buffers: Vec<Vec<u8>> = lengths.iter().map(|&length| vec![7; length]).collect();
            let list: Vec<IoSlice<'_>> = buffers.iter().map(|it| IoSlice::new(it)).collect();
            let mut socket = Socket::new(Sink::default(), Activity::new(), false);
            let context = &mut Context::from_waker(Waker::noop());
            let polled = Pin::new(&mut socket).poll_write_vectored(context, &list);
            let total: usize = lengths.iter().sum();
            assert!(matches!(polled, Poll::Ready(Ok(count)) if count == total));
            assert_eq!(socket.stream.0, [written]);
        }
    }
}
