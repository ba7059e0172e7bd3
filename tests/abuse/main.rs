//! What somebody can do to the service, done to it: programs that run for as long as one likes.
//!
//! `cargo test --test abuse` runs all of them for some seconds each; `-- fuzz` those whose name begins
//! with that, `-- long` for hours, which wants `--release`. `-- seed=N` makes other inputs.
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
#[path = "../it/call.rs"]
#[allow(dead_code, reason = "no program needs all of it")]
mod call;
#[path = "../it/fixtures.rs"]
#[allow(dead_code, reason = "no program needs all of it")]
mod fixtures;
mod fuzz;
#[path = "../it/harness.rs"]
#[allow(dead_code, unused_imports, reason = "no program needs all of it")]
mod harness;
#[path = "../it/http2.rs"]
#[allow(dead_code, unused_imports, reason = "its tests are not built")]
mod http2;
#[path = "../it/openapi_contract"]
#[allow(dead_code, reason = "no program needs all of it")]
mod openapi_contract {
    pub(crate) mod contract;
}
#[path = "../it/ledger/power.rs"]
#[allow(dead_code, reason = "no program needs all of it")]
mod power;
#[path = "../it/program.rs"]
#[allow(dead_code, reason = "no program needs all of it")]
mod program;
mod random;
#[path = "../it/site.rs"]
#[allow(dead_code, unused_imports, reason = "its tests are not built")]
mod site;
mod storage;
#[path = "../it/transport.rs"]
#[allow(dead_code, unused_imports, reason = "its tests are not built")]
mod transport;
#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "no program needs all of it")]
mod twins;

use std::process::ExitCode;
use std::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) is_long: bool,
    /// What all randomness is made of.
    pub(crate) seed: u64,
}

impl Run {
    fn of<T>(self, short: T, long: T) -> T {
        if self.is_long { long } else { short }
    }
}

/// Its name, and what it does: it returns what it has done, or what went wrong.
type Program = (&'static str, fn(Run) -> Result<String, String>);

const PROGRAMS: &[Program] = &[
    ("fuzz-targets", fuzz::requests::targets),
    ("fuzz-headers", fuzz::requests::headers),
    ("fuzz-json", fuzz::requests::json),
    ("fuzz-heads", fuzz::heads::heads),
    ("fuzz-ledger", fuzz::ledger::ledger),
    ("storage-power", storage::power::power),
    ("storage-kill", storage::kill::kill),
    ("storage-memory", storage::memory::memory),
];

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
    let programs = || PROGRAMS.iter().chain(attack::PROGRAMS);
    let asked = programs().filter(|(name, _)| names.is_empty() || is_asked(name));
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
        let all: Vec<_> = programs().map(|(name, _)| name).collect();
        println!("no such program: there are {all:?}");
    }
    ExitCode::from(u8::from(failed > 0 || ran == 0))
}
