//! The log: one line per event on standard error, as text or JSON.
//!
//! Lines are queued for a thread that writes them several times a second. If the queue is full, the line is dropped and
//! counted, so that a reader of standard error that has stopped reading blocks neither a request nor a stop. Panics are
//! logged here, too: the standard hook would block on such a reader.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::{Debug, Write as _};
use std::io::{self, Write, stderr};
use std::panic::{self, PanicHookInfo};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, fmt, registry};

use crate::domain::{Timestamp, panic_message, printable};

/// Most unwritten lines: those of a pause at the highest load.
const LINES_MAX: usize = 4096;

/// Time between writes. A process that is killed loses the lines of one pause.
const PAUSE: Duration = Duration::from_millis(50);

/// Longest wait of a stop for the reader of standard error.
const END_GRACE: Duration = Duration::from_secs(1);

/// Room for most lines, in bytes.
const LINE_BYTES: usize = 256;

/// Longest text passed on from a log line, in characters.
const WARNING_CHARS_MAX: usize = 400;

/// The running log. Dropping it writes the queue, and waits at most a second for the reader of standard
/// error.
#[must_use = "queued lines are written when it is dropped"]
pub struct Log {
    queue: Arc<LineQueue>,
    /// Its other end is dropped with the last line.
    written: Receiver<()>,
}

impl Log {
    /// Number of lines dropped so far because the queue was full.
    pub fn dropped_lines(&self) -> usize {
        self.queue.dropped.load(Relaxed)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // A full queue is one that nobody reads.
        let _ = self.queue.lines.try_send(None);
        let _ = self.written.recv_timeout(END_GRACE);
    }
}

/// The lines for the writing thread.
struct LineQueue {
    /// `None` is the end. The standard library's queue would allocate all places at once.
    lines: mpsc::Sender<Option<String>>,
    /// Lines dropped since the start.
    dropped: AtomicUsize,
}

impl LineQueue {
    fn new() -> (Arc<Self>, mpsc::Receiver<Option<String>>) {
        let (lines, queued) = mpsc::channel(LINES_MAX);
        let dropped = AtomicUsize::new(0);
        (Arc::new(Self { lines, dropped }), queued)
    }

    /// Writes the lines in `queued` to `out` until the end, when `done` is dropped.
    fn write(
        &self,
        mut queued: mpsc::Receiver<Option<String>>,
        mut out: impl Write,
        _done: Sender<()>,
    ) {
        let (mut bytes, mut dropped_reported, mut is_ending) = (Vec::new(), 0, false);
        while let Some(first) = queued.blocking_recv() {
            if first.is_some() {
                thread::park_timeout(PAUSE);
            }
            let more = std::iter::from_fn(|| queued.try_recv().ok());
            for line in std::iter::once(first).chain(more) {
                match line {
                    Some(line) => bytes.extend_from_slice(line.as_bytes()),
                    None => is_ending = true,
                }
            }
            let dropped = self.dropped.load(Relaxed);
            let is_news = dropped > dropped_reported;
            if is_news {
                // Now, while the queue has room for it.
                dropped_reported = dropped;
                tracing::warn!(
                    log.dropped = dropped,
                    "log lines were dropped because standard error was not read; total since the start"
                );
            }
            // There is no other place to report a failure.
            let _ = out.write_all(&bytes);
            bytes.clear();
            if is_ending && !is_news {
                return;
            }
        }
    }
}

/// Each write is an event.
impl Write for &LineQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = str::from_utf8(line).map_err(io::Error::other)?;
        let shown = printable(text.strip_suffix('\n').unwrap_or(text), &[]) + "\n";
        if self.lines.try_send(Some(shown.into_owned())).is_err() {
            self.dropped.fetch_add(1, Relaxed);
        }
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
    let message = panic_message(panic.payload());
    tracing::error!(location, backtrace, "panicked: {message}");
}

/// Passes on the text of each line of level WARN or ERROR, as a sentence.
struct Warnings<F>(F);

impl<S: Subscriber, F: Fn(String) + 'static> Layer<S> for Warnings<F> {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= Level::WARN {
            let mut sentence = Sentence::default();
            event.record(&mut sentence);
            (self.0)(sentence.0.chars().take(WARNING_CHARS_MAX).collect());
        }
    }
}

/// A line's message, cause and other fields.
#[derive(Default)]
struct Sentence(String);

