//! The log: one line an event on standard error, as text or JSON.
//!
//! A thread of its own writes. Lines wait for it in a bounded queue; a line that finds the queue full
//! is dropped and counted. So a reader of standard error that has stopped reading blocks neither a
//! request nor a stop. Panics are logged, too: the standard hook would block on such a reader.

use parking_lot::Mutex;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::{Debug, Write as _};
use std::io::{self, BufWriter, IsTerminal as _, Stderr, Write, stderr};
use std::panic::{self, PanicHookInfo};
use std::sync::Arc;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, fmt, registry};

/// Capacity of the queue, in lines.
const QUEUE_LINES: usize = 8192;

/// Lines are gathered up to this size when the queue holds several.
const WRITE_BYTES: usize = 64 * 1024;

/// The longest text of a line that is passed on, in characters.
const WARNING_CHARS_MAX: usize = 400;

/// The running log. Dropping it writes the lines in the queue, and waits about a second for the reader of
/// standard error. If the queue is still full then, `tracing_appender` says so on standard output.
#[derive(Debug)]
#[must_use = "lines in the queue are written when it is dropped"]
pub struct Log {
    dropped: ErrorCounter,
    _writer: WorkerGuard,
}

impl Log {
    /// Number of lines dropped so far because the queue was full.
    pub fn dropped_lines(&self) -> usize {
        self.dropped.dropped_lines()
    }
}

/// The queue's counter, once there is a queue.
type DroppedLines = Arc<Mutex<Option<ErrorCounter>>>;

fn dropped_lines(counter: &DroppedLines) -> usize {
    let counter = counter.lock();
    counter.as_ref().map_or(0, ErrorCounter::dropped_lines)
}

/// Standard error, for the thread that writes.
struct Lines {
    out: BufWriter<Stderr>,
    dropped: DroppedLines,
    dropped_reported: usize,
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.out.write(line)
    }

    /// Called when the queue is empty, so that it has room for a line about the dropped ones.
    fn flush(&mut self) -> io::Result<()> {
        let dropped = dropped_lines(&self.dropped);
        if dropped > self.dropped_reported {
            tracing::warn!(
                log.dropped = dropped,
                "log lines were dropped, as standard error was not read: this many since the start"
            );
            // If the number has changed, that line may have been dropped.
            if dropped_lines(&self.dropped) == dropped {
                self.dropped_reported = dropped;
            }
        }
        self.out.flush()
    }
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(tracing::field::display);
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then_some(backtrace);
    let backtrace = backtrace.as_ref().map(tracing::field::display);
    let payload = panic.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let message = text.or_else(|| payload.downcast_ref::<&str>().copied());
    let message = message.unwrap_or("without a message");
    tracing::error!(location, backtrace, "panicked: {message}");
}

/// Passes the text of each line of level WARN or ERROR on.
struct Warnings<F>(F);

impl<S: Subscriber, F: Fn(String) + 'static> Layer<S> for Warnings<F> {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= Level::WARN {
            let mut text = LineText::default();
            event.record(&mut text);
            let LineText {
                mut message,
                fields,
            } = text;
            message.push_str(&fields);
            if let Some((end, _)) = message.char_indices().nth(WARNING_CHARS_MAX) {
                message.truncate(end);
            }
            (self.0)(message);
        }
    }
}

/// The message of a line, and its fields.
#[derive(Default)]
struct LineText {
    message: String,
    fields: String,
}

impl Visit for LineText {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

/// Writes the last line, after the log has ended: why the program fails.
///
/// # Errors
/// When standard error cannot be written.
pub fn write_failure(is_json: bool, message: &str) -> io::Result<()> {
    if !is_json {
        return writeln!(stderr().lock(), "error: {message}");
    }
    let lines = fmt().json().flatten_event(true).with_target(false);
    let subscriber = lines
        .with_writer(stderr)
        .log_internal_errors(false)
        .finish();
    tracing::subscriber::with_default(subscriber, || tracing::error!("{message}"));
    Ok(())
}

/// Starts logging: events of the service from `level` up, events of its libraries from `WARN` up.
/// `on_warning` is given the text of each of level WARN or ERROR. Only the first call of a process has an
/// effect.
pub fn init(
    level: Level,
    is_json: bool,
    on_warning: impl Fn(String) + Send + Sync + 'static,
) -> Log {
    let counter = DroppedLines::default();
    let (queue, writer) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(QUEUE_LINES)
        .thread_name("log")
        .finish(Lines {
            out: BufWriter::with_capacity(WRITE_BYTES, stderr()),
            dropped: Arc::clone(&counter),
            dropped_reported: 0,
        });
    let dropped = queue.error_counter();
    *counter.lock() = Some(dropped.clone());
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
    let layers = registry().with(lines).with(Warnings(on_warning));
    if layers.with(filter).try_init().is_ok() {
        panic::set_hook(Box::new(log_panic));
    }
    Log {
        dropped,
        _writer: writer,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_newest_warning_is_passed_on_in_one_short_text() {
        let (sender, texts) = std::sync::mpsc::channel();
        let layer = Warnings(move |text| sender.send(text).unwrap());
        tracing::subscriber::with_default(registry().with(layer), || {
            tracing::info!("all is well");
            tracing::warn!(error = %"no room", count = 3, "store");
            tracing::error!("{}", "é".repeat(1000));
        });
        let texts: Vec<_> = texts.iter().collect();
        let long = "é".repeat(WARNING_CHARS_MAX);
        assert_eq!(texts, ["store error=no room count=3", long.as_str()]);
    }

    #[test]
    fn a_panic_is_a_line_that_names_its_place() {
        let (mut log, writer) = io::pipe().unwrap();
        let subscriber = fmt().with_ansi(false).with_writer(Arc::new(writer));
        let hook = panic::take_hook();
        panic::set_hook(Box::new(log_panic));
        let caught = tracing::subscriber::with_default(subscriber.finish(), || {
            panic::catch_unwind(|| panic!("out of {}", "order"))
        });
        panic::set_hook(hook);
        assert!(caught.is_err());
        let mut text = String::new();
        log.read_to_string(&mut text).unwrap();
        assert!(
            text.contains("ERROR") && text.contains("panicked: out of order"),
            "{text}"
        );
        assert!(text.contains(concat!("location=", file!())), "{text}");
    }
}
