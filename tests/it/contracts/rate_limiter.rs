//! What every [`RateLimiter`] must do.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use landing_api::adapters::limiter::{SledRateLimiter, SledWindowStore, TableLimits};
use landing_api::adapters::memory::MemoryRateLimiter;
use landing_api::domain::decision::Decision;
use landing_api::domain::policy::PolicyName;
use landing_api::domain::time::Timestamp;
use landing_api::ports::{Charge, Grant, RateLimiter};
use tempfile::TempDir;

use crate::fixtures::{START, acquire, charge, is_admitted, mac_key, peek, policies, ready, usage};

/// Every adapter, and the directory that one of them needs; the quotas they are used with must all
/// be `quota`.
pub(super) fn limiters(quota: &str) -> (TempDir, [Box<dyn RateLimiter>; 2]) {
    let dir = tempfile::tempdir().unwrap();
    let store = Box::new(SledWindowStore::new(&dir.path().join("windows")));
    let limits = TableLimits::default();
    let sled = SledRateLimiter::without_thread(store, mac_key(), &policies(quota), START, limits);
    let memory = MemoryRateLimiter::default();
    (dir, [Box::new(memory), Box::new(sled.unwrap())])
}

/// Runs `suite` on every adapter; the quotas it uses must all be `quota`.
fn check(quota: &str, suite: impl Fn(&dyn RateLimiter)) {
    let (_dir, limiters) = limiters(quota);
    for limiter in &limiters {
        suite(&**limiter);
    }
}

#[test]
fn all_policies_are_charged_or_none() {
    let quota = "2/60s";
    check(quota, |limiter| {
        let by_ip = charge(PolicyName::Ip, quota, 1);
        let by_other_ip = charge(PolicyName::Ip, quota, 2);
        let pair = charge(PolicyName::Newsletter, quota, 1);
        assert!(is_admitted(limiter, &[by_ip], START));
        assert!(is_admitted(limiter, &[by_ip, pair], START.plus_ms(1)));
        let full = START.plus_ms(10);
        for charges in [[by_ip, pair], [pair, by_ip]] {
            let refused = acquire(limiter, &charges, full);
            assert!(refused.decision.is_refused());
            assert!(refused.grant.entries.is_empty());
            let violated: Vec<_> = refused.decision.violated().map(|s| s.policy).collect();
            assert_eq!(violated, [PolicyName::Ip]);
            assert_eq!(usage(&refused.decision, PolicyName::Ip), (2, 59_990));
            assert_eq!(
                usage(&refused.decision, PolicyName::Newsletter),
                (1, 59_991)
            );
        }
        // Nothing of the refusals is left under the other policy: it has one place yet.
        assert!(is_admitted(limiter, &[by_other_ip, pair], full));
        assert!(!is_admitted(limiter, &[by_other_ip, pair], full));
        assert_eq!(peek(limiter, by_other_ip, full), (1, 60_000));
    });
}

#[test]
fn refusals_do_not_move_retry_after_later() {
    let quota = "3/60s";
    check(quota, |limiter| {
        let charge = charge(PolicyName::Keys, quota, 1);
        for offset_ms in [0, 5, 10] {
            assert!(is_admitted(limiter, &[charge], START.plus_ms(offset_ms)));
        }
        for offset_ms in 11..1000 {
            let refused = acquire(limiter, &[charge], START.plus_ms(offset_ms)).decision;
            assert_eq!(usage(&refused, PolicyName::Keys), (3, 60_000 - offset_ms));
        }
        assert!(!is_admitted(limiter, &[charge], START.plus_ms(59_999)));
        assert!(is_admitted(limiter, &[charge], START.plus_ms(60_000)));
        assert!(!is_admitted(limiter, &[charge], START.plus_ms(60_000)));
        assert!(is_admitted(limiter, &[charge], START.plus_ms(60_005)));
    });
}

#[test]
fn a_refund_gives_back_exactly_what_was_charged() {
    let quota = "3/60s";
    check(quota, |limiter| {
        let charges = [
            charge(PolicyName::Assistant, quota, 1),
            charge(PolicyName::AssistantIp, quota, 1),
        ];
        let first = acquire(limiter, &charges, START);
        assert_eq!(first.grant.entries.len(), 2);
        acquire(limiter, &charges[..1], START.plus_ms(7));
        let decision = ready(limiter.refund(first.grant, START.plus_ms(10)));
        assert_eq!(usage(&decision, PolicyName::Assistant), (1, 59_997));
        assert_eq!(usage(&decision, PolicyName::AssistantIp), (0, 60_000));
        assert_eq!(peek(limiter, charges[0], START.plus_ms(10)), (1, 59_997));
        // What has left the window is not given back a second time.
        let second = acquire(limiter, &charges[..1], START.plus_ms(20));
        acquire(limiter, &charges[..1], START.plus_ms(60_019));
        let decision = ready(limiter.refund(second.grant, START.plus_ms(60_020)));
        assert_eq!(usage(&decision, PolicyName::Assistant), (1, 59_999));
        let nothing = ready(limiter.refund(Grant::default(), START));
        assert_eq!(nothing, Decision::default());
    });
}

#[test]
fn a_refund_of_a_window_that_is_gone_does_nothing() {
    let quota = "3/60s";
    check(quota, |limiter| {
        let charge = charge(PolicyName::Assistant, quota, 1);
        let mut grant = Grant::default();
        grant.entries.push((charge, START));
        let decision = ready(limiter.refund(grant, START));
        assert_eq!(usage(&decision, PolicyName::Assistant), (0, 60_000));
    });
}

