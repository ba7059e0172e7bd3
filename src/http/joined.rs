//! Writes short answers as one buffer. hyper passes an answer's head and body as a list of buffers, and
//! writing one buffer costs less than writing a list. hyper can join them itself, but then it also
//! copies large bodies, and it releases a body before it is sent. [`super::activity`] relies on the
//! release after the sending.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use arrayvec::ArrayVec;
use hyper::rt::{Read, ReadBufCursor, Write};

/// The largest list that is joined, in bytes. Copying more costs as much as it saves.
const JOINED_MAX: usize = 4096;

/// A socket that writes short lists of buffers as one buffer.
#[derive(Debug)]
pub(super) struct Joined<T>(pub(super) T);

impl<T: Write + Unpin> Write for Joined<T> {
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut joined = ArrayVec::<u8, JOINED_MAX>::new();
        let mut join = |buffer: &IoSlice<'_>| joined.try_extend_from_slice(buffer).is_ok();
        if buffers.iter().all(&mut join) {
            Pin::new(&mut self.0).poll_write(context, &joined)
        } else {
            Pin::new(&mut self.0).poll_write_vectored(context, buffers)
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl<T: Read + Unpin> Read for Joined<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Notes the buffers of every write, and takes all of them.
    #[derive(Default)]
    struct Sink(Vec<Vec<usize>>);

    impl Write for Sink {
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
            let mut socket = Joined(Sink::default());
            let context = &mut Context::from_waker(Waker::noop());
            let polled = Pin::new(&mut socket).poll_write_vectored(context, &list);
            let total: usize = lengths.iter().sum();
            assert!(matches!(polled, Poll::Ready(Ok(count)) if count == total));
            assert_eq!(socket.0.0, [written]);
        }
    }
}
