//! Connections that are held.

use std::net::IpAddr;

use super::harness::{ATTACKER, Pace, Trial, Verdict};
use super::wire::{HEALTH, Wire};
use crate::Run;

const CONNECTIONS_MAX: usize = 2048;
/// What one address may hold of them.
const SHARE: usize = CONNECTIONS_MAX / 8;
const CONNECTIONS: &str = "--max-connections=2048";

/// Opens that many connections, and says something on some of them. Those that are refused count, too.
async fn open(trial: &Trial, from: IpAddr, count: usize, held: &mut Vec<Wire>) {
    let said = ["", "GET / HTTP/1.1\r\nHost: loc", HEALTH];
    let mut pace = Pace::of(1000);
    for number in 0..count {
        pace.step().await;
        // The service may reset it at once.
        if let Ok(mut wire) = Wire::connect(from, trial.address).await
            && wire.send(said[number % said.len()]).await.is_ok()
        {
            held.push(wire);
        }
    }
}

/// One address opens more connections than there are, silent, amid a head and kept alive.
pub(super) async fn one_address(run: Run) -> Verdict {
    let trial = Trial::begin(run, &[CONNECTIONS, "--limit=default=600/5s"]).await;
    let mut held = Vec::new();
    let mut pace = Pace::of(1);
    while pace.is_within(run.length()) {
        open(&trial, ATTACKER, CONNECTIONS_MAX + SHARE, &mut held).await;
        trial.expect_held(ATTACKER, SHARE).await;
        // Most were refused, but each is a file of this program until it lets go.
        held.drain(..held.len().saturating_sub(CONNECTIONS_MAX));
        pace.step().await;
    }
    drop(held);
    trial.end().await
}