#[test]
fn peeking_charges_nothing() {
    let quota = "2/60s";
    check(quota, |limiter| {
        let charge = charge(PolicyName::Keys, quota, 1);
        for offset_ms in 0..1000 {
            assert_eq!(peek(limiter, charge, START.plus_ms(offset_ms)), (0, 60_000));
        }
        assert!(is_admitted(limiter, &[charge], START.plus_ms(1000)));
        for offset_ms in 1000..2000 {
            let counted = peek(limiter, charge, START.plus_ms(offset_ms));
            assert_eq!(counted, (1, 61_000 - offset_ms));
        }
        // A full window is no refusal for somebody who only looks.
        assert!(is_admitted(limiter, &[charge], START.plus_ms(2000)));
        assert!(!ready(limiter.peek(&[charge], START.plus_ms(2000))).is_refused());
    });
}

#[test]
fn standings_come_in_the_order_of_the_charges() {
    let quota = "2/60s";
    check(quota, |limiter| {
        let order = [
            PolicyName::Newsletter,
            PolicyName::Default,
            PolicyName::NewsletterIp,
            PolicyName::Ip,
            PolicyName::AssistantAll,
        ];
        let charges = order.map(|policy| charge(policy, quota, 1));
        let names = |decision: Decision| -> Vec<PolicyName> {
            decision.standings().iter().map(|s| s.policy).collect()
        };
        assert_eq!(names(ready(limiter.peek(&charges, START))), order);
        let acquired = acquire(limiter, &charges, START);
        assert_eq!(names(acquired.decision), order);
        assert_eq!(names(ready(limiter.refund(acquired.grant, START))), order);
        assert!(is_admitted(limiter, &charges, START));
        assert!(is_admitted(limiter, &charges, START));
        assert_eq!(names(acquire(limiter, &charges, START).decision), order);
        let none = acquire(limiter, &[], START);
        assert_eq!(none.decision, Decision::default());
    });
}

#[test]
fn sixty_four_threads_admit_exactly_the_limit() {
    for (quota, limit) in [("100/60s", 100), ("1000/60s", 1000)] {
        check(quota, |limiter| {
            let shared = charge(PolicyName::Ip, quota, 0);
            assert_eq!(stampede(limiter, |_| vec![shared]), limit, "{quota}");
            // With a second policy that never refuses.
            let shared = charge(PolicyName::Default, quota, 0);
            let own = |thread| charge(PolicyName::Newsletter, quota, thread);
            let admitted = stampede(limiter, |thread| vec![own(thread), shared]);
            assert_eq!(admitted, limit, "{quota}");
            let counted_alone: u32 = (0..64).map(|t| peek(limiter, own(t), START).0).sum();
            assert_eq!(counted_alone, limit, "{quota}");
            // Two orders of the same two windows: nobody waits for ever.
            let pair = [
                charge(PolicyName::Keys, quota, 1),
                charge(PolicyName::Agents, quota, 2),
            ];
            let admitted = stampede(limiter, |thread| {
                let [a, b] = pair;
                if thread % 2 == 0 {
                    vec![a, b]
                } else {
                    vec![b, a]
                }
            });
            assert_eq!(admitted, limit, "{quota}");
        });
    }
}

/// 64 threads, 200 tries each, reading a clock that is up to 3 ms early or late; says how many
/// tries were admitted.
fn stampede(limiter: &dyn RateLimiter, charges: impl Fn(u32) -> Vec<Charge> + Sync) -> u32 {
    let admitted = AtomicU32::new(0);
    let barrier = Barrier::new(64);
    thread::scope(|scope| {
        for index in 0..64 {
            let (admitted, barrier, charges) = (&admitted, &barrier, charges(index));
            scope.spawn(move || {
                barrier.wait();
                for attempt in 0..200 {
                    let now = START.plus_ms(u64::from((index + attempt) % 4));
                    if is_admitted(limiter, &charges, now) {
                        admitted.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    admitted.into_inner()
}

#[test]
fn a_thread_that_comes_late_moves_no_mark() {
    let quota = "2/60s";
    check(quota, |limiter| {
        let charge = charge(PolicyName::Ip, quota, 1);
        assert!(is_admitted(limiter, &[charge], START.plus_ms(100)));
        let late = acquire(limiter, &[charge], START);
        assert_eq!(late.grant.entries[0].1, START.plus_ms(100));
        assert!(!is_admitted(limiter, &[charge], START.plus_ms(60_099)));
        assert!(is_admitted(limiter, &[charge], START.plus_ms(60_100)));
        // What it was charged it gets back.
        assert!(is_admitted(limiter, &[charge], START.plus_ms(60_100)));
        let later = START.plus_ms(200_000);
        acquire(limiter, &[charge], later);
        let late = acquire(limiter, &[charge], Timestamp::from_ms(later.as_ms() - 50));
        let now = Timestamp::from_ms(later.as_ms() - 40);
        let decision = ready(limiter.refund(late.grant, now));
        assert_eq!(usage(&decision, PolicyName::Ip).0, 1);
    });
}

#[test]
fn nobody_waits_longer_than_one_window_when_the_clock_was_set_back() {
    let quota = "2/60s";
    for back_ms in [101, 60_000, 3_600_000, START.as_ms()] {
        check(quota, |limiter| {
            let charge = charge(PolicyName::Ip, quota, 1);
            assert!(is_admitted(limiter, &[charge], START));
            assert!(is_admitted(limiter, &[charge], START));
            let now = Timestamp::from_ms(START.as_ms() - back_ms);
            let refused = acquire(limiter, &[charge], now).decision;
            assert_eq!(usage(&refused, PolicyName::Ip), (2, 60_000), "{back_ms}");
            assert!(!is_admitted(limiter, &[charge], now.plus_ms(59_999)));
            assert!(is_admitted(limiter, &[charge], now.plus_ms(60_000)));
        });
    }
}
