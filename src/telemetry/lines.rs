//! The log's lines on their way out.
//!
//! A write takes longer than all else that a line costs, so lines wait for others, and whoever
//! writes takes all that wait, in order. A line leaves when the first of these comes:
//!
//! - a warning or an error: it takes along those before it, and whoever logs it waits for the write;
//! - [`WAITING_BYTES`] wait: whoever adds the line that makes it so writes them;
//! - [`WAIT_MAX`] has passed since the first of them came;
//! - the [`Attendant`] is dropped, at a stop and when a panic ends the program.
//!
//! No line is left out: where writing is slow, those who log wait.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// So many bytes may wait, and as many be written meanwhile; a line more for each thread that logs.
const WAITING_BYTES: usize = 64 * 1024;

/// So long a line waits at most. A process that is killed loses no more than this.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// Lines for `W`.
#[derive(Debug)]
pub(super) struct Lines<W> {
    waiting: Mutex<Waiting>,
    /// Locked before `waiting` by whoever writes, so that lots are written in order.
    out: Mutex<Out<W>>,
    /// Wakes the attendant.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// The attendant waits for a line.
    is_attendant_idle: bool,
    /// Nobody looks after lines that wait.
    is_unattended: bool,
}

#[derive(Debug)]
struct Out<W> {
    to: W,
    /// What is being written; empty in between.
    bytes: Vec<u8>,
}

impl<W: Write> Lines<W> {
    pub(super) fn new(to: W) -> Self {
        Self {
            waiting: Mutex::default(),
            out: Mutex::new(Out {
                to,
                bytes: Vec::new(),
            }),
            changed: Condvar::new(),
        }
    }

    fn add(&self, line: &[u8], is_urgent: bool) {
        let mut waiting = lock(&self.waiting);
        waiting.bytes.extend_from_slice(line);
        if is_urgent || waiting.is_unattended || waiting.bytes.len() >= WAITING_BYTES {
            drop(waiting);
            self.write_waiting();
        } else if mem::take(&mut waiting.is_attendant_idle) {
            drop(waiting);
            self.changed.notify_one();
        }
    }

    /// Writes all that waits. When this returns, every line that was added before is written, or
    /// was lost because writing failed: nobody could be told.
    fn write_waiting(&self) {
        let mut out = lock(&self.out);
        let Out { to, bytes } = &mut *out;
        mem::swap(bytes, &mut lock(&self.waiting).bytes);
        let _ = to.write_all(bytes);
        bytes.clear();
    }

    /// Writes now and then, until [`Attendant`] says that it is enough.
    fn attend(&self) {
        let mut waiting = lock(&self.waiting);
        while !waiting.is_unattended {
            if waiting.bytes.is_empty() {
                waiting.is_attendant_idle = true;
                waiting = recover(self.changed.wait(waiting));
                continue;
            }
            waiting.is_attendant_idle = false;
            let is_attended = |waiting: &mut Waiting| !waiting.is_unattended;
            let waited = self
                .changed
                .wait_timeout_while(waiting, WAIT_MAX, is_attended);
            drop(recover(waited));
            self.write_waiting();
            waiting = lock(&self.waiting);
        }
    }
}

/// The thread that writes lines which have waited long enough. Whatever waits when this is dropped
/// is written, and what is logged later is written at once.
#[derive(Debug)]
pub(super) struct Attendant<W: Write> {
    lines: Arc<Lines<W>>,
    thread: Option<JoinHandle<()>>,
}

impl<W: Write + Send + 'static> Attendant<W> {
    pub(super) fn start(lines: Arc<Lines<W>>) -> Self {
        let attended = Arc::clone(&lines);
        let thread = thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || attended.attend())
            .ok();
        // Without a thread no line may wait.
        lock(&lines.waiting).is_unattended = thread.is_none();
        Self { lines, thread }
    }
}

impl<W: Write> Drop for Attendant<W> {
    fn drop(&mut self) {
        lock(&self.lines.waiting).is_unattended = true;
        self.lines.changed.notify_one();
        self.lines.write_waiting();
        if let Some(thread) = self.thread.take() {
            // It has nothing to say, not even if it panicked: all is written.
            let _ = thread.join();
        }
    }
}

/// Tells the urgent lines from the others.
pub(super) struct LineWriters<W>(pub(super) Arc<Lines<W>>);

