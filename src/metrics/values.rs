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
#[derive(Debug)]
pub struct Latest<T>(Mutex<Option<T>>);

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> Latest<T> {
    pub fn get(&self) -> Option<T> {
        self.0.lock().clone()
    }

    pub fn set(&self, value: T) {
        *self.0.lock() = Some(value);
    }

    /// Drops it if `is_over`.
    pub fn drop_if(&self, is_over: impl FnOnce(&T) -> bool) {
        self.0.lock().take_if(|value| is_over(value));
    }
}

/// The distribution of a whole number.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One more than there are bounds: the last bucket is unbounded.
    buckets: Box<[Counter]>,
    sum: Counter,
}

impl Histogram {
    pub(super) fn new(bounds: &'static [u64]) -> Self {
        Self {
            bounds,
            buckets: (0..=bounds.len()).map(|_| Counter::default()).collect(),
            sum: Counter::default(),
        }
    }

    pub(super) fn record(&self, value: u64) {
        let index = self.bounds.iter().take_while(|max| **max < value).count();
        if let Some(bucket) = self.buckets.get(index) {
            bucket.increase();
        }
        self.sum.add(value);
    }

    pub(super) fn record_duration(&self, duration: Duration) {
        self.record(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
    }

    /// The number of values in each bucket and its upper bound, which the last one lacks. Each value counts
    /// in one bucket only.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        bounds.zip(self.buckets.iter().map(Counter::get))
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.buckets().map(|(_, count)| count).sum()
    }

    /// The sum of the values.
    pub fn sum(&self) -> u64 {
        self.sum.get()
    }
}
