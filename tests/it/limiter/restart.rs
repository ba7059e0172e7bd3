//! What survives a stop, a kill and a changed command line.

use landing_api::ports::{RateLimiter as _, WindowSet};

use super::{Data, QUOTA, counted};
use crate::fixtures::{acquire, admit_each, admitted, peek, refund};
use crate::prelude::*;

#[tokio::test]
async fn a_restart_keeps_every_count() {
    let data = Data::new();
    let by_ip = |host| charge(PolicyName::Ip, QUOTA, host);
    let limiter = data.open(QUOTA, START);
    for (host, times) in [(1, 1), (2, 2), (3, 3)] {
        for offset_ms in 0..times {
            assert!(is_admitted(&limiter, &[by_ip(host)], START.plus_ms(offset_ms)).await);
        }
    }
    limiter.close();
    limiter.close();
    let now = START.plus_ms(1000);
    // Decisions go on after the end.
    assert!(is_admitted(&limiter, &[by_ip(4)], now).await);
    drop(limiter);
    for _ in 0..3 {
        let limiter = data.open(QUOTA, now);
        assert_eq!(limiter.windows(), 3);
        assert_eq!(limiter.stored(), 3);
        assert_eq!(peek(&limiter, by_ip(1), now).await, (1, 59_000));
        assert_eq!(peek(&limiter, by_ip(2), now).await, (2, 59_000));
        assert!(!is_admitted(&limiter, &[by_ip(3)], START.plus_ms(59_999)).await);
        assert_eq!(counted(&limiter, by_ip(4), now).await, 0);
    }
    let limiter = data.open(QUOTA, START.plus_ms(60_000));
    assert_eq!(limiter.windows(), 2, "one had expired");
    assert_eq!(limiter.stored(), 2, "and is not stored any more");
    // After a clean stop the store is not written anew, and a kill loses nothing either.
    assert!(is_admitted(&limiter, &[by_ip(5)], START.plus_ms(60_000)).await);
    limiter.tick(START.plus_ms(60_000));
    let killed = data.as_if_killed().open(QUOTA, START.plus_ms(60_000));
    assert_eq!((killed.windows(), killed.stored()), (3, 3));
}

#[tokio::test]
async fn a_reset_survives_a_stop_and_a_kill() {
    let data = Data::new();
    let by_ip = |host| charge(PolicyName::Ip, QUOTA, host);
    let limiter = data.open(QUOTA, START);
    admit_each(&limiter, QUOTA, 0..500).await;
    limiter.tick(START);
    assert_eq!(limiter.stored(), 500);
    assert_eq!(limiter.reset(WindowSet::Window(by_ip(7).key)).await, Ok(1));
    let killed = data.as_if_killed().open(QUOTA, START);
    assert_eq!(killed.windows(), 499);
    assert_eq!(counted(&killed, by_ip(7), START).await, 0);
    let all = WindowSet::Policy(PolicyName::Ip);
    assert_eq!(limiter.reset(all).await, Ok(499));
    assert_eq!(limiter.windows(), 0);
    limiter.close();
    drop(limiter);
    assert_eq!(data.open(QUOTA, START).windows(), 0);
}

#[tokio::test]
async fn a_refund_survives_a_restart() {
    let data = Data::new();
    let charges = [charge(PolicyName::Assistant, QUOTA, 1)];
    let limiter = data.open(QUOTA, START);
    let first = acquire(&limiter, &charges, START).await;
    limiter.tick(START);
    refund(&limiter, first.receipt, START).await;
    limiter.close();
    drop(limiter);
    let limiter = data.open(QUOTA, START);
    assert_eq!(limiter.stored(), 0);
    assert_eq!(counted(&limiter, charges[0], START).await, 0);
}

#[tokio::test]
async fn a_changed_limit_holds_at_once_after_a_restart() {
    let check = async |from: &str, admissions: u32, to: &str, counts: u32, admits: usize| {
        let data = Data::new();
        let limiter = data.open(from, START);
        let before = charge(PolicyName::Default, from, 1);
        for _ in 0..admissions {
            assert!(is_admitted(&limiter, &[before], START).await);
        }
        drop(limiter);
        let limiter = data.open(to, START);
        let after = charge(PolicyName::Default, to, 1);
        let before = counted(&limiter, after, START).await;
        assert_eq!(before, counts, "{from} to {to}");
        let admitted = admitted(&limiter, &[after], START, 1000).await;
        assert_eq!(admitted, admits, "{from} to {to}");
    };
    check("8/15m", 8, "10/15m", 8, 2).await;
    check("8/15m", 8, "3/15m", 8, 0).await;
    check("200/1m", 200, "600/1m", 200, 400).await;
    check("600/1m", 600, "200/1m", 600, 0).await;
    check("600/1m", 100, "200/1h", 100, 100).await;
}

#[tokio::test]
async fn windows_of_a_policy_that_is_off_are_not_kept() {
    let data = Data::new();
    let charged = charge(PolicyName::Keys, QUOTA, 1);
    let limiter = data.open(QUOTA, START);
    assert!(is_admitted(&limiter, &[charged], START).await);
    drop(limiter);
    let mut off = policies(QUOTA);
    off.set(PolicyName::Keys, None);
    let store = Box::new(SledWindowStore::new(&data.windows()));
    let limiter = SledRateLimiter::without_thread(store, &off, START, WINDOWS_MAX);
    assert_eq!(limiter.windows(), 0);
    limiter.tick(START);
    assert_eq!(limiter.stored(), 0);
}

