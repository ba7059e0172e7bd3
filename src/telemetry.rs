//! The log: one line per event on standard error, as text or JSON.
//!
//! Lines are appended to a buffer that a separate thread writes several times a second. If the buffer is full, the
//! line is dropped and counted, so that a reader of standard error that has stopped reading blocks neither a request
//! nor a stop. Panics are logged here, too: the standard hook would block on such a reader.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Debug;
use std::io::{self, Write, stderr};
use std::panic::{self, PanicHookInfo};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, fmt, registry};

use crate::domain::printable;

/// Largest unwritten log.
const BUFFER_BYTES_MAX: usize = 1024 * 1024;

/// Time between writes. A process that is killed loses the lines of one pause.
const PAUSE: Duration = Duration::from_millis(50);

/// Longest wait of a stop for the reader of standard error.
const END_GRACE: Duration = Duration::from_secs(1);

/// Longest text passed on from a log line, in characters.
const WARNING_CHARS_MAX: usize = 400;

/// The running log. Dropping it writes the buffer, and waits at most a second for the reader of standard
/// error.
#[must_use = "lines in the buffer are written when it is dropped"]
pub struct Log(Arc<LogBuffer>);

impl Log {
    /// Number of lines dropped so far because the buffer was full.
    pub fn dropped_lines(&self) -> usize {
        self.0.lines.lock().dropped
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let LogBuffer { lines, changed } = &*self.0;
        let mut lines = lines.lock();
        lines.is_ending = true;
        changed.notify_all();
        let is_unwritten = |lines: &mut Lines| !lines.is_written;
        changed.wait_while_for(&mut lines, is_unwritten, END_GRACE);
    }
}

/// The unwritten lines, shared by all who log and the writing thread.
#[derive(Default)]
struct LogBuffer {
    lines: Mutex<Lines>,
    changed: Condvar,
}

#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    /// Lines dropped since the start.
    dropped: usize,
    is_ending: bool,
    /// True if the last lines have been written.
    is_written: bool,
}

impl LogBuffer {
    fn push(&self, line: &[u8]) {
        let mut lines = self.lines.lock();
        if lines.bytes.len() + line.len() > BUFFER_BYTES_MAX {
            lines.dropped += 1;
            return;
        }
        if lines.bytes.is_empty() {
            self.changed.notify_all();
        }
        lines.bytes.extend_from_slice(line);
    }

    /// Writes lines to `out` until the end.
    fn write(&self, mut out: impl Write) {
        let (mut bytes, mut dropped_reported) = (Vec::new(), 0);
        loop {
            let mut lines = self.lines.lock();
            let nothing = |lines: &mut Lines| lines.bytes.is_empty() && !lines.is_ending;
            self.changed.wait_while(&mut lines, nothing);
            let may_wait = |lines: &mut Lines| !lines.is_ending;
            self.changed.wait_while_for(&mut lines, may_wait, PAUSE);
            std::mem::swap(&mut bytes, &mut lines.bytes);
            let (dropped, is_ending) = (lines.dropped, lines.is_ending);
            drop(lines);
            // There is no other place to report a failure.
            let _ = out.write_all(&bytes);
            bytes.clear();
            if dropped > dropped_reported {
                dropped_reported = dropped;
                tracing::warn!(
                    log.dropped = dropped,
                    "log lines were dropped because standard error was not read; total since the start"
                );
            } else if is_ending {
                self.lines.lock().is_written = true;
                self.changed.notify_all();
                return;
            }
        }
    }
}

/// Passes the lines of one event to the buffer.
struct LineWriter(Arc<LogBuffer>);

impl Write for LineWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let shown = printable(text.strip_suffix('\n').unwrap_or(&text), &[]) + "\n";
        self.0.push(shown.as_bytes());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
    let message = message.unwrap_or("no message");
    tracing::error!(location, backtrace, "panicked: {message}");
}

/// Passes on the text of each line of level WARN or ERROR, as a sentence.
struct Warnings<F>(F);