impl Visit for Sentence {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &match field.name() {
            "message" => format!("{value:?}"),
            "error" | "cause" | "reason" => format!(": {value:?}"),
            name => format!(", {name} {value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
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

/// Formats a line of text: time by this clock, level, message, fields. The library's formatter writes the same in twice
/// the time.
struct TextLine(fn() -> Timestamp);

impl<S, N> FormatEvent<S, N> for TextLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let mut line = LineBuffer(String::with_capacity(LINE_BYTES));
        line.0 += &(self.0)().to_rfc3339();
        let level = event.metadata().level().as_str();
        line.0
            .extend([if level.len() < 5 { "  " } else { " " }, level]);
        event.record(&mut line);
        line.0.push('\n');
        writer.write_str(&line.0)
    }
}

/// A line while its fields are added.
struct LineBuffer(String);

impl LineBuffer {
    fn begin(&mut self, field: &Field) {
        self.0.push(' ');
        if field.name() != "message" {
            self.0 += field.name();
            self.0.push('=');
        }
    }
}

impl Visit for LineBuffer {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.begin(field);
        // Writing to a `String` cannot fail.
        let _ = write!(self.0, "{value:?}");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let is_plain = |byte| matches!(byte, b' '..=b'~') && !br#""\"#.contains(&byte);
        if !value.bytes().all(is_plain) {
            return self.record_debug(field, &value);
        }
        self.begin(field);
        self.0.extend(["\"", value, "\""]);
    }
}

/// Starts logging: events of the service from `level` up, events of its libraries from `WARN` up. `clock` gives the time.
/// `on_warning` receives the text of each line of level WARN or ERROR. Only the first call in a process has an
/// effect.
pub fn init(
    level: Level,
    is_json: bool,
    clock: fn() -> Timestamp,
    on_warning: impl Fn(String) + Send + Sync + 'static,
) -> Log {
    let (queue, queued) = LineQueue::new();
    let (done, written) = channel();
    let writing = Arc::clone(&queue);
    let thread = thread::Builder::new().name("log".to_owned());
    // The service has already checked that threads can be started.
    let _ = thread.spawn(move || writing.write(queued, stderr(), done));
    let filter = Targets::new()
        .with_default(level.min(Level::WARN))
        .with_target("landing_api", level);
    let lines = fmt::layer()
        .with_writer(Arc::clone(&queue))
        .with_target(false)
        // Printing them uses `eprintln!`, which panics if standard error is closed.
        .log_internal_errors(false);
    let lines = if is_json {
        lines.json().flatten_event(true).boxed()
    } else {
        // Without colours: they could not be told apart from escape sequences in foreign text.
        lines.event_format(TextLine(clock)).boxed()
    };
    // Fails only if a subscriber is already set.
    let layers = registry().with(lines).with(Warnings(on_warning));
    if layers.with(filter).try_init().is_ok() {
        panic::set_hook(Box::new(log_panic));
    }
    Log { queue, written }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_newest_warning_is_passed_on_in_one_short_text() {
        let (sender, texts) = channel();
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
            ["store: no room, count 3, endpoint chat", long.as_str()]
        );
    }

    #[test]
    fn no_field_acts_on_a_terminal_or_begins_a_line() {
        let (queue, mut queued) = LineQueue::new();
        let foreign = "a\x1b[2Jb\u{9b}31m\u{202e}c\r\nERROR forged\x07\u{2028}";
        let log = || tracing::warn!(error = %foreign, word = foreign, "said {foreign}");
        let subscriber = fmt()
            .event_format(TextLine(Timestamp::default))
            .with_writer(Arc::clone(&queue));
        tracing::subscriber::with_default(subscriber.finish(), log);
        tracing::subscriber::with_default(fmt().json().with_writer(queue).finish(), log);
        let more = std::iter::from_fn(|| queued.try_recv().ok());
        let text: String = more.flatten().collect();
        assert_eq!(text.matches("ERROR forged").count(), 6, "{text:?}");
        assert_eq!(text.lines().count(), 2, "{text:?}");
        let acts = |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{2028}".contains(c));
        assert!(!text.contains(acts), "{text:?}");
        let json = text.lines().last().unwrap();
        assert!(json.starts_with('{') && json.contains("\\u202e"), "{json}");
    }

    #[test]
    fn values_of_text_are_quoted_and_end_where_they_end() {
        let (queue, mut queued) = LineQueue::new();
        let subscriber = fmt()
            .event_format(TextLine(Timestamp::default))
            .with_writer(queue);
        let word = r#"a" status=200 \"#;
        tracing::subscriber::with_default(subscriber.finish(), || {
            tracing::info!(word, plain = "a b", count = 3, "said");
        });
        let line = queued.try_recv().unwrap().unwrap();
        let end = r#"Z  INFO said word="a\" status=200 \\" plain="a b" count=3"#;
        assert!(line.ends_with(&format!("{end}\n")), "{line}");
    }

    #[test]
    fn a_panic_is_a_line_that_names_its_place() {
        let (mut log, writer) = io::pipe().unwrap();
        let subscriber = fmt()
            .event_format(TextLine(Timestamp::default))
            .with_writer(Arc::new(writer));
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
