//! Short writes as one buffer. hyper hands an answer over as a list, its head and then its body (over
//! HTTP/2, the heads of frames and their data), and the kernel takes one buffer sooner than a list.
//! So a short list is copied together first. Without vectored writes, hyper would copy every body of
//! HTTP/1 itself, however large, keep the room for it as long as the connection lasts, and let go of
//! the body before it is sent, by which [`super::activity`] knows that somebody reads it still.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use arrayvec::ArrayVec;
use hyper::rt::{Read, ReadBufCursor, Write};

/// A list of up to so many bytes is copied together. To copy more costs as much as it saves.
const JOINED_MAX: usize = 4096;

/// Writes short lists of buffers as one.
#[derive(Debug)]
pub(super) struct Joined<T>(pub(super) T);

impl<T: Read + Unpin> Read for Joined<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin> Write for Joined<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(context, buffer)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let inner = Pin::new(&mut self.get_mut().0);
        if let [only] = buffers {
            return inner.poll_write(context, only);
        }
        let len: usize = buffers.iter().map(|buffer| buffer.len()).sum();
        let mut joined = ArrayVec::<u8, JOINED_MAX>::new();
        if len > joined.capacity() {
            return inner.poll_write_vectored(context, buffers);
        }
        for buffer in buffers {
            // There is room for all of them.
            let _ = joined.try_extend_from_slice(buffer);
        }
        inner.poll_write(context, &joined)
    }

    /// As it is: otherwise hyper would copy a body of HTTP/1, and let go of it before it is sent.
    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Takes so many bytes at a time, and counts how it is asked to.
    #[derive(Default)]
    struct Sink {
        taken: Vec<u8>,
        at_once_max: usize,
        writes: u32,
        vectored_writes: u32,
    }

    impl Sink {
        fn take(&mut self, buffers: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
            let all: Vec<u8> = buffers
                .iter()
                .flat_map(|buffer| buffer.iter().copied())
                .collect();
            let taken = all.len().min(self.at_once_max);
            self.taken.extend_from_slice(&all[..taken]);
            Poll::Ready(Ok(taken))
        }
    }

    impl Write for Sink {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _context: &mut Context<'_>,
            buffer: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.writes += 1;
            self.take(&[IoSlice::new(buffer)])
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _context: &mut Context<'_>,
            buffers: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.vectored_writes += 1;
            self.take(buffers)
        }

        fn is_write_vectored(&self) -> bool {
            true
        }

        fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn write(sink: &mut Joined<Sink>, buffers: &[IoSlice<'_>]) -> usize {
        let context = &mut Context::from_waker(Waker::noop());
        let written = Pin::new(sink).poll_write_vectored(context, buffers);
        let Poll::Ready(Ok(count)) = written else {
            panic!("{written:?}");
        };
        count
    }

    #[test]
    fn a_short_list_is_one_buffer_and_a_long_one_is_not_copied() {
        for (head, body, is_joined) in [
            (0, 0, true),
            (100, 0, true),
            (100, 200, true),
            (96, JOINED_MAX - 96, true),
            (96, JOINED_MAX - 95, false),
            (JOINED_MAX, 1, false),
            (100, 10 * JOINED_MAX, false),
        ] {
            let mut sink = Joined(Sink {
                at_once_max: usize::MAX,
                ..Sink::default()
            });
            let (head, body) = (vec![b'h'; head], vec![b'b'; body]);
            let count = write(&mut sink, &[IoSlice::new(&head), IoSlice::new(&body)]);
            assert_eq!(count, head.len() + body.len());
            assert_eq!(sink.0.taken, [head, body].concat());
            let expected = if is_joined { (1, 0) } else { (0, 1) };
            assert_eq!((sink.0.writes, sink.0.vectored_writes), expected);
        }
    }

    #[test]
    fn a_lone_buffer_is_written_as_it_is_however_long() {
        for len in [0, 1, JOINED_MAX, JOINED_MAX + 1] {
            let mut sink = Joined(Sink {
                at_once_max: usize::MAX,
                ..Sink::default()
            });
            let only = vec![b'x'; len];
            assert_eq!(write(&mut sink, &[IoSlice::new(&only)]), len);
            assert_eq!(sink.0.taken, only);
            assert_eq!((sink.0.writes, sink.0.vectored_writes), (1, 0));
        }
    }

    #[test]
    fn lists_are_asked_for() {
        assert!(Joined(Sink::default()).is_write_vectored());
    }

    #[test]
    fn a_partial_write_tells_how_much_was_taken() {
        let mut sink = Joined(Sink {
            at_once_max: 3,
            ..Sink::default()
        });
        let mut rest: &mut [IoSlice<'_>] = &mut [IoSlice::new(b"ab"), IoSlice::new(b"cdefg")];
        while !rest.is_empty() {
            let count = write(&mut sink, rest);
            IoSlice::advance_slices(&mut rest, count);
        }
        assert_eq!(sink.0.taken, b"abcdefg");
        assert_eq!(sink.0.writes, 3);
    }
}
