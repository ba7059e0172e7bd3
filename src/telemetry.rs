//! Where the log goes: standard error, as text or JSON.

use std::io::{IsTerminal as _, stderr};

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, LogLevel};

/// Starts logging. What the service itself says is shown from `level` up; what its libraries say,
/// only when it is a warning.
pub fn init(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
        LogLevel::Trace => "trace",
    };
    let libraries = if level == "error" { "error" } else { "warn" };
    let filter = EnvFilter::new(format!("{libraries},landing_api={level}"));
    let builder = tracing_subscriber::fmt()
        .with_writer(stderr)
        .with_target(false)
        .with_env_filter(filter);
    // A second call keeps the first subscriber, which only tests can bring about.
    let _ = match format {
        LogFormat::Text => builder.with_ansi(stderr().is_terminal()).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    }
    .is_ok();
}
