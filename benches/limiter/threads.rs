//! Wall time for as many decisions on each of so many threads. On keys of their own two threads
//! should take what one takes; on the same key they wait for each other.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode};
use landing_api::adapters::system::SystemClock;
use landing_api::ports::Clock;

use crate::limiters::{Governor, Limiter, Ours, VAST, mix};

pub(crate) fn bench(c: &mut Criterion) {
    contended(c, "ours", || Ours::new(VAST));
    contended(c, "governor", || Governor::new(VAST));
}

fn contended<L: Limiter>(c: &mut Criterion, name: &str, open: impl Fn() -> L) {
    for (case, keys) in [("same_key", 0), ("own_key", 1), ("own_1000_keys", 1000)] {
        for threads in [1, 2] {
            let mut group = c.benchmark_group(format!("threads_{threads}_{case}"));
            group.sampling_mode(SamplingMode::Flat);
            group.bench_function(name, |bencher| {
                let limiter = open();
                bencher.iter_custom(|rounds| run(&limiter, threads, keys, rounds));
            });
            group.finish();
        }
    }
}

/// Each thread decides on `keys` identities that no other has, or all on one if there are none.
fn run(limiter: &impl Limiter, threads: u64, keys: u64, rounds: u64) -> Duration {
    let now = SystemClock.now();
    let start = Instant::now();
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for round in 0..rounds {
                    let index = match keys {
                        0 => 0,
                        keys => thread * keys + mix(round) % keys,
                    };
                    black_box(limiter.decide(index, now));
                }
            });
        }
    });
    start.elapsed()
}
