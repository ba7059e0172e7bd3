//! What somebody can do to the service, done to it: programs that run for as long as one likes.
//!
//! `cargo test --test abuse` runs all of them for some seconds each; `-- fuzz` those whose name begins
//! with that, `-- long` for hours, which wants `--release`. `-- seed=N` repeats a run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a program that meets the unexpected has failed, and one that measures reads the clock"
)]
#![allow(unreachable_pub, reason = "nothing outside reaches a test")]

mod attack;
mod fuzz;

use std::process::ExitCode;
use std::time::Instant;

/// How a program is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) is_long: bool,
    /// What all randomness is made of.
    pub(crate) seed: u64,
}

/// Its name, and what it does: it returns what it has done, or what went wrong.
type Program = (&'static str, fn(Run) -> Result<String, String>);

const PROGRAMS: &[Program] = &[("fuzz-targets", fuzz::targets)];

fn main() -> ExitCode {
    let mut run = Run {
        is_long: false,
        seed: 1,
    };
    let mut names = Vec::new();
    for word in std::env::args().skip(1) {
        if word == "long" {
            run.is_long = true;
        } else if let Some(seed) = word.strip_prefix("seed=") {
            run.seed = seed.parse().expect("seed=NUMBER");
        } else {
            names.push(word);
        }
    }
    let is_asked = |name: &str| names.iter().any(|asked| name.starts_with(asked.as_str()));
    let asked = PROGRAMS
        .iter()
        .chain(attack::PROGRAMS)
        .filter(|(name, _)| names.is_empty() || is_asked(name));
    let (mut ran, mut failed) = (0, 0);
    for (name, program) in asked {
        let began = Instant::now();
        let (verdict, text) = match program(run) {
            Ok(done) => ("ok", done),
            Err(failure) => ("FAILED", failure),
        };
        ran += 1;
        failed += u32::from(verdict != "ok");
        let seconds = began.elapsed().as_secs();
        println!("{name:<20} {verdict:<6} {seconds:>5} s  {text}");
    }
    if ran == 0 {
        println!(
            "no such program: there are {:?}",
            PROGRAMS
                .iter()
                .chain(attack::PROGRAMS)
                .map(|it| it.0)
                .collect::<Vec<_>>()
        );
    }
    ExitCode::from(u8::from(failed > 0 || ran == 0))
}
