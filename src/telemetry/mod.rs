//! Where the log goes: standard error, as text or JSON.
//!
//! | Module | Does |
//! |---|---|
//! | `lines` | gathers lines, and writes many at a time |
//! | `text` | instants and fields as text, without going through `core::fmt` |

mod lines;
mod text;

use std::io::{IsTerminal as _, Stderr, stderr};
use std::sync::Arc;
use std::time::SystemTime;

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

use self::lines::{Attendant, LineWriters, Lines};
use self::text::{Fields, Instants};

/// The log, until this is dropped: that writes every line that waits. Later ones are written at
/// once.
#[derive(Debug)]
#[must_use = "the last lines are written when it is dropped"]
pub struct Log {
    _attendant: Attendant<Stderr>,
}

/// Starts logging; `now` tells the time of each line. What the service itself says is shown from
/// `level` up; what its libraries say, only when it is a warning, and of `rmcp` nothing: it warns of
/// what clients do, in their words. Of several calls, the first one's log is written.
pub fn init(level: Level, is_json: bool, now: fn() -> SystemTime) -> Log {
    let filter = Targets::new()
        .with_default(level.min(Level::WARN))
        .with_target("landing_api", level)
        .with_target("rmcp", LevelFilter::OFF);
    let written = Arc::new(Lines::new(stderr()));
    let lines = fmt::layer()
        .with_writer(LineWriters(Arc::clone(&written)))
        .with_timer(Instants(now))
        .with_target(false)
        // A log that cannot be written must not panic: nobody could be told anyway.
        .log_internal_errors(false);
    let lines = if is_json {
        lines.json().flatten_event(true).boxed()
    } else if stderr().is_terminal() {
        lines.with_ansi(true).boxed()
    } else {
        lines.with_ansi(false).fmt_fields(Fields).boxed()
    };
    // Fails only if logging was started before, which tests alone can bring about. The filter is
    // for the one layer there is: a filter of a layer's own is asked again for each line.
    let _ = registry().with(lines).with(filter).try_init();
    Log {
        _attendant: Attendant::start(written),
    }
}
