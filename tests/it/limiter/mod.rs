//! The limiter over sled: restarts, bounds, damage and a failing store.

mod bounds;
mod damage;
mod failing_store;
mod guarded;
mod restart;

use landing_api::ports::Charge;

pub(crate) use crate::fixtures::copy_dir;
use crate::fixtures::{admit_each, peek};
use crate::prelude::*;

const QUOTA: &str = "3/60s";

/// More ticks than a sweep of the whole table takes, and until a store that failed is tried again.
const TICKS_PER_SWEEP: usize = 100;

struct Data(TempDir);

impl Data {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With the windows of these hosts, which have asked once, after a clean stop.
    async fn stopped(hosts: impl IntoIterator<Item = u32>) -> Self {
        let data = Self::new();
        admit_each(&data.open(QUOTA, START), QUOTA, hosts).await;
        data
    }

    fn windows(&self) -> PathBuf {
        self.0.path().join("windows")
    }

    fn entries(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    }

    fn open(&self, quota: &str, now: Timestamp) -> SledRateLimiter {
        self.open_with(quota, now, WINDOWS_MAX)
    }

    fn open_with(&self, quota: &str, now: Timestamp, windows_max: usize) -> SledRateLimiter {
        let store = Box::new(SledWindowStore::new(&self.windows()));
        let limiter = SledRateLimiter::without_thread(store, &policies(quota), now, windows_max);
        // As its thread does at once.
        limiter.tick(now);
        limiter
    }

    /// What a process leaves behind that is killed now.
    fn as_if_killed(&self) -> Self {
        let copy = Self::new();
        copy_dir(self.0.path(), copy.0.path());
        copy
    }
}

fn sweep(limiter: &SledRateLimiter, now: Timestamp) {
    for _ in 0..TICKS_PER_SWEEP {
        limiter.tick(now);
    }
}

async fn counted(limiter: &SledRateLimiter, charge: Charge<'_>, now: Timestamp) -> u32 {
    peek(limiter, charge, now).await.0
}
