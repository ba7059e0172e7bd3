//! What every [`RateLimiter`] must do.
//!
//! An engine with a clock of its own has it set to `now` before each call.

use std::sync::Arc;

use landing_api::domain::client::LimitKey;
use landing_api::domain::decision::Decision;
use landing_api::domain::policy::PolicyName;
use landing_api::domain::time::Timestamp;
use landing_api::ports::{Admission, Charge, RateLimiter, Receipt, WindowSet};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::limiters::limiters;
use crate::fixtures::{START, acquire, admitted, charge, is_admitted, peek, refund, usage};

/// Runs `suite` on every adapter. Its charges must all have `quota`.
async fn check(quota: &str, suite: impl AsyncFn(&dyn RateLimiter)) {
    let (_dir, limiters) = limiters(quota).await;
    for limiter in &limiters {
        suite(&**limiter).await;
        assert_eq!(limiter.check(), Ok(()));
    }
}

#[tokio::test]
async fn all_policies_are_charged_or_none() {
    let quota = "2/60s";
    check(quota, async |limiter| {
        let by_ip = charge(PolicyName::Ip, quota, 1);
        let by_other_ip = charge(PolicyName::Ip, quota, 2);
        let pair = charge(PolicyName::Newsletter, quota, 1);
        assert!(is_admitted(limiter, &[by_ip], START).await);
        assert!(is_admitted(limiter, &[by_ip, pair], START.plus_ms(1)).await);
        let full = START.plus_ms(10);
        for charges in [[by_ip, pair], [pair, by_ip]] {
            let refused = acquire(limiter, &charges, full).await;
            assert!(refused.decision.is_refused());
            assert!(refused.receipt.is_empty());
            let violated: Vec<_> = refused.decision.violated().map(|s| s.policy).collect();
            assert_eq!(violated, [PolicyName::Ip]);
            assert_eq!(usage(&refused.decision, PolicyName::Ip), (2, 59_990));
            let usage_of_pair = usage(&refused.decision, PolicyName::Newsletter);
            assert_eq!(usage_of_pair, (1, 59_991));
        }
        // The refusals left nothing under the other policy: it has one place left.
        assert!(is_admitted(limiter, &[by_other_ip, pair], full).await);
        assert!(!is_admitted(limiter, &[by_other_ip, pair], full).await);
        assert_eq!(peek(limiter, by_other_ip, full).await, (1, 60_000));
    })
    .await;
}

#[tokio::test]
async fn a_decision_without_waiting_is_the_same_decision() {
    let quota = "2/60s";
    check(quota, async |limiter| {
        let charge = charge(PolicyName::Ip, quota, 1);
        let mut admission = Admission::default();
        if !limiter.acquire_now(&[charge], START, &mut admission) {
            assert_eq!(peek(limiter, charge, START).await.0, 0);
            return;
        }
        assert_eq!(usage(&admission.decision, PolicyName::Ip), (1, 60_000));
        assert!(is_admitted(limiter, &[charge], START).await);
        let mut refused = Admission::default();
        assert!(limiter.acquire_now(&[charge], START, &mut refused));
        assert!(refused.decision.is_refused() && refused.receipt.is_empty());
        refund(limiter, admission.receipt, START).await;
        assert_eq!(peek(limiter, charge, START).await.0, 1);
    })
    .await;
}

#[tokio::test]
async fn refusals_do_not_move_retry_after_later() {
    let quota = "3/60s";
    check(quota, async |limiter| {
        let charge = charge(PolicyName::Keys, quota, 1);
        for offset_ms in [0, 5, 10] {
            assert!(is_admitted(limiter, &[charge], START.plus_ms(offset_ms)).await);
        }
        for offset_ms in 11..1000 {
            let refused = acquire(limiter, &[charge], START.plus_ms(offset_ms)).await;
            let usage = usage(&refused.decision, PolicyName::Keys);
            assert_eq!(usage, (3, 60_000 - offset_ms));
        }
        assert!(!is_admitted(limiter, &[charge], START.plus_ms(59_999)).await);
        assert!(is_admitted(limiter, &[charge], START.plus_ms(60_000)).await);
        assert!(!is_admitted(limiter, &[charge], START.plus_ms(60_000)).await);
        assert!(is_admitted(limiter, &[charge], START.plus_ms(60_005)).await);
    })
    .await;
}

