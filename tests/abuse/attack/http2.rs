//! HTTP/2 frame by frame (RFC 9113): clients that a well-behaved library would not be.

use std::time::Duration;

use tokio::time::sleep;

use super::harness::{ATTACKER, Pace, Trial, Verdict};
use super::wire::Wire;
use crate::Run;
use crate::http2::{
    CONTINUATION, END_HEADERS, END_STREAM, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE,
    frame, preface,
};

/// No limit of requests hides what the connections do.
pub(super) const UNLIMITED: [&str; 2] = ["--limit=default=off", "--limit=ip=off"];

/// The block of a GET of the home page, in HPACK without Huffman's code (RFC 7541).
pub(super) const HOME: &[u8] = b"\x82\x86\x84\x01\x09localhost";

/// A header that [`REPEATED`], one byte, repeats from then on: it is put into the dynamic table.
pub(super) const REPEATABLE: &[u8] = b"\x40\x01x\x00";
pub(super) const REPEATED: u8 = 0xBE;

pub(super) fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, HOME)
}

/// Says hello on that many connections. Those that are refused are left out, where that is found so soon.
async fn connect(trial: &Trial, count: usize, window: u32, buffered: Option<u32>) -> Vec<Wire> {
    let mut wires = Vec::new();
    let mut pace = Pace::of(500);
    for _ in 0..count {
        pace.step().await;
        let wire = Wire::connect_reading(ATTACKER, trial.address, buffered).await;
        let mut wire = wire.unwrap();
        // The service may reset it at once.
        if wire.send(preface(window)).await.is_ok() {
            wires.push(wire);
        }
    }
    wires
}

/// As many connections as one address can have, each amid a head of 2,000 headers.
pub(super) async fn unfinished_heads(run: Run) -> Verdict {
    let block = [HOME, REPEATABLE, &[REPEATED; 1000]].concat();
    let first = frame(HEADERS, END_STREAM, 1, &block);
    let head = [first, frame(CONTINUATION, 0, 1, &[REPEATED; 1000])].concat();
    let trial = Trial::begin(run, &UNLIMITED).await;
    let mut wires = connect(&trial, 2000, 65_535, None).await;
    for wire in &mut wires {
        // The service may have hung up.
        let _ = wire.send(&head).await;
    }
    sleep(run.of(Duration::from_secs(2), Duration::from_secs(40))).await;
    let held = trial.held_by(ATTACKER);
    assert!(!run.is_long || held == 0, "{held} are held");
    drop(wires);
    trial.end().await
}

/// Whole heads of 90 headers and of 2,000, a byte each on the wire, whose bodies do not come.
pub(super) async fn waiting_heads(run: Run) -> Verdict {
    const STREAMS: u32 = 100;
    const CHAT: &[u8] = b"\x83\x86\x04\x16/api/v1/assistant/chat\x01\x09localhost";
    let trial = Trial::begin(run, &UNLIMITED).await;
    let mut wires = connect(&trial, run.of(100, 1000), 65_535, None).await;
    let mut pace = Pace::of(2000);
    for wire in &mut wires {
        for number in 0..STREAMS {
            pace.step().await;
            let count = if number % 2 == 0 { 90 } else { 2000 };
            let block = [CHAT, REPEATABLE, &vec![REPEATED; count]].concat();
            let request = frame(HEADERS, END_HEADERS, 2 * number + 1, &block);
            let _ = wire.send(request).await;
        }
    }
    drop(wires);
    trial.end().await
}

/// Requests that are taken back at once (CVE-2023-44487).
pub(super) async fn resets(run: Run) -> Verdict {
    const CANCEL: [u8; 4] = [0, 0, 0, 8];
    let trial = Trial::begin(run, &UNLIMITED).await;
    let mut pace = Pace::of(40);
    let mut ended = 0;
    while pace.is_within(run.length()) {
        pace.step().await;
        let mut wire = connect(&trial, 1, 65_535, None).await.remove(0);
        let pairs = (0..100).map(|number| 2 * number + 1);
        let pairs =
            pairs.flat_map(|stream| [get(stream), frame(RST_STREAM, 0, stream, &CANCEL)].concat());
        // The service may hang up on the way.
        let _ = wire.send(pairs.collect::<Vec<u8>>()).await;
        ended += 1;
    }
    assert!(ended > 10, "{ended}");
    trial.end().await
}

/// Clients that ask for much and read nothing, or a byte now and then.
pub(super) async fn readers(run: Run) -> Verdict {
    const STREAMS: u32 = 100;
    const BUFFERED: Option<u32> = Some(4096);
    let trial = Trial::begin(run, &UNLIMITED).await;
    let half = run.of(20, 30);
    let mut stuck = connect(&trial, half, 1 << 20, BUFFERED).await;
    let mut dripping = connect(&trial, half, 0, BUFFERED).await;
    let mut pace = Pace::of(1000);
    for number in 0..STREAMS {
        for wire in stuck.iter_mut().chain(&mut dripping) {
            pace.step().await;
            wire.send(get(2 * number + 1)).await.unwrap();
        }
    }
    for wire in &mut stuck {
        wire.send(frame(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes()))
            .await
            .unwrap();
    }
    let mut ticks = Pace::of(1);
    // All of them are let go in the end.
    let longest = Duration::from_secs(run.of(4, 240));
    while ticks.is_within(longest) && trial.held_by(ATTACKER) > 0 {
        ticks.step().await;
        for wire in &mut dripping {
            let _ = wire.send(frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1])).await;
        }
    }
    let held = trial.held_by(ATTACKER);
    assert!(!run.is_long || held == 0, "{held} are held");
    drop((stuck, dripping));
    trial.end().await
}

/// Frames that want an answer, which nobody reads.
pub(super) async fn pings(run: Run) -> Verdict {
    let trial = Trial::begin(run, &[]).await;
    let mut wires = connect(&trial, 20, 65_535, Some(4096)).await;
    let burst = [frame(PING, 0, 0, &[0; 8]), frame(SETTINGS, 0, 0, &[])].concat();
    let burst = burst.repeat(10);
    let mut pace = Pace::of(400);
    while pace.is_within(run.length()) {
        for wire in &mut wires {
            pace.step().await;
            // It does not wait for a service that reads no more.
            let _ = wire.stream.try_write(&burst);
        }
    }
    drop(wires);
    trial.end().await
}
