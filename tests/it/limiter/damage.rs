//! Files that are not as they were left.

use super::{Data, QUOTA, counted, sweep};
use crate::fixtures::{admit_each, admitted};
use crate::prelude::*;

#[tokio::test]
async fn damaged_windows_are_removed_and_the_service_starts_empty() {
    type Damage = fn(&Path);
    let kinds: [(&str, Damage); 3] = [
        ("garbage for a configuration", |dir| {
            fs::write(dir.join("conf"), "not a configuration").unwrap();
        }),
        ("a file where the directory was", |dir| {
            fs::remove_dir_all(dir).unwrap();
            fs::write(dir, "a file").unwrap();
        }),
        ("a directory where the file was", |dir| {
            fs::remove_file(dir.join("db")).unwrap();
            fs::create_dir(dir.join("db")).unwrap();
        }),
    ];
    for (why, damage) in kinds {
        let data = Data::stopped([1]).await;
        let charged = charge(PolicyName::Ip, QUOTA, 1);
        for _ in 0..2 {
            damage(&data.windows());
            let limiter = data.open(QUOTA, START);
            assert_eq!(data.entries(), ["windows"], "{why}");
            assert_eq!(counted(&limiter, charged, START).await, 0, "{why}");
            assert!(is_admitted(&limiter, &[charged], START).await);
        }
    }
}

#[tokio::test]
async fn no_damage_to_the_file_stops_the_start() {
    let data = Data::stopped(0..2000).await;
    let whole = fs::read(data.windows().join("db")).unwrap();
    let check = async |bytes: &[u8]| {
        let copy = data.as_if_killed();
        fs::write(copy.windows().join("db"), bytes).unwrap();
        let limiter = copy.open(QUOTA, START);
        assert!(limiter.windows() <= 2000);
        admit_each(&limiter, QUOTA, [5000]).await;
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
async fn a_place_that_takes_no_store_leaves_the_limits_in_memory_until_it_does() {
    let data = Data::new();
    let file = data.0.path().join("file");
    fs::write(&file, "a file").unwrap();
    let below_a_file = file.join("windows");
    let by_ip = charge(PolicyName::Ip, QUOTA, 1);
    let open = || {
        let store = Box::new(SledWindowStore::new(&below_a_file));
        let limiter = SledRateLimiter::without_thread(store, &policies(QUOTA), START, WINDOWS_MAX);
        limiter.tick(START);
        limiter
    };
    let (limiter, log) = logged(open);
    let words = "limits still apply, but a restart loses the windows";
    assert!(log.contains(words), "{log}");
    assert_eq!(admitted(&limiter, &[by_ip], START, 10).await, 3);
    limiter.tick(START);
    assert!(limiter.is_store_failing());
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    sweep(&limiter, START);
    assert!(!limiter.is_store_failing());
    drop(limiter);
    assert_eq!(counted(&open(), by_ip, START).await, 3);
}

#[tokio::test]
async fn a_flipped_bit_makes_no_other_count() {
    let data = Data::stopped(0..20).await;
    let bytes = fs::read(data.windows().join("db")).unwrap();
    let mut kept = 0;
    for part in 0..40 {
        let mut flipped = bytes.clone();
        flipped[bytes.len() * part / 40] ^= 4;
        let copy = data.as_if_killed();
        fs::write(copy.windows().join("db"), flipped).unwrap();
        let limiter = copy.open(QUOTA, START);
        kept += limiter.windows();
        let mut counts = 0;
        for host in 0..20 {
            let count = counted(&limiter, charge(PolicyName::Ip, QUOTA, host), START).await;
            assert!(count < 2, "{part}");
            counts += count as usize;
        }
        assert_eq!(counts, limiter.windows(), "{part}");
    }
    assert!(kept > 0);
}