#[tokio::test]
async fn a_killed_process_forgets_only_what_came_after_the_last_tick() {
    let data = Data::new();
    let by_ip = |host| charge(PolicyName::Ip, QUOTA, host);
    let limiter = data.open(QUOTA, START);
    admit_each(&limiter, QUOTA, 0..5000).await;
    for _ in 0..2 {
        limiter.tick(START);
        admit_each(&limiter, QUOTA, [0]).await;
    }
    let limiter = data.as_if_killed().open(QUOTA, START);
    assert_eq!(limiter.windows(), 5000);
    assert_eq!(counted(&limiter, by_ip(0), START).await, 2);
    assert_eq!(counted(&limiter, by_ip(4999), START).await, 1);
}

#[tokio::test]
async fn what_was_written_last_is_what_a_restart_finds() {
    let data = Data::new();
    let by_ip = |host| charge(PolicyName::Ip, QUOTA, host);
    let limiter = data.open(QUOTA, START);
    let mut receipts = Vec::new();
    for round in 0..3 {
        let now = START.plus_ms(round);
        for host in 0..500 {
            let admission = acquire(&limiter, &[by_ip(host)], now).await;
            receipts.push((host, admission.receipt));
        }
        limiter.tick(now);
    }
    // Some are taken back in part, some as a whole.
    for (host, receipt) in receipts {
        if host % 2 == 0 && (host % 4 == 0 || counted(&limiter, by_ip(host), START).await > 2) {
            refund(&limiter, receipt, START.plus_ms(3)).await;
        }
    }
    limiter.tick(START.plus_ms(3));
    let limiter = data.as_if_killed().open(QUOTA, START.plus_ms(3));
    for host in 0..500 {
        let found = counted(&limiter, by_ip(host), START.plus_ms(3)).await;
        assert_eq!(found, [0, 3, 2, 3][host as usize % 4], "{host}");
    }
    assert_eq!(limiter.stored(), 375);
}

#[tokio::test]
async fn what_is_no_window_is_passed_over_with_a_warning() {
    let data = Data::new();
    let by_ip = |host| charge(PolicyName::Ip, QUOTA, host);
    // That of another key.
    let data_of_other = Data::stopped([9]).await;
    let open = |path| {
        sled::Config::new()
            .path(path)
            .segment_size(64 * 1024)
            .open()
    };
    let other = open(data_of_other.windows()).unwrap();
    let window = other.get(by_ip(9).key.as_bytes()).unwrap().unwrap();
    let db = open(data.windows()).unwrap();
    let keys = [9, 2, 3].map(|host| by_ip(host).key);
    let entries: [(&[u8], &[u8]); 5] = [
        (keys[0].as_bytes(), &window),
        (keys[1].as_bytes(), b"garbage"),
        (keys[2].as_bytes(), b""),
        (&[0xfe; 16], &window),
        (b"a key of another length", &window),
    ];
    for (key, value) in entries {
        db.insert(key, value).unwrap();
    }
    db.flush().unwrap();
    // sled releases its files some time after it is dropped.
    let data = data.as_if_killed();
    let (limiter, log) = logged(|| data.open(QUOTA, START));
    assert!(log.contains("limiter.unreadable=4"), "{log}");
    assert_eq!(limiter.windows(), 1);
    assert_eq!(peek(&limiter, by_ip(9), START).await, (1, 60_000));
}

#[tokio::test]
async fn admissions_in_the_future_are_clamped_at_the_start() {
    let data = Data::new();
    let charged = charge(PolicyName::Ip, QUOTA, 1);
    let limiter = data.open(QUOTA, START);
    admit_each(&limiter, QUOTA, [1; 3]).await;
    drop(limiter);
    let now = Timestamp::from_ms(START.as_ms() - 86_400_000);
    let limiter = data.open(QUOTA, now);
    assert!(!is_admitted(&limiter, &[charged], now.plus_ms(59_999)).await);
    assert!(is_admitted(&limiter, &[charged], now.plus_ms(60_000)).await);
}

#[tokio::test]
async fn its_own_thread_writes_without_being_told() {
    let data = Data::new();
    let clock = Arc::new(ManualClock::new(START));
    let open = || SledRateLimiter::open(&data.windows(), &policies(QUOTA), clock.clone()).unwrap();
    let limiter = open();
    let charged = charge(PolicyName::Ip, QUOTA, 1);
    admit_each(&limiter, QUOTA, [1]).await;
    while limiter.stored() == 0 {
        thread::yield_now();
    }
    clock.advance_ms(60_000);
    while limiter.stored() != 0 {
        thread::yield_now();
    }
    let now = START.plus_ms(60_000);
    assert!(is_admitted(&limiter, &[charged], now).await);
    limiter.close();
    drop(limiter);
    assert_eq!(counted(&open(), charged, now).await, 1);
}
