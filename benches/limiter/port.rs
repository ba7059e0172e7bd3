//! One decision through the port, with sled behind it.

use std::hint::black_box;

use criterion::Criterion;
use landing_api::adapters::system::SystemClock;
use landing_api::domain::policy::PolicyName;
use landing_api::ports::Clock;

use crate::limiters::{Ours, VAST, mix};

pub(crate) fn bench(c: &mut Criterion) {
    let now = SystemClock.now();
    let ours = Ours::new(VAST);
    let hot = [ours.charge(PolicyName::Default, 1)];
    c.bench_function("port/hot_key", |bencher| {
        bencher.iter(|| black_box(ours.acquire(&hot, now)));
    });
    // What every request is charged.
    let door = [hot[0], ours.charge(PolicyName::Ip, 1)];
    c.bench_function("port/door_two_policies", |bencher| {
        bencher.iter(|| black_box(ours.acquire(&door, now)));
    });
    refused(c);
    table_alone(c);
}

fn refused(c: &mut Criterion) {
    let now = SystemClock.now();
    let ours = Ours::new((256, 60_000));
    let full = [ours.charge(PolicyName::Default, 1)];
    for offset_ms in 0..256 {
        assert!(ours.acquire(&full, now.plus_ms(offset_ms)));
    }
    c.bench_function("port/refused_256_marks", |bencher| {
        bencher.iter(|| black_box(ours.acquire(&full, now.plus_ms(256))));
    });
}

/// On a million windows the writer never rests, and takes its share of the cores: this tells that
/// from what the decisions themselves cost.
fn table_alone(c: &mut Criterion) {
    const KEYS: u64 = 1_000_000;
    // Set up only if it is asked for.
    let mut filled = None;
    let mut round = 0;
    c.bench_function("table/keys_1m_not_stored", |bencher| {
        let (ours, now) = filled.get_or_insert_with(|| {
            let ours = Ours::new(VAST);
            let now = SystemClock.now();
            for index in 0..KEYS {
                ours.acquire(&[ours.charge(PolicyName::Default, index)], now);
            }
            ours.limiter.close();
            (ours, now)
        });
        bencher.iter(|| {
            round += 1;
            if round % 1024 == 0 {
                *now = SystemClock.now();
            }
            let charge = ours.charge(PolicyName::Default, mix(round) % KEYS);
            black_box(ours.acquire(&[charge], *now))
        });
    });
}
