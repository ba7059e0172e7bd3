//! Records of windows that are not as they were written: each is read or skipped, and those beside it
//! stay.

use std::path::Path;

use landing_api::adapters::limiter::{SledRateLimiter, SledWindowStore, WINDOWS_MAX};
use landing_api::domain::policy::PolicyName;
use landing_api::domain::time::Timestamp;
use landing_api::domain::window::LATE_ARRIVAL_MS_MAX;

use super::{Parts, Trace, runtime};
use crate::Run;
use crate::fixtures::{START, acquire, charge, copy_dir, is_admitted, peek, policies};
use crate::random::Random;
use crate::storage::directory;

const INPUTS: u64 = 1024;

/// An exact one, and one whose buckets hold several admissions.
const QUOTAS: [&str; 2] = ["3/60s", "1000/60s"];

/// The largest numbers of 64 and of 32 bits, and one more each.
const NUMBERS: [&[u8]; 4] = [
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
    b"\xff\xff\xff\xff\x0f",
    b"\x80\x80\x80\x80\x10",
];

/// One record in so many stays as it is.
const GOOD: u32 = 8;

pub(crate) fn windows(run: Run) -> Result<String, String> {
    let inputs = if run.is_long { 1_100_000 } else { 4_096 };
    let parts = Parts::of(inputs, INPUTS);
    super::run(run, "windows", parts, |random, trace| {
        runtime().block_on(part(random, trace));
    })
}

async fn part(random: &mut Random, trace: &Trace) {
    let quota = *random.pick(&QUOTAS);
    let root = directory();
    let samples = samples(&root.path().join("made"), quota).await;
    let made = root.path().join("changed");
    let db = sled::Config::new().segment_size(64 * 1024).path(&made);
    let db = db.open().unwrap();
    let mut good = Vec::new();
    for host in 0..u32::try_from(INPUTS).unwrap() {
        let key = charge(PolicyName::Ip, quota, host).key;
        let (counted, sample) = random.pick(&samples);
        if host % GOOD == 0 {
            good.push((host, *counted));
            db.insert(key.as_bytes(), sealed(key.as_bytes(), sample))
                .unwrap();
            continue;
        }
        let others = samples.iter().map(|(_, bytes)| bytes.as_slice());
        let others: Vec<_> = others.chain(NUMBERS).collect();
        let mut input = random.mutated(sample, &others);
        // A longer key is none.
        let key = key.as_bytes();
        let key = key.repeat(if random.once_in(8) { 2 } else { 1 });
        // Without its checksum nothing of a record is read.
        if !random.once_in(8) {
            input = sealed(&key, &input);
        }
        trace.begin(&input);
        db.insert(key, input).unwrap();
    }
    db.flush().unwrap();
    // sled releases its files some time after it is dropped.
    let copied = root.path().join("copied");
    copy_dir(&made, &copied);
    check(&copied, quota, &good).await;
}

/// Each host has its own window, of the stored ones or a new one, and the next start has them all.
async fn check(dir: &Path, quota: &str, good: &[(u32, u32)]) {
    let most: u32 = quota.split('/').next().unwrap().parse().unwrap();
    let hosts = 0..u32::try_from(INPUTS).unwrap();
    let limiter = open(dir, quota);
    assert!(limiter.windows() <= hosts.len());
    for (host, counted) in good {
        let usage = peek(&limiter, charge(PolicyName::Ip, quota, *host), START).await;
        assert_eq!(usage.0, *counted, "{host}");
    }
    let mut before = Vec::new();
    for host in hosts.clone() {
        let charge = charge(PolicyName::Ip, quota, host);
        let (counted, reset_ms) = peek(&limiter, charge, START).await;
        assert!(reset_ms <= 60_000, "{host}: {reset_ms}");
        let admission = acquire(&limiter, &[charge], START).await;
        let is_refused = admission.decision.is_refused();
        assert_eq!(is_refused, counted >= most, "{host}: {counted} of {quota}");
        before.push(peek(&limiter, charge, START).await);
    }
    limiter.close();
    drop(limiter);
    let limiter = open(dir, quota);
    for host in hosts {
        let charge = charge(PolicyName::Ip, quota, host);
        let after = peek(&limiter, charge, START).await;
        assert_eq!(after, before[host as usize], "{host}");
        // Whatever was stored, nobody waits longer than a window. Late arrivals move its begin.
        let later = START.plus_ms(60_000 + LATE_ARRIVAL_MS_MAX);
        assert!(is_admitted(&limiter, &[charge], later).await, "{host}");
    }
}

/// A record with the checksum that it has under `key`.
fn sealed(key: &[u8], record: &[u8]) -> Vec<u8> {
    let checksum = crc32fast::hash(&[key, record].concat());
    [record, &checksum.to_be_bytes()].concat()
}

/// What a limiter writes for some windows, without the checksum, and how many each counts.
async fn samples(dir: &Path, quota: &str) -> Vec<(u32, Vec<u8>)> {
    let limiter = open(dir, quota);
    let mut counts = Vec::new();
    for host in 0..3 {
        for step in 0..=host {
            let charge = charge(PolicyName::Ip, quota, host);
            let at = Timestamp::from_ms(START.as_ms() - 10 + u64::from(step));
            assert!(is_admitted(&limiter, &[charge], at).await);
        }
        counts.push(host + 1);
    }
    limiter.close();
    drop(limiter);
    let db = sled::Config::new().segment_size(64 * 1024).path(dir);
    let db = db.open().unwrap();
    let value = |host| {
        let key = charge(PolicyName::Ip, quota, host).key;
        let record = db.get(key.as_bytes()).unwrap().unwrap();
        let (record, _checksum) = record.split_last_chunk::<4>().unwrap();
        record.to_vec()
    };
    std::iter::zip(counts, 0..)
        .map(|(count, host)| (count, value(host)))
        .collect()
}

pub(crate) fn open(dir: &Path, quota: &str) -> SledRateLimiter {
    let store = Box::new(SledWindowStore::new(dir));
    SledRateLimiter::without_thread(store, &policies(quota), START, WINDOWS_MAX)
}
