//! The same decisions by each limiter, one thread. governor reads its own clock for each; the
//! others are told the time, which is read every 1024 decisions.

use std::hint::black_box;

use criterion::Criterion;
use landing_api::adapters::system::SystemClock;
use landing_api::ports::Clock;

use crate::limiters::{DirectSled, Governor, Limiter, Ours, VAST, mix};

pub(crate) fn bench(c: &mut Criterion) {
    for (name, keys) in [
        ("keys_10", 10),
        ("keys_10k", 10_000),
        ("keys_1m", 1_000_000),
    ] {
        admitted(c, &format!("{name}/ours"), keys, || Ours::new(VAST));
        admitted(c, &format!("{name}/governor"), keys, || Governor::new(VAST));
        admitted(c, &format!("{name}/direct_sled"), keys, || {
            DirectSled::new(VAST)
        });
    }
    const ONE: (u32, u64) = (1, 60_000);
    refused(c, "refused/ours", || Ours::new(ONE));
    refused(c, "refused/governor", || Governor::new(ONE));
    refused(c, "refused/direct_sled", || DirectSled::new(ONE));
    admitted(c, "keys_1/ours", 1, || Ours::new(VAST));
    admitted(c, "keys_1/governor", 1, || Governor::new(VAST));
    admitted(c, "keys_1/direct_sled", 1, || DirectSled::new(VAST));
}

/// Decisions on `keys` identities in random order, all of them known already.
fn admitted<L: Limiter>(c: &mut Criterion, name: &str, keys: u64, open: impl Fn() -> L) {
    // Set up only if it is asked for, and once.
    let mut filled = None;
    let mut now = SystemClock.now();
    let mut round = 0;
    c.bench_function(name, |bencher| {
        let limiter = filled.get_or_insert_with(|| {
            let limiter = open();
            for index in 0..keys {
                limiter.decide(index, now);
            }
            limiter
        });
        bencher.iter(|| {
            round += 1;
            if round % 1024 == 0 {
                now = SystemClock.now();
            }
            black_box(limiter.decide(mix(round) % keys, now))
        });
    });
}

/// An identity that has used up its one place.
fn refused<L: Limiter>(c: &mut Criterion, name: &str, open: impl Fn() -> L) {
    let now = SystemClock.now();
    c.bench_function(name, |bencher| {
        let limiter = open();
        limiter.decide(1, now);
        bencher.iter(|| black_box(limiter.decide(1, now)));
    });
}
