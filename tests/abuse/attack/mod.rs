//! Attacks on the real program: what one client does, the others must not feel.
//!
//! Each has a process of its own and stays on loopback. Attackers are slower than the machine allows:
//! the honest clients and the service are on the same cores, and to use those up would prove nothing
//! about the service. With `--release` the program is the one that operators run. Linux only: `/proc`
//! is read.

mod bodies;
mod connections;
mod harness;
mod honest;
mod http2;
mod log;
mod model;
mod mutations;
mod networks;
mod quotas;
#[path = "../../it/openai/upstream.rs"]
#[allow(dead_code, reason = "the other tests do more with it")]
mod upstream;
mod wire;

use std::panic::{self, AssertUnwindSafe, catch_unwind};

use tokio::runtime::Builder;

use harness::Verdict;

pub(crate) const PROGRAMS: &[crate::Program] = &[
    ("attack-one-address", |run| {
        launch(connections::one_address(run))
    }),
    ("attack-refused", |run| launch(connections::refused(run))),
    ("attack-slow-heads", |run| {
        launch(connections::slow_heads(run))
    }),
    ("attack-h2-heads", |run| {
        launch(http2::unfinished_heads(run))
    }),
    ("attack-h2-waiting", |run| launch(http2::waiting_heads(run))),
    ("attack-h2-resets", |run| launch(http2::resets(run))),
    ("attack-h2-readers", |run| launch(http2::readers(run))),
    ("attack-h2-pings", |run| launch(http2::pings(run))),
    ("attack-slow-bodies", |run| launch(bodies::slow(run))),
    ("attack-waiting-heads", |run| {
        launch(bodies::waiting_heads(run))
    }),
    ("attack-networks-hold", |run| launch(networks::hold(run))),
    ("attack-networks-h2", |run| {
        launch(networks::control_frames(run))
    }),
    ("attack-networks-asks", |run| {
        launch(networks::pipelined(run))
    }),
    ("attack-networks-heads", |run| {
        launch(networks::unfinished_heads(run))
    }),
    ("attack-model-places", |run| launch(model::places(run))),
    ("attack-model-bill", |run| launch(model::bill(run))),
    ("attack-sign-ups", |run| launch(quotas::sign_ups(run))),
    ("attack-forwarding", |run| {
        launch(quotas::forged_forwarding(run))
    }),
    ("attack-log-unread", |run| launch(log::unread(run))),
    ("attack-log-volume", |run| launch(log::volume(run))),
    ("attack-mutations", |run| launch(mutations::requests(run))),
];

/// Runs an attack. What it asserts beyond the verdict ends it with a panic.
fn launch(attack: impl Future<Output = Verdict>) -> Result<String, String> {
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    // The usual hook adds where it came from, which is always here.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let verdict = catch_unwind(AssertUnwindSafe(|| runtime.block_on(attack)));
    panic::set_hook(hook);
    match verdict {
        Ok(verdict) if verdict.is_good() => Ok(verdict.to_string()),
        Ok(verdict) => Err(verdict.to_string()),
        Err(_panic) => Err("see the line above".to_owned()),
    }
}
