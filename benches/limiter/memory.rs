//! A million windows: what they take, what a restart with them takes, and what is given back.

use std::fs;
use std::path::Path;
use std::time::Instant;

use landing_api::adapters::limiter::{SledRateLimiter, SledWindowStore, WINDOWS_MAX};
use landing_api::domain::policy::PolicyName;
use landing_api::domain::time::Timestamp;
use landing_api::ports::Charge;

use crate::limiters::{acquire, key, policies, quota};

const KEYS: u64 = 1_000_000;
const PER_KEY: (u32, u64) = (600, 60_000);
const START: Timestamp = Timestamp::from_ms(1_800_000_000_000);
/// As many decisions come between two ticks as in a tenth of a second of a busy service.
const DECISIONS_PER_TICK: u64 = 5_000;
/// More ticks than a sweep of the whole table takes.
const TICKS_PER_SWEEP: usize = 80;

/// Prints a line for each state of the limiter.
#[allow(clippy::print_stdout, reason = "it is what is measured")]
pub(crate) fn report() {
    let dir = tempfile::tempdir().unwrap();
    let windows = dir.path().join("windows");
    let base = rss_bytes();
    let tell = |what: &str, since: Instant| {
        let rss = rss_bytes();
        println!(
            "{what:<32} {:>6.2} s  RSS {:>6.1} MiB, {:>5.1} bytes a window  disk {:>6.1} MiB",
            since.elapsed().as_secs_f64(),
            mib(rss),
            rss.saturating_sub(base) as f64 / KEYS as f64,
            mib(bytes_below(dir.path())),
        );
    };

    let since = Instant::now();
    let limiter = open(&windows, START);
    tell("empty", since);
    let since = Instant::now();
    for index in 0..KEYS {
        charge(&limiter, index);
        if index % DECISIONS_PER_TICK == 0 {
            limiter.tick(START);
        }
    }
    sweep(&limiter, START);
    tell("a million windows of one mark", since);
    let since = Instant::now();
    limiter.close();
    drop(limiter);
    tell("stopped", since);
    let since = Instant::now();
    let limiter = open(&windows, START);
    assert_eq!(limiter.windows(), usize::try_from(KEYS).unwrap());
    tell("started again", since);
    let since = Instant::now();
    sweep(&limiter, START.plus_ms(PER_KEY.1));
    assert_eq!(limiter.windows(), 0);
    tell("all expired", since);
}

fn open(windows: &Path, now: Timestamp) -> SledRateLimiter {
    let store = Box::new(SledWindowStore::new(windows));
    SledRateLimiter::without_thread(store, &policies(PER_KEY), now, WINDOWS_MAX)
}

fn charge(limiter: &SledRateLimiter, index: u64) {
    let policy = PolicyName::Default;
    let charge = Charge {
        policy,
        quota: quota(PER_KEY),
        key: key(policy, index),
        group: None,
    };
    assert!(acquire(limiter, &[charge], START));
}

fn sweep(limiter: &SledRateLimiter, now: Timestamp) {
    for _ in 0..TICKS_PER_SWEEP {
        limiter.tick(now);
    }
}

fn rss_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() * 1024
}

fn bytes_below(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_below(&entry.path()),
        Ok(found) => found.len(),
        // Removed by now.
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
