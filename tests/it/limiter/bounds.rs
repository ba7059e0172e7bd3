//! What the limiter keeps at most, and for how long.

use landing_api::ports::{Charge, RateLimiter as _};

use super::{Data, QUOTA, counted, sweep};
use crate::fixtures::{acquire, admit_each, refund, usage};
use crate::prelude::*;

#[tokio::test]
async fn the_sweep_leaves_nothing_of_expired_windows() {
    let data = Data::new();
    let limiter = data.open(QUOTA, START);
    for host in 0..3000 {
        let charges = [
            charge(PolicyName::Default, QUOTA, host),
            charge(PolicyName::Ip, QUOTA, host),
        ];
        assert!(is_admitted(&limiter, &charges, START).await);
    }
    limiter.tick(START);
    let expired = START.plus_ms(60_000);
    // Some are never written, as they are gone before the next tick.
    for host in 3000..3100 {
        let by_ip = charge(PolicyName::Ip, QUOTA, host);
        assert!(is_admitted(&limiter, &[by_ip], START.plus_ms(1)).await);
    }
    sweep(&limiter, START.plus_ms(59_999));
    assert_eq!((limiter.windows(), limiter.stored()), (6100, 6100));
    sweep(&limiter, expired);
    assert_eq!((limiter.windows(), limiter.stored()), (100, 100));
    sweep(&limiter, expired.plus_ms(1));
    assert_eq!((limiter.windows(), limiter.stored()), (0, 0));
    limiter.close();
    drop(limiter);
    assert_eq!(data.open(QUOTA, START).windows(), 0);
}

#[tokio::test]
async fn the_sweep_settles_windows_that_a_clock_set_back_left_in_the_future() {
    let data = Data::new();
    let limiter = data.open(QUOTA, START);
    admit_each(&limiter, QUOTA, [1]).await;
    let now = Timestamp::from_ms(START.as_ms() - 86_400_000);
    sweep(&limiter, now);
    sweep(&limiter, now.plus_ms(59_999));
    assert_eq!(limiter.windows(), 1);
    sweep(&limiter, now.plus_ms(60_000));
    assert_eq!(limiter.windows(), 0);
}

#[tokio::test]
async fn newcomers_share_windows_while_the_table_is_full() {
    let data = Data::new();
    let limiter = data.open_with(QUOTA, START, 16);
    let by_ip = |host| charge(PolicyName::Ip, QUOTA, host);
    admit_each(&limiter, QUOTA, 0..16).await;
    // Two neighbours share one window; what the receipt names is that one.
    let first = acquire(&limiter, &[by_ip(100)], START).await.receipt;
    let second = acquire(&limiter, &[by_ip(101)], START).await.receipt;
    let shared = first.entries[0].charge.key;
    assert_ne!(shared, by_ip(100).key);
    assert_eq!(shared, second.entries[0].charge.key);
    assert_eq!(counted(&limiter, by_ip(102), START).await, 2);
    refund(&limiter, second, START).await;
    assert_eq!(counted(&limiter, by_ip(102), START).await, 1);
    // The reserve holds one shared window: every other network is in the overflow.
    admit_each(&limiter, QUOTA, [0x1_0000, 0x2_0000, 0x3_0000]).await;
    assert!(!is_admitted(&limiter, &[by_ip(0x4_0000)], START).await);
    assert_eq!(limiter.windows(), 18);
    // Those who were there keep theirs, and what is never shared gets its own.
    assert_eq!(counted(&limiter, by_ip(0), START).await, 1);
    let everyone = Charge {
        group: None,
        ..charge(PolicyName::AssistantAll, QUOTA, 9)
    };
    let own = acquire(&limiter, &[everyone, by_ip(1)], START).await;
    let keys = own.receipt.entries.iter().map(|it| it.charge.key);
    assert!(keys.eq([everyone.key, by_ip(1).key]));
    // After the sweep there is room again.
    let later = START.plus_ms(60_000);
    sweep(&limiter, later);
    assert_eq!(limiter.windows(), 0);
    let own = acquire(&limiter, &[by_ip(100)], later).await.receipt;
    assert_eq!(own.entries[0].charge.key, by_ip(100).key);
}

#[tokio::test]
async fn a_full_table_is_warned_of_once_a_minute() {
    const TICKS_PER_MINUTE: usize = 600;
    let data = Data::new();
    let limiter = data.open_with(QUOTA, START, 16);
    let ticks = |count| {
        let ((), log) = logged(|| (0..count).for_each(|_| limiter.tick(START)));
        log.matches("table of limiter windows is full").count()
    };
    admit_each(&limiter, QUOTA, 0..15).await;
    assert_eq!(ticks(3), 0);
    admit_each(&limiter, QUOTA, [15]).await;
    assert_eq!(ticks(TICKS_PER_MINUTE), 1);
    assert_eq!(ticks(TICKS_PER_MINUTE), 1);
    sweep(&limiter, START.plus_ms(60_000));
    assert_eq!(ticks(TICKS_PER_MINUTE), 0);
}

#[tokio::test]
async fn a_refund_of_a_window_that_was_swept_does_nothing() {
    let data = Data::new();
    let limiter = data.open(QUOTA, START);
    let admission = acquire(&limiter, &[charge(PolicyName::Ip, QUOTA, 1)], START).await;
    let expired = START.plus_ms(60_000);
    sweep(&limiter, expired);
    assert_eq!(limiter.windows(), 0);
    let decision = refund(&limiter, admission.receipt, expired).await;
    assert_eq!(usage(&decision, PolicyName::Ip), (0, 60_000));
    assert_eq!(limiter.windows(), 0);
}

#[tokio::test]
async fn the_statistics_say_how_many_windows_there_are_and_may_be() {
    let data = Data::new();
    let limiter = data.open_with(QUOTA, START, 16);
    admit_each(&limiter, QUOTA, 0..3).await;
    sweep(&limiter, START);
    let stats = limiter.stats().unwrap();
    assert_eq!((stats.windows, stats.windows_max), (3, 16));
    let file = fs::metadata(data.windows().join("db")).unwrap();
    assert_eq!(stats.disk_bytes, file.len());
    assert!(!stats.is_store_failing);
}
