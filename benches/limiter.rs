//! What one limiter decision costs: the pure window, and the port with sled behind it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a bench may fail, and criterion's macros make undocumented functions"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "a bench measures with the real clock"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use landing_api::adapters::limiter::{SledRateLimiter, TableLimits};
use landing_api::adapters::system::SystemClock;
use landing_api::domain::client::LimitKey;
use landing_api::domain::policy::{Policies, PolicyName, Quota};
use landing_api::domain::secret::Secret;
use landing_api::domain::time::Timestamp;
use landing_api::domain::window::Window;
use landing_api::ports::{Charge, Clock, LimiterAnswer, RateLimiter};
use tempfile::TempDir;

/// Never refuses within a bench.
const VAST: (u32, u64) = (1_000_000_000, 60_000);

fn quota((count, window_ms): (u32, u64)) -> Quota {
    Quota::new(count, window_ms).unwrap()
}

/// One decision on a window that `admissions` filled evenly, as time goes on by `step_ms`.
fn window(c: &mut Criterion, name: &str, quota: Quota, admissions: u32, step_ms: u64) {
    let mut window = Window::default();
    let mut now = Timestamp::from_ms(1_800_000_000_000);
    for _ in 0..admissions {
        now = now.plus_ms(quota.window_ms() / u64::from(quota.count()) + 1);
        window.admit(quota, now).unwrap();
    }
    c.bench_function(&format!("window/{name}"), |bencher| {
        bencher.iter(|| {
            now = now.plus_ms(step_ms);
            black_box(window.admit(quota, now))
        });
    });
}

fn windows(c: &mut Criterion) {
    let exact = quota((256, 60_000));
    // As fast as a full window lets them in.
    let every_ms = 60_000 / 256 + 1;
    window(c, "empty", exact, 0, exact.window_ms());
    window(c, "half", exact, 128, 2 * every_ms);
    window(c, "full_refused", exact, 255, 0);
    window(c, "full_sliding", exact, 255, every_ms);
    window(c, "slots", quota((600, 60_000)), 590, 101);
}

/// A limiter with its thread and its store, and a policy of `per_key`.
struct Bench {
    limiter: SledRateLimiter,
    quota: Quota,
    _dir: TempDir,
}

impl Bench {
    fn new(per_key: (u32, u64)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut policies = Policies::default();
        policies.set(PolicyName::Default, Some(quota(per_key)));
        policies.set(PolicyName::Ip, Some(quota(per_key)));
        let limiter = SledRateLimiter::open(
            &dir.path().join("windows"),
            Secret::new([9; 32]).keys().limiter,
            &policies,
            Arc::new(SystemClock),
            TableLimits::default(),
        );
        Self {
            limiter: limiter.unwrap(),
            quota: quota(per_key),
            _dir: dir,
        }
    }

    /// A key's bytes are computed and not looked up: a table of a million charges would cost as
    /// much as the limiter's.
    fn charge(&self, policy: PolicyName, index: u64) -> Charge {
        let hash = (u128::from(mix(index)) << 64) | u128::from(mix(!index));
        let mut bytes = hash.to_be_bytes();
        bytes[0] = policy.tag();
        Charge {
            policy,
            quota: self.quota,
            key: LimitKey::from_bytes(bytes),
            network: None,
        }
    }

    /// Whether the request was admitted.
    fn decide(&self, charges: &[Charge], now: Timestamp) -> bool {
        let port: &dyn RateLimiter = &self.limiter;
        match port.acquire(charges, now) {
            LimiterAnswer::Ready(answer) => !answer.into_inner().unwrap().decision.is_refused(),
            LimiterAnswer::Pending(_) => unreachable!(),
        }
    }
}

/// Splitmix64: bits as even as a hash's.
fn mix(index: u64) -> u64 {
    let mut bits = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Decisions on `keys` windows in random order, the clock read every 1024 of them.
///
/// On a million windows the writer never rests, and takes its share of the cores; `is_storing`
/// tells that from what the decisions themselves cost.
fn many_keys(c: &mut Criterion, name: &str, keys: u64, is_storing: bool) {
    let bench = Bench::new(VAST);
    let mut now = SystemClock.now();
    for index in 0..keys {
        bench.decide(&[bench.charge(PolicyName::Default, index)], now);
    }
    if !is_storing {
        bench.limiter.close();
    }
    let mut round = 0;
    c.bench_function(&format!("port/{name}"), |bencher| {
        bencher.iter(|| {
            round += 1;
            if round % 1024 == 0 {
                now = SystemClock.now();
            }
            let charge = bench.charge(PolicyName::Default, mix(round) % keys);
            black_box(bench.decide(&[charge], now))
        });
    });
}

fn port(c: &mut Criterion) {
    let now = SystemClock.now();
    let bench = Bench::new(VAST);
    let hot = [bench.charge(PolicyName::Default, 1)];
    c.bench_function("port/hot_key", |bencher| {
        bencher.iter(|| black_box(bench.decide(&hot, now)));
    });
    let door = [hot[0], bench.charge(PolicyName::Ip, 1)];
    c.bench_function("port/door_two_policies", |bencher| {
        bencher.iter(|| black_box(bench.decide(&door, now)));
    });
    let bench = Bench::new((256, 60_000));
    let full = [bench.charge(PolicyName::Default, 1)];
    for offset_ms in 0..256 {
        assert!(bench.decide(&full, now.plus_ms(offset_ms)));
    }
    c.bench_function("port/refused", |bencher| {
        bencher.iter(|| black_box(bench.decide(&full, now.plus_ms(256))));
    });
    many_keys(c, "10k_keys", 10_000, true);
    many_keys(c, "1m_keys", 1_000_000, true);
    many_keys(c, "1m_keys_not_stored", 1_000_000, false);
}

/// Wall time for as many decisions on each of so many threads, each with a key of its own: with
/// two threads it should be what it is with one.
fn threads(c: &mut Criterion) {
    let now = SystemClock.now();
    for count in [1, 2] {
        let bench = Bench::new(VAST);
        let of = |index| bench.charge(PolicyName::Default, index);
        let charges: Vec<_> = (0..count).map(of).collect();
        c.bench_function(&format!("port/threads_{count}"), |bencher| {
            bencher.iter_custom(|rounds| run_threads(&bench, &charges, now, rounds));
        });
    }
}

fn run_threads(bench: &Bench, charges: &[Charge], now: Timestamp, rounds: u64) -> Duration {
    let start = Instant::now();
    thread::scope(|scope| {
        for charge in charges {
            scope.spawn(move || {
                for _ in 0..rounds {
                    black_box(bench.decide(std::slice::from_ref(charge), now));
                }
            });
        }
    });
    start.elapsed()
}

criterion_group!(benches, windows, port, threads);
criterion_main!(benches);
