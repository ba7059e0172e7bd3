//! Attacks from one, eight and many networks at once. The honest clients come without a proxy, each from an
//! address of its own.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};

use super::harness::{Pace, Trial, Verdict};
use super::honest::Visits;
use super::http2::{HOME, REPEATABLE, REPEATED, UNLIMITED};
use super::wire::{Wire, post};
use crate::Run;
use crate::http2::{CONTINUATION, HEADERS, WINDOW_UPDATE, frame, preface};

/// How many networks attack: the last need no more of the connections than is fair. A short run has them alone.
const NETWORKS: [usize; 3] = [1, 8, 84];
/// What the service may take, whatever the number of networks.
const MEMORY_MIB_MAX: u64 = 384;

const CONNECTIONS_MAX: usize = 1024;

const NOT_FOUND: &str = "GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// The address of connection `number` when so many networks attack.
fn attacker(number: usize, networks: usize) -> IpAddr {
    let host = u8::try_from(number % networks + 1).unwrap();
    IpAddr::V4(Ipv4Addr::new(127, 1, 0, host))
}

async fn from_each(
    run: Run,
    flags: &[&str],
    mut attack: impl AsyncFnMut(&Trial, usize) -> Vec<Wire>,
) -> Verdict {
    let flags = [&UNLIMITED, flags].concat();
    let mut worst: Option<Verdict> = None;
    for networks in run.of(&NETWORKS[2..], &NETWORKS) {
        let trial = Trial::begin_with(run, &flags, Visits::Direct, None).await;
        drop(attack(&trial, *networks).await);
        let verdict = trial.end_within(MEMORY_MIB_MAX).await;
        println!("{networks:>4} networks  {verdict}");
        worst = match worst {
            Some(bad) if !bad.is_good(run) => Some(bad),
            _ => Some(verdict),
        };
    }
    worst.unwrap()
}

/// More connections than there are, on each of which something is asked now and then.
pub(super) async fn hold(run: Run) -> Verdict {
    let max = format!("--max-connections={CONNECTIONS_MAX}");
    from_each(run, &[&max], async |trial, networks| {
        let mut held = VecDeque::new();
        let mut pace = Pace::of(700);
        let mut number = 0;
        while pace.is_within(run.length()) || number < 2 * CONNECTIONS_MAX {
            pace.step().await;
            let from = attacker(number, networks);
            number += 1;
            // The service may reset it at once.
            if let Ok(wire) = Wire::connect(from, trial.address).await {
                held.push_back(wire);
            }
            if let Some(mut oldest) = held.pop_front()
                && oldest.send(NOT_FOUND).await.is_ok()
            {
                held.push_back(oldest);
            }
            // The oldest were closed long ago, but each is a file of this program until it lets go.
            if held.len() > 4 * CONNECTIONS_MAX {
                held.pop_front();
            }
        }
        held.into()
    })
    .await
}

/// As many HTTP/2 connections as there are, which send nothing but changes of the window.
pub(super) async fn control_frames(run: Run) -> Verdict {
    const CONNECTIONS: usize = 512;
    let burst = frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]).repeat(1800);
    from_each(run, &[], async |trial, networks| {
        let mut held: Vec<Option<Wire>> = Vec::new();
        held.resize_with(CONNECTIONS.min(64 * networks), || None);
        let mut pace = Pace::of(1000);
        while pace.is_within(run.length()) {
            for (number, held) in held.iter_mut().enumerate() {
                pace.step().await;
                if let Some(wire) = held {
                    // It does not wait for a service that reads no more.
                    match wire.stream.try_write(&burst) {
                        Err(error) if error.kind() != ErrorKind::WouldBlock => *held = None,
                        Ok(_) | Err(_) => {}
                    }
                } else if let Ok(mut wire) =
                    Wire::connect(attacker(number, networks), trial.address).await
                    && wire.send(preface(65_535)).await.is_ok()
                {
                    *held = Some(wire);
                }
            }
        }
        held.into_iter().flatten().collect()
    })
    .await
}

/// Requests that are sent one after the other without waiting for the answers.
pub(super) async fn pipelined(run: Run) -> Verdict {
    const AT_ONCE: usize = 64;
    from_each(run, &[], async |trial, networks| {
        let mut held = Vec::new();
        for number in 0..8.max(networks) {
            let wire = Wire::connect(attacker(number, networks), trial.address).await;
            held.push(wire.unwrap());
        }
        let mut pace = Pace::of(1500);
        while pace.is_within(run.length()) {
            for wire in &mut held {
                wire.send(NOT_FOUND.repeat(AT_ONCE)).await.unwrap();
                for _ in 0..AT_ONCE {
                    pace.step().await;
                    assert_eq!(wire.answer().await.unwrap().status, 404);
                }
            }
        }
        held
    })
    .await
}

/// Heads that do not end, of HTTP/1.1 and of HTTP/2, on all connections that there are.
pub(super) async fn unfinished_heads(run: Run) -> Verdict {
    let block = [HOME, REPEATABLE, &[REPEATED; 430]].concat();
    let mut http2 = preface(65_535);
    http2.extend(frame(HEADERS, 1, 1, &block));
    // All of a frame but its last byte.
    http2.extend(frame(CONTINUATION, 0, 1, &[REPEATED; 16_384]));
    http2.pop();
    let http1 = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}",
        "x".repeat(15_000)
    );
    let large = post("/api/v1/assistant/chat", "", &"x".repeat(320 * 1024));
    let (request, begun) = (
        "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &http1[..8000],
    );
    let after_another = format!("{request}{begun}");
    from_each(run, &[], async |trial, networks| {
        let heads: [&[u8]; 3] = [&http2, http1.as_bytes(), after_another.as_bytes()];
        // All that may be held of bodies, each of which lacks a byte.
        let (body, bodies) = (&large.as_bytes()[..large.len() - 1], 8 * 26);
        let mut held = Vec::new();
        let mut pace = Pace::of(2000);
        for number in 0..run.of(9_000, 20_000) {
            // What is large comes more slowly.
            for _ in 0..if number < bodies { 20 } else { 1 } {
                pace.step().await;
            }
            let head = heads[number / networks % heads.len()];
            let said = if number < bodies { body } else { head };
            // The service may hang up.
            if let Ok(mut wire) = Wire::connect(attacker(number, networks), trial.address).await
                && wire.send(said).await.is_ok()
            {
                held.push(wire);
            }
        }
        held
    })
    .await
}
