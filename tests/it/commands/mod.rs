//! The operator's commands, with the real program: beside a running service and on a stopped data
//! directory.

mod connection;
mod contacts;
mod keys;
mod limits;
mod status;
mod store;
mod trouble;

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Program, landing_api};

/// `landing-api WORDS --data-dir DIR`.
pub(crate) fn command(words: &[&str], data_dir: &Path) -> Command {
    let mut command = landing_api(words);
    command.arg("--data-dir").arg(data_dir);
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
    /// It fits into 80 columns.
    pub(crate) fn check_width(&self) {
        let is_narrow = |line: &str| line.chars().count() <= 80;
        assert!(self.out.lines().all(is_narrow), "{self:?}");
    }

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

/// A directory that makes nobody warn.
pub(crate) fn private_dir() -> TempDir {
    let private = Permissions::from_mode(0o700);
    tempfile::Builder::new()
        .permissions(private)
        .tempdir()
        .unwrap()
}

/// Runs a command that reads `input`.
pub(crate) fn feed(words: &[&str], data_dir: &Path, input: &[u8]) -> Ran {
    let mut child = command(words, data_dir)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // Fails if the command does not read it.
            let _ = stdin.write_all(input);
        });
        child.wait_with_output().unwrap().into()
    })
}

pub(crate) fn run(words: &[&str], data_dir: &Path) -> Ran {
    command(words, data_dir).output().unwrap().into()
}

/// Checks that commands print the same beside the service and without it.
pub(crate) fn alike(dir: &Path, service: Program, commands: &[&[&str]]) -> Vec<Ran> {
    let running: Vec<Ran> = commands.iter().map(|words| run(words, dir)).collect();
    assert_eq!(service.stop(Signal::TERM).0, Some(0));
    let stopped: Vec<Ran> = commands.iter().map(|words| run(words, dir)).collect();
    assert_eq!(running, stopped);
    running
}
