//! Where the log goes: standard error, as text or JSON.

use std::io::{IsTerminal as _, stderr};

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

/// Starts logging. What the service itself says is shown from `level` up; what its libraries say,
/// only when it is a warning, and of `rmcp` nothing: it warns of what clients do, in their words. A
/// second call changes nothing.
pub fn init(level: Level, is_json: bool) {
    let filter = Targets::new()
        .with_default(level.min(Level::WARN))
        .with_target("landing_api", level)
        .with_target("rmcp", LevelFilter::OFF);
    let lines = fmt::layer()
        .with_writer(stderr)
        .with_target(false)
        // A log that cannot be written must not panic: nobody could be told anyway.
        .log_internal_errors(false);
    let lines = if is_json {
        lines.json().flatten_event(true).boxed()
    } else {
        lines.with_ansi(stderr().is_terminal()).boxed()
    };
    // Fails only if logging was started before, which tests alone can bring about.
    let _ = registry().with(lines.with_filter(filter)).try_init();
}