#[tokio::test]
async fn a_refund_gives_back_exactly_what_was_charged() {
    let quota = "3/60s";
    check(quota, async |limiter| {
        let charges = [
            charge(PolicyName::Assistant, quota, 1),
            charge(PolicyName::AssistantIp, quota, 1),
        ];
        let first = acquire(limiter, &charges, START).await;
        acquire(limiter, &charges[..1], START.plus_ms(7)).await;
        let now = START.plus_ms(10);
        // A part of a receipt refunds that part.
        let is_of_ip = |policy| policy == PolicyName::AssistantIp;
        let decision = refund(limiter, first.receipt.clone().only(is_of_ip), now).await;
        assert_eq!(usage(&decision, PolicyName::AssistantIp), (0, 60_000));
        assert_eq!(decision.standings().len(), 1);
        assert_eq!(peek(limiter, charges[0], now).await, (2, 59_990));
        let is_visitors = |policy| policy == PolicyName::Assistant;
        let decision = refund(limiter, first.receipt.only(is_visitors), now).await;
        assert_eq!(usage(&decision, PolicyName::Assistant), (1, 59_997));
        assert_eq!(peek(limiter, charges[0], now).await, (1, 59_997));
        assert_eq!(peek(limiter, charges[1], now).await, (0, 60_000));
        // An expired admission is not given back a second time.
        let second = acquire(limiter, &charges[..1], START.plus_ms(20)).await;
        acquire(limiter, &charges[..1], START.plus_ms(60_019)).await;
        let decision = refund(limiter, second.receipt, START.plus_ms(60_020)).await;
        assert_eq!(usage(&decision, PolicyName::Assistant), (1, 59_999));
        let nothing = refund(limiter, Receipt::default(), START).await;
        assert_eq!(nothing, Decision::default());
    })
    .await;
}

#[tokio::test]
async fn what_a_late_arrival_is_refunded_is_what_it_was_charged() {
    let quota = "2/60s";
    check(quota, async |limiter| {
        let charge = charge(PolicyName::Ip, quota, 1);
        acquire(limiter, &[charge], START.plus_ms(50)).await;
        let late = acquire(limiter, &[charge], START).await;
        let decision = refund(limiter, late.receipt, START.plus_ms(10)).await;
        assert_eq!(usage(&decision, PolicyName::Ip).0, 1);
    })
    .await;
}

#[tokio::test]
async fn nobody_waits_longer_than_one_window_when_the_clock_was_set_back() {
    let quota = "2/60s";
    for back_ms in [101, 60_000, 3_600_000, START.as_ms()] {
        check(quota, async |limiter| {
            let charge = charge(PolicyName::Ip, quota, 1);
            assert_eq!(admitted(limiter, &[charge], START, 2).await, 2);
            let now = Timestamp::from_ms(START.as_ms() - back_ms);
            let refused = acquire(limiter, &[charge], now).await.decision;
            assert_eq!(usage(&refused, PolicyName::Ip), (2, 60_000), "{back_ms}");
            assert!(!is_admitted(limiter, &[charge], now.plus_ms(59_999)).await);
            assert!(is_admitted(limiter, &[charge], now.plus_ms(60_000)).await);
        })
        .await;
    }
}

#[tokio::test]
async fn of_two_admissions_at_one_instant_a_refund_removes_one_until_they_expire() {
    let quota = "3/60s";
    check(quota, async |limiter| {
        let charge = charge(PolicyName::Assistant, quota, 1);
        let first = acquire(limiter, &[charge], START).await;
        let second = acquire(limiter, &[charge], START).await;
        let third = acquire(limiter, &[charge], START).await;
        for (admission, now, left) in [
            (first, START, (2, 60_000)),
            (second, START.plus_ms(1), (1, 59_999)),
            (third, START.plus_ms(60_000), (0, 60_000)),
        ] {
            let decision = refund(limiter, admission.receipt, now).await;
            assert_eq!(usage(&decision, PolicyName::Assistant), left);
        }
    })
    .await;
}

