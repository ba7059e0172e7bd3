//! What public bug reports tell of, done to the real program: relays, volumes, lists and erasures that lost data or
//! mails somewhere.

mod erasure;
mod files;
mod relay;
mod relays;

pub(crate) const PROGRAMS: &[crate::Program] = &[
    ("field-relays", relays::relays),
    ("field-slow-relay", relays::slow),
    ("field-files", files::files),
    ("field-erasure", erasure::erasure),
];

use std::path::Path;

use serde_json::Value;

use crate::program::{Ran, json_lines, landing_api};

/// Runs `landing-api WORDS` on this data directory.
fn run(words: &[&str], data_dir: &Path) -> Ran {
    Ran::of(landing_api(words).arg("--data-dir").arg(data_dir))
}

/// What `landing-api WORDS --json` lists.
fn list(words: &[&str], data_dir: &Path) -> Vec<Value> {
    json_lines(&run(&[words, &["--json"]].concat(), data_dir).done().out)
}