impl<S: Subscriber, F: Fn(String) + 'static> Layer<S> for Warnings<F> {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= Level::WARN {
            let mut text = LineText::default();
            event.record(&mut text);
            let LineText {
                mut message,
                reason,
                details,
            } = text;
            message.push_str(&reason);
            if !details.is_empty() {
                message.push_str(&format!(" ({})", details.join(", ")));
            }
            if let Some((end, _)) = message.char_indices().nth(WARNING_CHARS_MAX) {
                message.truncate(end);
            }
            (self.0)(message);
        }
    }
}

/// A line's message, cause and other fields.
#[derive(Default)]
struct LineText {
    message: String,
    reason: String,
    details: Vec<String>,
}

impl Visit for LineText {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message.push_str(value),
            "error" | "cause" | "reason" => self.reason.push_str(&format!(": {value}")),
            name => self.details.push(format!("{name} {value}")),
        }
    }
}

/// Writes the last line, after the log has ended: the reason why the program failed.
///
/// # Errors
/// When standard error cannot be written.
pub fn write_failure(is_json: bool, message: &str) -> io::Result<()> {
    let message = printable(message, &[]);
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
/// `on_warning` receives the text of each line of level WARN or ERROR. Only the first call in a process has an
/// effect.
pub fn init(
    level: Level,
    is_json: bool,
    on_warning: impl Fn(String) + Send + Sync + 'static,
) -> Log {
    let buffer = Arc::new(LogBuffer::default());
    let writer = Arc::clone(&buffer);
    let thread = thread::Builder::new().name("log".to_owned());
    // The service has already checked that threads can be started.
    let spawned = thread.spawn(move || writer.write(stderr()));
    buffer.lines.lock().is_written = spawned.is_err();
    let filter = Targets::new()
        .with_default(level.min(Level::WARN))
        .with_target("landing_api", level);
    let shared = Arc::clone(&buffer);
    let lines = fmt::layer()
        .with_writer(move || LineWriter(Arc::clone(&shared)))
        .with_target(false)
        // Printing them uses `eprintln!`, which panics if standard error is closed.
        .log_internal_errors(false);
    let lines = if is_json {
        lines.json().flatten_event(true).boxed()
    } else {
        // Colours could not be told apart from escape sequences in foreign text.
        lines.with_ansi(false).boxed()
    };
    // Fails only if a subscriber is already set.
    let layers = registry().with(lines).with(Warnings(on_warning));
    if layers.with(filter).try_init().is_ok() {
        panic::set_hook(Box::new(log_panic));
    }
    Log(buffer)
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
            tracing::warn!(error = %"no room", count = 3, endpoint = "chat", "store");
            tracing::error!("{}", "é".repeat(1000));
        });
        let texts: Vec<_> = texts.iter().collect();
        let long = "é".repeat(WARNING_CHARS_MAX);
        assert_eq!(
            texts,
            ["store: no room (count 3, endpoint chat)", long.as_str()]
        );
    }

    #[test]
    fn no_field_acts_on_a_terminal_or_begins_a_line() {
        let buffer = Arc::new(LogBuffer::default());
        let lines = Arc::clone(&buffer);
        let writer = move || LineWriter(Arc::clone(&lines));
        let foreign = "a\x1b[2Jb\u{9b}31m\u{202e}c\r\nERROR forged\x07\u{2028}";
        let log = || tracing::warn!(error = %foreign, word = foreign, "said {foreign}");
        let subscriber = fmt().with_ansi(false).with_writer(writer.clone());
        tracing::subscriber::with_default(subscriber.finish(), log);
        tracing::subscriber::with_default(fmt().json().with_writer(writer).finish(), log);
        let text = String::from_utf8(buffer.lines.lock().bytes.clone()).unwrap();
        assert_eq!(text.matches("ERROR forged").count(), 6, "{text:?}");
        assert_eq!(text.lines().count(), 2, "{text:?}");
        let acts = |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{2028}".contains(c));
        assert!(!text.contains(acts), "{text:?}");
        let json = text.lines().last().unwrap();
        assert!(json.starts_with('{') && json.contains("\\u202e"), "{json}");
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