impl<'a, W: Write + 'a> MakeWriter<'a> for LineWriters<W> {
    type Writer = LineWriter<'a, W>;

    fn make_writer(&'a self) -> LineWriter<'a, W> {
        LineWriter {
            lines: &self.0,
            is_urgent: true,
        }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> LineWriter<'a, W> {
        LineWriter {
            lines: &self.0,
            is_urgent: *metadata.level() <= Level::WARN,
        }
    }
}

/// Takes one line, in one piece.
pub(super) struct LineWriter<'a, W> {
    lines: &'a Lines<W>,
    is_urgent: bool,
}

impl<W: Write> Write for LineWriter<'_, W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.lines.add(line, self.is_urgent);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.write_waiting();
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    recover(mutex.lock())
}

/// Goes on after a panic, which leaves no line half added.
fn recover<T>(locked: Result<T, PoisonError<T>>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};

    use super::*;

    /// Hands over what each write is given.
    struct Sink(Sender<String>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            self.0.send(text).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// More than a busy machine takes for anything here.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn lines() -> (Arc<Lines<Sink>>, Receiver<String>) {
        let (sink, written) = mpsc::channel();
        (Arc::new(Lines::new(Sink(sink))), written)
    }

    #[test]
    fn a_line_is_written_though_none_comes_after_it() {
        let (lines, written) = lines();
        let _attendant = Attendant::start(Arc::clone(&lines));
        for line in ["first\n", "second\n"] {
            lines.add(line.as_bytes(), false);
            assert_eq!(written.recv_timeout(PATIENCE).unwrap(), line);
        }
    }

    #[test]
    fn a_warning_takes_along_what_waits() {
        let (lines, written) = lines();
        lines.add(b"one\n", false);
        lines.add(b"two\n", false);
        assert!(written.try_recv().is_err());
        lines.add(b"warning\n", true);
        assert_eq!(written.try_recv().unwrap(), "one\ntwo\nwarning\n");
    }

    #[test]
    fn no_more_waits_than_is_allowed() {
        let (lines, written) = lines();
        let line = "x".repeat(1000);
        for _ in 0..WAITING_BYTES / 1000 {
            lines.add(line.as_bytes(), false);
        }
        assert!(written.try_recv().is_err());
        lines.add(line.as_bytes(), false);
        assert_eq!(
            written.try_recv().unwrap().len(),
            (WAITING_BYTES / 1000 + 1) * 1000
        );
    }

    #[test]
    fn at_the_end_nothing_is_lost_and_nothing_waits_any_more() {
        let (lines, written) = lines();
        let attendant = Attendant::start(Arc::clone(&lines));
        lines.add(b"last\n", false);
        drop(attendant);
        assert_eq!(written.try_recv().unwrap(), "last\n");
        lines.add(b"late\n", false);
        assert_eq!(written.try_recv().unwrap(), "late\n");
    }

    #[test]
    fn a_panic_loses_nothing() {
        let (lines, written) = lines();
        let ended = thread::spawn(move || {
            let _attendant = Attendant::start(Arc::clone(&lines));
            lines.add(b"before\n", false);
            panic!("on purpose");
        });
        assert!(ended.join().is_err());
        assert_eq!(written.try_recv().unwrap(), "before\n");
    }

    #[test]
    fn every_line_of_every_thread_is_written_whole_and_in_order() {
        const THREADS: usize = 4;
        const LINES: usize = 5_000;
        let (lines, written) = lines();
        let attendant = Attendant::start(Arc::clone(&lines));
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let lines = &lines;
                scope.spawn(move || {
                    for number in 0..LINES {
                        let line = format!("{thread} {number} {}\n", "-".repeat(40));
                        lines.add(line.as_bytes(), number % 1000 == 999);
                    }
                });
            }
        });
        drop(attendant);
        let all: String = written.try_iter().collect();
        let mut next = [0; THREADS];
        for line in all.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let [thread, number, rest] = words.as_slice() else {
                panic!("{line:?} is not a line");
            };
            let next = &mut next[thread.parse::<usize>().unwrap()];
            assert_eq!((number.parse(), rest.len()), (Ok(*next), 40));
            *next += 1;
        }
        assert_eq!(next, [LINES; THREADS]);
    }

    #[test]
    fn a_write_that_fails_is_not_repeated() {
        let (lines, written) = lines();
        drop(written);
        lines.add(b"lost\n", true);
        lines.add(b"lost, too\n", true);
        assert!(lock(&lines.waiting).bytes.is_empty());
        assert!(lock(&lines.out).bytes.is_empty());
    }
}
