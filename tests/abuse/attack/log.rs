//! The log: nobody reads it, or somebody wants it to be long.

use std::fs::{self, File};
use std::io::{Read as _, pipe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::harness::{ATTACKER, Pace, Trial, Verdict};
use super::honest::Visits;
use super::wire::HEALTH;
use crate::Run;

/// Somebody stops reading standard error, whose every request is a line.
pub(super) async fn unread(run: Run) -> Verdict {
    let (mut reader, writer) = pipe().unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let reading = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while !over.load(Ordering::Relaxed) && reader.read(&mut bytes).unwrap() > 0 {}
        reader
    });
    let flags = ["--limit=default=600/5s"];
    let trial = Trial::begin_logging(&flags, Visits::All, Some(writer.into())).await;
    is_over.store(true, Ordering::Relaxed);
    let unread = reading.join().unwrap();
    let mut wire = trial.connect(ATTACKER).await;
    let mut pace = Pace::of(500);
    while pace.is_within(run.length()) {
        pace.step().await;
        wire.ask(HEALTH).await.unwrap();
    }
    drop(wire);
    let verdict = trial.end().await;
    drop(unread);
    verdict
}

/// Requests that are refused, each of which would be a line.
pub(super) async fn volume(run: Run) -> Verdict {
    const PER_SECOND: u32 = 2000;
    /// Sent at once, so that the attack costs little beside what it causes.
    const BURST: u32 = 50;
    const LINES_PER_SECOND: f64 = 1000.0;
    let log_dir = tempfile::tempdir().unwrap();
    let log = log_dir.path().join("log");
    let file = File::create(&log).unwrap();
    let flags = ["--limit=default=100/5s"];
    let trial = Trial::begin_logging(&flags, Visits::All, Some(file.into())).await;
    let mut wire = trial.connect(ATTACKER).await;
    let mut pace = Pace::of(PER_SECOND / BURST);
    let mut refused = 0;
    while pace.is_within(run.length()) {
        pace.step().await;
        wire.send(HEALTH.repeat(BURST as usize)).await.unwrap();
        for _ in 0..BURST {
            refused += u64::from(wire.answer().await.unwrap().status == 429);
        }
    }
    // The seconds of the service may begin amid those here.
    let most = LINES_PER_SECOND * (pace.elapsed().as_secs_f64() + 1.0);
    drop(wire);
    let verdict = trial.end().await;
    let text = fs::read_to_string(&log).unwrap();
    let is_shown = |line: &&str| line.contains("status=429");
    let lines = text.lines().filter(is_shown).count();
    assert!(lines as f64 <= most, "{lines} of {most}");
    // The others are not forgotten.
    let counts = text.split("free or not served count=").skip(1);
    let counts = counts.map(|rest| rest.lines().next().unwrap().parse::<u64>().unwrap());
    let all = lines as u64 + counts.sum::<u64>();
    assert!(all >= refused, "{lines} are shown, {all} told of {refused}");
    verdict
}
