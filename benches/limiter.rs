//! What one limiter decision costs, in nanoseconds: the rule alone, on one window; a decision through the port, with
//! sled behind it; and the headers of the response.
//!
//! `cargo bench --bench limiter`
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a measurement prints, divides, and reads the clock"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use landing_api::adapters::limiter::SledRateLimiter;
use landing_api::adapters::system::SystemClock;
use landing_api::domain::client::LimitKey;
use landing_api::domain::decision::{Decision, Standing};
use landing_api::domain::policy::{Policies, PolicyName, Quota};
use landing_api::domain::time::Timestamp;
use landing_api::domain::window::{Usage, Window};
use landing_api::http::answer::ratelimit::RateLimitHeaders;
use landing_api::ports::{Charge, Clock as _, RateLimiter as _};
use tempfile::TempDir;

const SAMPLES: usize = 31;
const SAMPLE: Duration = Duration::from_millis(50);

fn main() {
    windows();
    decisions();
    let door = [PolicyName::Default, PolicyName::Ip];
    for (name, counted) in [
        ("admitted", 5),
        ("refused", door[0].default_quota().count()),
    ] {
        let headers = RateLimitHeaders::new(&Policies::default());
        let decision = decision(&door, counted);
        let binding = decision.binding().unwrap();
        measure(&format!("headers, {name}"), || {
            headers.values(binding, &decision, |value| drop(black_box(value)));
        });
    }
}

/// Prints the median of how long `work` takes.
fn measure<T>(name: &str, mut work: impl FnMut() -> T) {
    let mut sample = |rounds: u32| {
        let began = Instant::now();
        for _ in 0..rounds {
            black_box(work());
        }
        began.elapsed()
    };
    let mut rounds = 1;
    while sample(rounds) < SAMPLE {
        rounds *= 2;
    }
    let mut samples: Vec<_> = (0..SAMPLES).map(|_| sample(rounds)).collect();
    samples.sort_unstable();
    let each_ns = samples[SAMPLES / 2].as_nanos() as f64 / f64::from(rounds);
    println!("{name:<40} {each_ns:>9.1} ns");
}

/// One decision on one window, as time goes on.
fn windows() {
    let exact = Quota::new(256, 60_000).unwrap();
    // As fast as a full window lets them in.
    let every_ms = 60_000 / 256 + 1;
    for (name, quota, admissions, step_ms) in [
        ("empty", exact, 0, exact.window_ms()),
        ("half full", exact, 128, 2 * every_ms),
        ("full, refused", exact, 255, 0),
        ("full, sliding", exact, 255, every_ms),
        ("slots", Quota::new(600, 60_000).unwrap(), 590, 101),
    ] {
        let mut window = Window::default();
        let mut now = Timestamp::from_ms(1_800_000_000_000);
        for _ in 0..admissions {
            now = now.plus_ms(quota.window_ms() / u64::from(quota.count()) + 1);
            window.admit(quota, now).unwrap();
        }
        measure(&format!("window, {name}"), || {
            now = now.plus_ms(step_ms);
            window.admit(quota, now)
        });
    }
}

/// The limiter with its thread and its store.
struct Limiter {
    limiter: SledRateLimiter,
    quota: Quota,
    _dir: TempDir,
}

impl Limiter {
    /// Every policy that is used here has this quota.
    fn new(count: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let quota = Quota::new(count, 60_000).unwrap();
        let mut policies = Policies::default();
        policies.set(PolicyName::Default, Some(quota));
        policies.set(PolicyName::Ip, Some(quota));
        let windows = dir.path().join("windows");
        let limiter = SledRateLimiter::open(&windows, &policies, Arc::new(SystemClock));
        Self {
            limiter: limiter.unwrap(),
            quota,
            _dir: dir,
        }
    }

    fn charge(&self, policy: PolicyName, index: u64) -> Charge<'static> {
        // Computed and not looked up: a table of a million keys would cost as much as the limiter's.
        let hash = (u128::from(mix(index)) << 64) | u128::from(mix(!index));
        let mut bytes = hash.to_be_bytes();
        bytes[0] = policy.tag();
        Charge {
            policy,
            quota: self.quota,
            key: LimitKey::from_bytes(bytes),
            group: None,
        }
    }

    /// Whether the request was admitted.
    fn acquire(&self, charges: &[Charge<'_>], now: Timestamp) -> bool {
        // The engine in memory is ready at once.
        let answer = self.limiter.acquire(charges, now).now_or_never().unwrap();
        !answer.unwrap().decision.is_refused()
    }
}

/// Splitmix64: bits as even as a hash's.
fn mix(index: u64) -> u64 {
    let mut bits = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn decisions() {
    let now = SystemClock.now();
    let limiter = Limiter::new(1_000_000_000);
    let hot = [limiter.charge(PolicyName::Default, 1)];
    measure("decision, one key", || limiter.acquire(&hot, now));
    // What every request is charged.
    let door = [hot[0], limiter.charge(PolicyName::Ip, 1)];
    measure("decision, two policies", || limiter.acquire(&door, now));
    let full = Limiter::new(256);
    let charge = [full.charge(PolicyName::Default, 1)];
    while full.acquire(&charge, now) {}
    measure("decision, refused", || full.acquire(&charge, now));
    for (name, keys) in [("10,000 keys", 10_000), ("1,000,000 keys", 1_000_000)] {
        let mut round = 0;
        measure(&format!("decision, {name}"), || {
            round += 1;
            let charge = limiter.charge(PolicyName::Default, mix(round) % keys);
            // The clock is read once a request.
            limiter.acquire(&[charge], SystemClock.now())
        });
    }
}

fn decision(policies: &[PolicyName], counted: u32) -> Decision {
    let mut decision = Decision::default();
    for &policy in policies {
        let quota = policy.default_quota();
        decision.push(Standing {
            policy,
            quota,
            usage: Usage {
                counted,
                reset_ms: 59_001,
            },
            is_violated: counted >= quota.count(),
        });
    }
    decision
}
