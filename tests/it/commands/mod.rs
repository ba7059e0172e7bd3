//! The operator's commands, with the real program: beside a running service and on a stopped data
//! directory.

mod connection;
mod contacts;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// `landing-api WORDS --data-dir DIR`.
pub(crate) fn command(words: &[&str], data_dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing-api"));
    command
        .env_clear()
        .args(words)
        .arg("--data-dir")
        .arg(data_dir)
        .stdin(Stdio::null());
    command
}

/// What a command printed, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.status, Some(0), "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

pub(crate) fn run(words: &[&str], data_dir: &Path) -> Ran {
    command(words, data_dir).output().unwrap().into()
}
