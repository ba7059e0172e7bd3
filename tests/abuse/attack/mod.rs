//! Attacks on the real program: what one client does, the others must not feel. That each attack is refused as it
//! should be is tested in tests/it.
//!
//! Each has a process of its own and stays on loopback. Attackers are slower than the machine allows:
//! the honest clients and the service are on the same cores, and to use those up would prove nothing
//! about the service. With `--release` the program is the one that operators run. Only a long run fails
//! because of throughput and p99: a short one may share the machine. Linux only: `/proc` is read.

mod bodies;
mod connections;
mod harness;
mod honest;
mod http2;
mod networks;
mod tls;
pub(crate) mod wire;

use std::panic::{self, AssertUnwindSafe, catch_unwind};

use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::runtime::Builder;

use crate::Run;
use harness::Verdict;

macro_rules! attacks {
    ($($name:literal $attack:path,)*) => { &[$(($name, |run| launch(run, $attack)),)*] };
}

pub(crate) const PROGRAMS: &[crate::Program] = attacks! {
    "attack-one-address" connections::one_address,
    "attack-tls-half-open" tls::half_open,
    "attack-h2-heads" http2::unfinished_heads,
    "attack-h2-waiting" http2::waiting_heads,
    "attack-h2-resets" http2::resets,
    "attack-h2-readers" http2::readers,
    "attack-h2-pings" http2::pings,
    "attack-slow-bodies" bodies::slow,
    "attack-waiting-heads" bodies::waiting_heads,
    "attack-networks-hold" networks::hold,
    "attack-networks-h2" networks::control_frames,
    "attack-networks-asks" networks::pipelined,
    "attack-networks-heads" networks::unfinished_heads,
};

/// Runs an attack. What it asserts beyond the verdict ends it with a panic.
fn launch(run: Run, attack: impl AsyncFnOnce(Run) -> Verdict) -> Result<String, String> {
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    let _ = setrlimit(Resource::Nofile, files);
    // The usual hook adds where it came from, which is always here.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let verdict = catch_unwind(AssertUnwindSafe(|| runtime.block_on(attack(run))));
    panic::set_hook(hook);
    match verdict {
        Ok(verdict) if verdict.is_good(run) => Ok(verdict.to_string()),
        Ok(verdict) => Err(verdict.to_string()),
        Err(_panic) => Err("see the line above".to_owned()),
    }
}
