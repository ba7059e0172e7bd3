//! The log: one line an event on standard error, as text or JSON.
//!
//! A thread of its own writes. Lines wait for it in a bounded queue; a line that finds the queue full
//! is dropped and counted, so that a reader of standard error that has stopped reading holds up
//! neither a request nor a stop.

use std::io::{BufWriter, IsTerminal as _, stderr};

use tracing::Level;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

/// Capacity of the queue, in lines.
const QUEUE_LINES: usize = 8192;

/// Lines are gathered up to this size when the queue holds several.
const WRITE_BYTES: usize = 64 * 1024;

/// The running log. Dropping it writes the lines in the queue; it waits at most about a second for
/// the reader of standard error.
#[derive(Debug)]
#[must_use = "lines in the queue are written when it is dropped"]
pub struct Log {
    dropped: ErrorCounter,
    _writer: WorkerGuard,
}

impl Log {
    /// Number of lines dropped so far because the queue was full.
    #[must_use]
    pub fn dropped_lines(&self) -> usize {
        self.dropped.dropped_lines()
    }
}

/// Starts logging: events of the service from `level` up, events of its libraries from `WARN` up.
/// Only the first call of a process has an effect.
pub fn init(level: Level, is_json: bool) -> Log {
    let (queue, writer) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(QUEUE_LINES)
        .thread_name("log")
        .finish(BufWriter::with_capacity(WRITE_BYTES, stderr()));
    let dropped = queue.error_counter();
    let filter = Targets::new()
        .with_default(level.min(Level::WARN))
        .with_target("landing_api", level);
    let lines = fmt::layer()
        .with_writer(queue)
        .with_target(false)
        // They would be printed with `eprintln!`, which panics when standard error is closed.
        .log_internal_errors(false);
    let lines = if is_json {
        lines.json().flatten_event(true).boxed()
    } else {
        lines.with_ansi(stderr().is_terminal()).boxed()
    };
    // Fails only if a subscriber is set already.
    let _ = registry().with(lines).with(filter).try_init();
    Log {
        dropped,
        _writer: writer,
    }
}
