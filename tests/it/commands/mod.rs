//! The operator's commands, with the real program: beside a running service and on a stopped data
//! directory.

mod block;
mod connection;
mod contacts;
mod keys;
mod limits;
mod queue;
mod settings;
mod status;
mod store;
mod terminal;
mod trouble;

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::prelude::*;

/// `landing-api WORDS --data-dir DIR`, with words that blanks part.
pub(crate) fn command(words: &str, data_dir: &Path) -> Command {
    let words: Vec<_> = words.split_whitespace().collect();
    let mut command = landing_api(&words);
    command.arg("--data-dir").arg(data_dir);
    command
}

pub(crate) fn run(words: &str, data_dir: &Path) -> Ran {
    Ran::of(&mut command(words, data_dir))
}

pub(crate) fn feed(words: &str, data_dir: &Path, input: impl AsRef<[u8]>) -> Ran {
    let mut command = command(words, data_dir);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.as_ref());
    thread::scope(|scope| {
        scope.spawn(move || {
            // Fails if the command does not read it.
            let _ = stdin.write_all(input);
        });
        child.wait_with_output().unwrap().into()
    })
}

/// Checks that commands print the same beside the service and without it.
fn alike(dir: &Path, service: Program, commands: &[&str]) -> Vec<Ran> {
    let run_all = || -> Vec<_> { commands.iter().map(|words| run(words, dir)).collect() };
    let running = run_all();
    service.stopped();
    assert_eq!(running, run_all());
    running
}
