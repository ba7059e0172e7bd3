//! Files that are not as they were left.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use landing_api::adapters::limiter::{LimiterOpenError, SledRateLimiter};
use landing_api::adapters::memory::ManualClock;
use landing_api::domain::policy::PolicyName;

use super::{Data, QUOTA, counted};
use crate::fixtures::{START, charge, is_admitted, policies};

#[tokio::test]
async fn damaged_windows_are_set_aside_and_the_service_starts_empty() {
    let check = async |damage: &dyn Fn(&Path), why: &str| {
        let data = Data::new();
        let charged = charge(PolicyName::Ip, QUOTA, 1);
        let limiter = data.open(QUOTA, START);
        assert!(is_admitted(&limiter, &[charged], START).await);
        drop(limiter);
        for _ in 0..2 {
            damage(&data.windows());
            let limiter = data.open(QUOTA, START);
            assert_eq!(data.entries(), ["windows", "windows.damaged"], "{why}");
            assert_eq!(counted(&limiter, charged, START).await, 0, "{why}");
            assert!(is_admitted(&limiter, &[charged], START).await);
        }
    };
    check(
        &|dir| fs::write(dir.join("conf"), "not a configuration").unwrap(),
        "garbage for a configuration",
    )
    .await;
    check(
        &|dir| {
            fs::remove_dir_all(dir).unwrap();
            fs::write(dir, "a file").unwrap();
        },
        "a file where the directory was",
    )
    .await;
    check(
        &|dir| {
            fs::remove_file(dir.join("db")).unwrap();
            fs::create_dir(dir.join("db")).unwrap();
        },
        "a directory where the file was",
    )
    .await;
}

#[tokio::test]
async fn no_damage_to_the_file_stops_the_start() {
    let data = Data::new();
    let limiter = data.open(QUOTA, START);
    for host in 0..2000 {
        let by_ip = charge(PolicyName::Ip, QUOTA, host);
        assert!(is_admitted(&limiter, &[by_ip], START).await);
    }
    drop(limiter);
    let file = data.windows().join("db");
    let whole = fs::read(&file).unwrap();
    let check = async |bytes: &[u8]| {
        let copy = data.as_if_killed();
        fs::write(copy.windows().join("db"), bytes).unwrap();
        let limiter = copy.open(QUOTA, START);
        assert!(limiter.stats().windows <= 2000);
        let by_ip = charge(PolicyName::Ip, QUOTA, 5000);
        assert!(is_admitted(&limiter, &[by_ip], START).await);
    };
    for part in 0..6 {
        let position = whole.len() * part / 6 + 11 * part;
        check(&whole[..position]).await;
        let mut flipped = whole.clone();
        flipped[position] ^= 0x55;
        check(&flipped).await;
    }
    check(&vec![0xa5; whole.len()]).await;
}

#[tokio::test]
async fn values_that_are_no_windows_are_skipped() {
    let data = Data::new();
    let charged = charge(PolicyName::Ip, QUOTA, 1);
    let limiter = data.open(QUOTA, START);
    assert!(is_admitted(&limiter, &[charged], START).await);
    drop(limiter);
    let config = sled::Config::new().segment_size(64 * 1024);
    let db = config.path(data.windows()).open().unwrap();
    assert_eq!(db.len(), 1);
    let other = charge(PolicyName::Ip, QUOTA, 2);
    let good = db.get(charged.key.as_bytes()).unwrap().unwrap();
    db.insert(charged.key.as_bytes(), b"garbage").unwrap();
    db.insert(other.key.as_bytes(), b"").unwrap();
    // Of no policy, and with a key of another length.
    db.insert([0xff; 16], &good).unwrap();
    db.insert(b"foreign", &good).unwrap();
    db.flush().unwrap();
    // sled releases its files some time after it is dropped.
    let data = data.as_if_killed();
    assert_eq!(data.open(QUOTA, START).stats().windows, 0);
}

#[test]
fn a_place_that_takes_no_store_is_an_error_at_the_start() {
    let data = Data::new();
    let file = data.windows();
    fs::write(&file, "a file").unwrap();
    let below_a_file = file.join("windows");
    let clock = Arc::new(ManualClock::new(START));
    let opened = SledRateLimiter::open(&below_a_file, &policies(QUOTA), clock);
    assert!(matches!(opened, Err(LimiterOpenError::Store(_))));
}
