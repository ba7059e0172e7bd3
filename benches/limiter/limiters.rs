//! The limiters that are measured, behind one trait, each counting identities by number.

use std::num::NonZeroU32;
use std::sync::Arc;

use futures_util::FutureExt as _;
use governor::{DefaultKeyedRateLimiter, clock::Clock as _};
use landing_api::adapters::limiter::SledRateLimiter;
use landing_api::adapters::system::SystemClock;
use landing_api::domain::client::LimitKey;
use landing_api::domain::policy::{Policies, PolicyName, Quota};
use landing_api::domain::time::Timestamp;
use landing_api::domain::window::{Bucket, Window};
use landing_api::ports::{Charge, RateLimiter};
use tempfile::TempDir;

/// Never refuses within a bench.
pub(crate) const VAST: (u32, u64) = (1_000_000_000, 60_000);

pub(crate) fn quota((count, window_ms): (u32, u64)) -> Quota {
    Quota::new(count, window_ms).unwrap()
}

/// Splitmix64: bits as even as a hash's.
pub(crate) fn mix(index: u64) -> u64 {
    let mut bits = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The key of an identity. Its bytes are computed and not looked up: a table of a million keys
/// would cost as much as the limiter's.
pub(crate) fn key(policy: PolicyName, index: u64) -> LimitKey {
    let hash = (u128::from(mix(index)) << 64) | u128::from(mix(!index));
    let mut bytes = hash.to_be_bytes();
    bytes[0] = policy as u8;
    LimitKey::from_bytes(bytes)
}

/// Counts a request of an identity, and says whether it was admitted.
pub(crate) trait Limiter: Sync {
    fn decide(&self, index: u64, now: Timestamp) -> bool;
}

/// Ours, with its thread and its store, and policies of one quota.
pub(crate) struct Ours {
    pub(crate) limiter: SledRateLimiter,
    quota: Quota,
    _dir: TempDir,
}

impl Ours {
    pub(crate) fn new(per_key: (u32, u64)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let limiter = SledRateLimiter::open(
            &dir.path().join("windows"),
            &policies(per_key),
            Arc::new(SystemClock),
        );
        Self {
            limiter: limiter.unwrap(),
            quota: quota(per_key),
            _dir: dir,
        }
    }

    pub(crate) fn charge(&self, policy: PolicyName, index: u64) -> Charge<'static> {
        Charge {
            policy,
            quota: self.quota,
            key: key(policy, index),
            group: None,
        }
    }

    /// Whether the request was admitted.
    pub(crate) fn acquire(&self, charges: &[Charge<'_>], now: Timestamp) -> bool {
        acquire(&self.limiter, charges, now)
    }
}

impl Limiter for Ours {
    fn decide(&self, index: u64, now: Timestamp) -> bool {
        self.acquire(&[self.charge(PolicyName::Default, index)], now)
    }
}

/// Whether the request was admitted.
pub(crate) fn acquire(port: &dyn RateLimiter, charges: &[Charge<'_>], now: Timestamp) -> bool {
    // The engines in memory are ready at once.
    let answer = port.acquire(charges, now).now_or_never().unwrap();
    !answer.unwrap().decision.is_refused()
}

/// Every policy that a bench uses has this quota.
pub(crate) fn policies(per_key: (u32, u64)) -> Policies {
    let mut policies = Policies::default();
    policies.set(PolicyName::Default, Some(quota(per_key)));
    policies.set(PolicyName::Ip, Some(quota(per_key)));
    policies
}

/// governor with its usual table and clock. It keeps one instant for each key (GCRA), in memory.
pub(crate) struct Governor(DefaultKeyedRateLimiter<LimitKey>);

impl Governor {
    pub(crate) fn new((count, window_ms): (u32, u64)) -> Self {
        assert_eq!(window_ms, 60_000);
        let count = NonZeroU32::new(count).unwrap();
        Self(DefaultKeyedRateLimiter::keyed(governor::Quota::per_minute(
            count,
        )))
    }
}

impl Limiter for Governor {
    fn decide(&self, index: u64, _now: Timestamp) -> bool {
        match self.0.check_key(&key(PolicyName::Default, index)) {
            Ok(()) => true,
            // What an answer needs for `Retry-After`.
            Err(refused) => {
                refused.wait_time_from(self.0.clock().now());
                false
            }
        }
    }
}

/// Our window, read from sled and written back in each call.
pub(crate) struct DirectSled {
    db: sled::Db,
    quota: Quota,
    _dir: TempDir,
}

impl DirectSled {
    pub(crate) fn new(per_key: (u32, u64)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self {
            db: sled::open(dir.path()).unwrap(),
            quota: quota(per_key),
            _dir: dir,
        }
    }
}

impl Limiter for DirectSled {
    fn decide(&self, index: u64, now: Timestamp) -> bool {
        let mut is_admitted = false;
        let key = key(PolicyName::Default, index);
        let updated = self.db.update_and_fetch(key.as_bytes(), |stored| {
            let mut window = decode(stored.unwrap_or_default());
            is_admitted = window.admit(self.quota, now).is_ok();
            Some(encode(&window))
        });
        updated.unwrap();
        is_admitted
    }
}

fn encode(window: &Window) -> Vec<u8> {
    let bytes_of = |bucket: Bucket| -> [u8; 12] {
        let wide = (u128::from(bucket.newest.as_ms()) << 32) | u128::from(bucket.count);
        wide.to_be_bytes()[4..].try_into().unwrap()
    };
    window
        .buckets()
        .iter()
        .copied()
        .flat_map(bytes_of)
        .collect()
}

fn decode(bytes: &[u8]) -> Window {
    Window::from_buckets(bytes.chunks_exact(12).map(|bucket| {
        let (newest, count) = bucket.split_at(8);
        Bucket {
            newest: Timestamp::from_ms(u64::from_be_bytes(newest.try_into().unwrap())),
            count: u32::from_be_bytes(count.try_into().unwrap()),
        }
    }))
}
