//! What survives a stop, a kill and a changed command line.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use landing_api::adapters::limiter::{
    Change, SledRateLimiter, SledWindowStore, WINDOWS_MAX, WindowStore, WindowStoreError,
};
use landing_api::domain::client::LimitKey;
use landing_api::domain::policy::PolicyName;
use landing_api::domain::time::Timestamp;
use landing_api::domain::window::Window;
use landing_api::ports::{RateLimiter as _, WindowSet};

use super::{Data, QUOTA, copy_dir, counted};
use crate::fixtures::{
    START, acquire, admit_each, admitted, charge, is_admitted, logged, peek, policies, refund,
};
use crate::twins::ManualClock;

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
        assert_eq!(data.entries(), ["windows"]);
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

/// Keeps what a process leaves behind that is killed while its store is written anew.
struct WatchedStore {
    store: SledWindowStore,
    data_dir: PathBuf,
    left_behind: Arc<Mutex<Vec<Data>>>,
}

impl WindowStore for WatchedStore {
    fn load(&mut self, keep: &mut dyn FnMut(LimitKey, Window)) -> Result<bool, WindowStoreError> {
        self.store.load(keep)
    }

    fn replace(
        &mut self,
        windows: &mut dyn Iterator<Item = Vec<Change>>,
    ) -> Result<(), WindowStoreError> {
        let mut watched = windows.enumerate().map(|(index, windows)| {
            if index % 20 == 0 {
                let copy = Data::new();
                copy_dir(&self.data_dir, copy.0.path());
                self.left_behind.lock().unwrap().push(copy);
            }
            windows
        });
        self.store.replace(&mut watched)
    }

    fn write(&mut self, changes: Vec<Change>) -> Result<(), WindowStoreError> {
        self.store.write(changes)
    }

    fn count(&self) -> usize {
        self.store.count()
    }

    fn bytes_on_disk(&self) -> u64 {
        self.store.bytes_on_disk()
    }
}

#[tokio::test]
async fn a_kill_while_the_store_is_written_anew_loses_no_window() {
    let by_ip = |host| charge(PolicyName::Ip, QUOTA, host);
    let data = Data::new();
    let limiter = data.open(QUOTA, START);
    admit_each(&limiter, QUOTA, 0..2000).await;
    limiter.tick(START);
    let killed = data.as_if_killed();
    let left_behind = Arc::default();
    let store = Box::new(WatchedStore {
        store: SledWindowStore::new(&killed.windows()),
        data_dir: killed.0.path().to_owned(),
        left_behind: Arc::clone(&left_behind),
    });
    let limiter = SledRateLimiter::without_thread(store, &policies(QUOTA), START, WINDOWS_MAX);
    // Decisions are made before anything is written.
    assert_eq!(limiter.windows(), 2000);
    assert_eq!(counted(&limiter, by_ip(0), START).await, 1);
    assert_eq!(left_behind.lock().unwrap().len(), 0);
    limiter.tick(START);
    assert_eq!(limiter.stored(), 2000);
    assert_eq!(killed.entries(), ["windows"]);
    let left_behind = std::mem::take(&mut *left_behind.lock().unwrap());
    assert_eq!(left_behind.len(), 4);
    for left in left_behind {
        assert_eq!(left.entries(), ["windows", "windows.old"]);
        let limiter = left.open(QUOTA, START);
        assert_eq!((limiter.windows(), limiter.stored()), (2000, 2000));
        assert_eq!(left.entries(), ["windows"]);
    }
}

#[tokio::test]
async fn a_reset_survives_a_stop_and_a_kill() {
    let data = Data::new();
    let by_ip = |host| charge(PolicyName::Ip, QUOTA, host);
    let limiter = data.open(QUOTA, START);
    admit_each(&limiter, QUOTA, 0..500).await;
    limiter.tick(START);
    assert_eq!(limiter.stored(), 500);
    let one = WindowSet::Window(by_ip(7).key);
    assert_eq!(limiter.reset(one).await, Ok(1));
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
async fn an_interrupted_start_is_taken_up_again() {
    let charged = charge(PolicyName::Ip, QUOTA, 1);
    let data = Data::stopped([1]).await;
    let windows = data.windows();
    let old = windows.with_extension("old");
    let check = async |state: &str| {
        assert_eq!(data.entries(), state.split_whitespace().collect::<Vec<_>>());
        let limiter = data.open(QUOTA, START);
        assert_eq!(counted(&limiter, charged, START).await, 1, "{state}");
        assert_eq!(data.entries(), ["windows"], "{state}");
    };
    fs::rename(&windows, &old).unwrap();
    check("windows.old").await;
    // The new store is still empty, or half-written.
    fs::rename(&windows, &old).unwrap();
    let empty = Data::new();
    drop(empty.open(QUOTA, START));
    copy_dir(&empty.windows(), &windows);
    check("windows windows.old").await;
    copy_dir(&windows, &old);
    fs::write(windows.join("db"), "half").unwrap();
    check("windows windows.old").await;
    // The previous store is half-deleted.
    copy_dir(&windows, &old);
    fs::remove_file(old.join("db")).unwrap();
    check("windows windows.old").await;
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
    // A version, START in LEB128, a count.
    let window: &[u8] = &[1, 0x80, 0xa0, 0xf1, 0xc2, 0xb1, 0x34, 2];
    let config = sled::Config::new().segment_size(64 * 1024);
    let db = config.path(data.windows()).open().unwrap();
    let (keys, foreign) = ([1, 2, 3].map(|host| by_ip(host).key), [0xfe; 16]);
    let entries: [(&[u8], &[u8]); 6] = [
        (b"first", &[1]),
        (keys[0].as_bytes(), window),
        (keys[1].as_bytes(), b"garbage"),
        (keys[2].as_bytes(), b""),
        (&foreign, window),
        (b"a key of another length", window),
    ];
    for (key, value) in entries {
        db.insert(key, value).unwrap();
    }
    db.flush().unwrap();
    // sled releases its files some time after it is dropped.
    let data = data.as_if_killed();
    let (limiter, log) = logged(|| data.open(QUOTA, START));
    assert!(log.contains("limiter.unreadable=3"), "{log}");
    assert_eq!((limiter.windows(), limiter.stored()), (1, 1));
    assert_eq!(peek(&limiter, by_ip(1), START).await, (2, 60_000));
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
    let open = || {
        let policies = policies(QUOTA);
        SledRateLimiter::open(&data.windows(), &policies, clock.clone()).unwrap()
    };
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