#[tokio::test]
async fn peeking_charges_nothing() {
    let quota = "2/60s";
    check(quota, async |limiter| {
        let charge = charge(PolicyName::Keys, quota, 1);
        for offset_ms in 0..1000 {
            let now = START.plus_ms(offset_ms);
            assert_eq!(peek(limiter, charge, now).await, (0, 60_000));
        }
        assert!(is_admitted(limiter, &[charge], START.plus_ms(1000)).await);
        for offset_ms in 1000..2000 {
            let counted = peek(limiter, charge, START.plus_ms(offset_ms)).await;
            assert_eq!(counted, (1, 61_000 - offset_ms));
        }
        // A full window is no violation for a caller that only peeks.
        assert!(is_admitted(limiter, &[charge], START.plus_ms(2000)).await);
        let decision = limiter.peek(&[charge], START.plus_ms(2000)).await.unwrap();
        assert!(!decision.is_refused());
    })
    .await;
}

#[tokio::test]
async fn standings_come_in_the_order_of_the_charges() {
    let quota = "2/60s";
    check(quota, async |limiter| {
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
        let peeked = limiter.peek(&charges, START).await.unwrap();
        assert_eq!(names(peeked), order);
        let admission = acquire(limiter, &charges, START).await;
        assert_eq!(names(admission.decision), order);
        let refunded = refund(limiter, admission.receipt, START).await;
        assert_eq!(names(refunded), order);
        assert!(is_admitted(limiter, &charges, START).await);
        assert!(is_admitted(limiter, &charges, START).await);
        let refused = acquire(limiter, &charges, START).await;
        assert_eq!(names(refused.decision), order);
        let none = acquire(limiter, &[], START).await;
        assert_eq!(none.decision, Decision::default());
    })
    .await;
}

async fn busiest(
    limiter: &dyn RateLimiter,
    policy: PolicyName,
    quota: &str,
    most: usize,
    now: Timestamp,
) -> Vec<(LimitKey, u32)> {
    let quota = quota.parse().unwrap();
    let windows = limiter.busiest(policy, quota, most, now).await.unwrap();
    windows
        .iter()
        .map(|it| (it.key, it.usage.counted))
        .collect()
}

#[tokio::test]
async fn the_busiest_windows_come_first_and_idle_ones_not_at_all() {
    let quota = "9/60s";
    check(quota, async |limiter| {
        let by_ip = |host| charge(PolicyName::Ip, quota, host);
        let none = busiest(limiter, PolicyName::Ip, quota, 10, START).await;
        assert_eq!(none, []);
        for (host, times) in [(1, 2), (2, 9), (3, 1), (4, 5)] {
            assert_eq!(admitted(limiter, &[by_ip(host)], START, times).await, times);
        }
        let other = charge(PolicyName::Keys, quota, 2);
        acquire(limiter, &[other], START).await;
        let key = |host| by_ip(host).key;
        let all = [(key(2), 9), (key(4), 5), (key(1), 2), (key(3), 1)];
        for most in [0, 1, 3, 4, 100] {
            let found = busiest(limiter, PolicyName::Ip, quota, most, START).await;
            assert_eq!(found, all[..most.min(4)]);
        }
        let found = busiest(limiter, PolicyName::Keys, quota, 10, START).await;
        assert_eq!(found, [(other.key, 1)]);
        // A refunded charge and an expired one do not count.
        let later = START.plus_ms(59_999);
        let admission = acquire(limiter, &[by_ip(5)], later).await;
        refund(limiter, admission.receipt, later).await;
        acquire(limiter, &[by_ip(3)], later).await;
        let end = START.plus_ms(60_000);
        let found = busiest(limiter, PolicyName::Ip, quota, 10, end).await;
        assert_eq!(found, [(key(3), 1)]);
        let first = limiter.busiest(PolicyName::Ip, by_ip(3).quota, 1, end);
        assert_eq!(first.await.unwrap()[0].usage.reset_ms, 59_999);
    })
    .await;
}

