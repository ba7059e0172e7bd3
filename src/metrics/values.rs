//! Counters, distributions and latest values.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn increase(&self) {
        self.add(1);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Relaxed);
    }
}

/// The newest of some values, if there was one.
pub type Latest<T> = Mutex<Option<T>>;

/// Upper bounds of durations, in microseconds.
const BOUNDS_US: [u64; 14] = [
    50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 100_000, 500_000, 2_500_000, 10_000_000,
    60_000_000,
];

/// The distribution of a duration.
#[derive(Debug, Default)]
pub struct Histogram {
    /// One more than there are bounds: the last bucket is unbounded.
    buckets: [Counter; BOUNDS_US.len() + 1],
    /// Their sum in microseconds.
    pub sum_us: Counter,
}

impl Histogram {
    pub fn record(&self, duration: Duration) {
        let value_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let index = BOUNDS_US.iter().take_while(|max| **max < value_us).count();
        if let Some(bucket) = self.buckets.get(index) {
            bucket.increase();
        }
        self.sum_us.add(value_us);
    }

    /// The number of durations in each bucket and its upper bound in microseconds, which the last one lacks. Each
    /// duration counts in one bucket only.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let bounds = BOUNDS_US.into_iter().map(Some).chain([None]);
        bounds.zip(self.buckets.iter().map(Counter::get))
    }
}
