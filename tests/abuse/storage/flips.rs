//! Bytes that are not as they were written.

use std::fs;
use std::path::PathBuf;

use landing_api::domain::policy::PolicyName;

use crate::Run;
use crate::fixtures::{START, charge, contents, copy_dir, is_admitted, peek};
use crate::fuzz::windows::open;
use crate::fuzz::{Parts, Trace, run as run_parts, runtime};
use crate::random::Random;

use super::directory;
use super::left::Left;

/// How many bytes outside the last batch are flipped for each data directory, and how many outside the
/// ledger.
const ELSEWHERE: usize = 64;
const BESIDE: usize = 32;

const QUOTA: &str = "3/60s";

pub(crate) fn flips(run: Run) -> Result<String, String> {
    let directories = if run.is_long { 400 } else { 4 };
    let parts = Parts {
        count: directories,
        inputs: 1,
    };
    run_parts(run, "flips", parts, |random, trace| {
        runtime().block_on(data_directory(random, trace));
    })?;
    Ok(format!("{directories} directories"))
}

async fn data_directory(random: &mut Random, trace: &Trace) {
    let is_clean = random.once_in(2);
    let left = Left::new(random, is_clean).await;
    let last_batch = left.last_batch();
    let elsewhere: Vec<_> = (0..ELSEWHERE).map(|_| random.below(last_batch)).collect();
    for position in (last_batch..left.ledger.len()).chain(elsewhere) {
        let mut bytes = left.ledger.clone();
        bytes[position] ^= 1 << random.below(8);
        trace.begin(&bytes);
        left.check(&bytes, false).await;
        // A missing end.
        bytes = left.ledger[..position].to_vec();
        trace.begin(&bytes);
        left.check(&bytes, false).await;
    }
    for _ in 0..BESIDE {
        let copy = left.copy();
        let mut files = contents(&copy.path);
        files.retain(|(path, _)| !path.ends_with("ledger.jsonl"));
        damage(&files, random, trace);
        left.check_all(&copy).await;
    }
    windows(random, trace).await;
}

/// Windows that a limiter left: none counts anything else, and a new one is counted. sled drops what follows damage
/// without a word, and windows may be lost.
async fn windows(random: &mut Random, trace: &Trace) {
    let root = directory();
    let made = root.path().join("made");
    let limiter = open(&made, QUOTA);
    let hosts = 0..1 + u32::try_from(random.below(300)).unwrap();
    for host in hosts.clone() {
        assert!(is_admitted(&limiter, &[charge(PolicyName::Ip, QUOTA, host)], START).await);
    }
    limiter.close();
    drop(limiter);
    for number in 0..BESIDE {
        let copy = root.path().join(number.to_string());
        copy_dir(&made, &copy);
        damage(&contents(&copy), random, trace);
        let limiter = open(&copy, QUOTA);
        for host in hosts.clone() {
            let (counted, _) = peek(&limiter, charge(PolicyName::Ip, QUOTA, host), START).await;
            assert!(counted <= 1, "{host}: {counted}");
        }
        let new = charge(PolicyName::Ip, QUOTA, hosts.end);
        assert!(is_admitted(&limiter, &[new], START).await);
    }
}

/// Changes one of the files.
fn damage(files: &[(PathBuf, Vec<u8>)], random: &mut Random, trace: &Trace) {
    let (path, mut bytes) = random.pick(files).clone();
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    match random.below(4) {
        0 => bytes.truncate(at),
        1 => {
            let end = bytes.len().min(at + 512);
            bytes[at..end].fill(0);
        }
        _ => bytes[at] ^= 1 << random.below(8),
    }
    trace.begin(format!("{} at {at}", path.display()).as_bytes());
    fs::write(&path, bytes).unwrap();
}