#[tokio::test]
async fn a_reset_forgets_what_it_names_and_nothing_else() {
    let quota = "2/60s";
    check(quota, async |limiter| {
        let by_ip = |host| charge(PolicyName::Ip, quota, host);
        let by_key = |host| charge(PolicyName::Keys, quota, host);
        let fill = async || {
            for host in 1..=20 {
                while is_admitted(limiter, &[by_ip(host)], START).await {}
                while is_admitted(limiter, &[by_key(host)], START).await {}
            }
        };
        let counted = async |charge: Charge<'_>| peek(limiter, charge, START).await.0;
        let nothing = limiter.reset(WindowSet::All).await.unwrap();
        assert_eq!(nothing, 0);
        fill().await;
        let one = WindowSet::Window(by_ip(1).key);
        assert_eq!(limiter.reset(one).await.unwrap(), 1);
        assert_eq!(limiter.reset(one).await.unwrap(), 0);
        assert_eq!(counted(by_ip(1)).await, 0);
        assert_eq!(counted(by_key(1)).await, 2);
        assert_eq!(counted(by_ip(2)).await, 2);
        assert!(is_admitted(limiter, &[by_ip(1)], START).await);
        let policy = WindowSet::Policy(PolicyName::Ip);
        assert_eq!(limiter.reset(policy).await.unwrap(), 20);
        assert_eq!(counted(by_ip(2)).await, 0);
        assert_eq!(counted(by_key(2)).await, 2);
        fill().await;
        assert_eq!(limiter.reset(WindowSet::All).await.unwrap(), 40);
        assert_eq!(counted(by_ip(2)).await + counted(by_key(2)).await, 0);
        // A refund of what was forgotten gives nothing back.
        let admission = acquire(limiter, &[by_ip(1)], START).await;
        limiter.reset(WindowSet::All).await.unwrap();
        acquire(limiter, &[by_ip(1)], START.plus_ms(1)).await;
        refund(limiter, admission.receipt, START.plus_ms(1)).await;
        assert_eq!(peek(limiter, by_ip(1), START.plus_ms(1)).await.0, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 64)]
async fn sixty_four_threads_admit_exactly_the_limit() {
    for (quota, limit) in [("100/60s", 100), ("1000/60s", 1000)] {
        let (_dir, limiters) = limiters(quota).await;
        for limiter in &limiters {
            let shared = charge(PolicyName::Ip, quota, 0);
            assert_eq!(stampede(limiter, |_| vec![shared]).await, limit, "{quota}");
            // With a second policy that never refuses.
            let shared = charge(PolicyName::Default, quota, 0);
            let own = |task| charge(PolicyName::Newsletter, quota, task);
            let admitted = stampede(limiter, |task| vec![own(task), shared]).await;
            assert_eq!(admitted, limit, "{quota}");
            let mut counted_alone = 0;
            for task in 0..64 {
                counted_alone += peek(&**limiter, own(task), START).await.0;
            }
            assert_eq!(counted_alone, limit, "{quota}");
            // Two orders of the same two windows: no deadlock.
            let a = charge(PolicyName::Keys, quota, 1);
            let b = charge(PolicyName::Agents, quota, 2);
            let admitted = stampede(limiter, |task| match task % 2 {
                0 => vec![a, b],
                _ => vec![b, a],
            })
            .await;
            assert_eq!(admitted, limit, "{quota}");
        }
    }
}

/// 64 tasks with a thread each, 200 tries each, at instants that differ by up to 3 ms. Returns the
/// number of tries that were admitted.
async fn stampede(
    limiter: &Arc<dyn RateLimiter>,
    charges: impl Fn(u32) -> Vec<Charge<'static>>,
) -> u32 {
    let barrier = Arc::new(Barrier::new(64));
    let mut tasks = JoinSet::new();
    for index in 0..64 {
        let (limiter, barrier, charges) =
            (Arc::clone(limiter), Arc::clone(&barrier), charges(index));
        tasks.spawn(async move {
            barrier.wait().await;
            let mut admitted = 0;
            for attempt in 0..200 {
                let now = START.plus_ms(u64::from((index + attempt) % 4));
                admitted += u32::from(is_admitted(&*limiter, &charges, now).await);
            }
            admitted
        });
    }
    tasks.join_all().await.into_iter().sum()
}
