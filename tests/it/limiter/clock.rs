//! What follows from trusting the caller's clock: threads that arrive late, and a clock that is set
//! back.

use landing_api::domain::policy::PolicyName;
use landing_api::domain::time::Timestamp;
use landing_api::ports::RateLimiter;

use super::Data;
use crate::fixtures::{START, acquire, charge, is_admitted, refund, usage};

async fn check(quota: &str, suite: impl AsyncFn(&dyn RateLimiter)) {
    let data = Data::new();
    suite(&data.open(quota, START)).await;
}

#[tokio::test]
async fn a_late_arrival_moves_no_admission() {
    let quota = "2/60s";
    check(quota, async |limiter| {
        let charge = charge(PolicyName::Ip, quota, 1);
        assert!(is_admitted(limiter, &[charge], START.plus_ms(100)).await);
        assert!(is_admitted(limiter, &[charge], START).await);
        assert!(!is_admitted(limiter, &[charge], START.plus_ms(60_099)).await);
        assert!(is_admitted(limiter, &[charge], START.plus_ms(60_100)).await);
        // It was recorded at the newest admission too.
        assert!(is_admitted(limiter, &[charge], START.plus_ms(60_100)).await);
        // It is refunded what it was charged.
        let later = START.plus_ms(200_000);
        acquire(limiter, &[charge], later).await;
        let before_ms = |ms| Timestamp::from_ms(later.as_ms() - ms);
        let late = acquire(limiter, &[charge], before_ms(50)).await;
        let decision = refund(limiter, late.receipt, before_ms(40)).await;
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
            assert!(is_admitted(limiter, &[charge], START).await);
            assert!(is_admitted(limiter, &[charge], START).await);
            let now = Timestamp::from_ms(START.as_ms() - back_ms);
            let refused = acquire(limiter, &[charge], now).await.decision;
            assert_eq!(usage(&refused, PolicyName::Ip), (2, 60_000), "{back_ms}");
            assert!(!is_admitted(limiter, &[charge], now.plus_ms(59_999)).await);
            assert!(is_admitted(limiter, &[charge], now.plus_ms(60_000)).await);
        })
        .await;
    }
}
