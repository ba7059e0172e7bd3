//! Wall time for as many decisions on each of so many threads. On keys of their own two threads
//! should take what one takes; on the same key they wait for each other.
//!
//! Each thread has a core to itself: left alone, the system keeps two threads of so short a life on
//! one core as often as not, and the wall clock then measures that. What a machine gives two threads
//! that share nothing at all is measured, too (`window`): its cores may be threads of one core.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode};
use landing_api::adapters::system::SystemClock;
use landing_api::domain::policy::Quota;
use landing_api::domain::time::Timestamp;
use landing_api::domain::window::Window;
use landing_api::ports::Clock;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::limiters::{Governor, Limiter, Ours, VAST, mix, quota};

const CASES: [(&str, u64); 3] = [("same_key", 0), ("own_key", 1), ("own_1000_keys", 1000)];

pub(crate) fn bench(c: &mut Criterion) {
    for (case, keys) in CASES {
        contended(c, case, keys, "ours", || Ours::new(VAST));
        contended(c, case, keys, "governor", || Governor::new(VAST));
    }
    contended(c, "own_key", 1, "window", Apart::default);
}

/// One thread and two in turn, so that both are measured within seconds.
fn contended<L: Limiter>(
    c: &mut Criterion,
    case: &str,
    keys: u64,
    name: &str,
    open: impl Fn() -> L,
) {
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

/// Each thread decides on `keys` identities that no other has, or all on one if there are none.
fn run(limiter: &impl Limiter, threads: usize, keys: u64, rounds: u64) -> Duration {
    let now = SystemClock.now();
    let start = Instant::now();
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                stay_on_core(thread);
                let first = keys * thread as u64;
                for round in 0..rounds {
                    let index = match keys {
                        0 => 0,
                        keys => first + mix(round) % keys,
                    };
                    black_box(limiter.decide(index, now));
                }
            });
        }
    });
    start.elapsed()
}

/// Keeps the calling thread on one of the cores that it may use: on the same for the same number.
fn stay_on_core(number: usize) {
    let allowed = sched_getaffinity(None).unwrap();
    let mut cores = (0..CpuSet::MAX_CPU)
        .filter(|core| allowed.is_set(*core))
        .cycle();
    let mut only = CpuSet::new();
    only.set(cores.nth(number).unwrap());
    sched_setaffinity(None, &only).unwrap();
}

/// A window for each of two identities, far apart in memory.
struct Apart {
    quota: Quota,
    windows: [Far; 2],
}

#[derive(Default)]
#[repr(align(256))]
struct Far(Mutex<Window>);

impl Default for Apart {
    fn default() -> Self {
        Self {
            quota: quota(VAST),
            windows: <[Far; 2]>::default(),
        }
    }
}

impl Limiter for Apart {
    fn decide(&self, index: u64, now: Timestamp) -> bool {
        let Far(window) = &self.windows[usize::try_from(index).unwrap()];
        let mut window = window.lock().unwrap_or_else(PoisonError::into_inner);
        window.admit(self.quota, now).is_ok()
    }
}
