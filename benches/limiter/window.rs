//! One decision on one window, as time goes on.

use std::hint::black_box;

use criterion::Criterion;
use landing_api::domain::policy::Quota;
use landing_api::domain::time::Timestamp;
use landing_api::domain::window::Window;

use crate::limiters::quota;

pub(crate) fn bench(c: &mut Criterion) {
    let exact = quota((256, 60_000));
    // As fast as a full window lets them in.
    let every_ms = 60_000 / 256 + 1;
    window(c, "empty", exact, 0, exact.window_ms());
    window(c, "half", exact, 128, 2 * every_ms);
    window(c, "full_refused", exact, 255, 0);
    window(c, "full_sliding", exact, 255, every_ms);
    window(c, "slots", quota((600, 60_000)), 590, 101);
}

/// The window has been filled evenly by `admissions`; each decision comes `step_ms` later.
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
