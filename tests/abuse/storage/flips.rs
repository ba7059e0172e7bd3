//! Bytes that are not as they were written.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Run;
use crate::fuzz::{Parts, Trace, run as run_parts, runtime};
use crate::random::Random;

use super::left::Left;

/// How many bytes outside the last batch are flipped for each data directory, and how many outside the
/// ledger.
const ELSEWHERE: usize = 64;
const BESIDE: usize = 32;

pub(crate) fn flips(run: Run) -> Result<String, String> {
    let directories = if run.is_long { 400 } else { 4 };
    let parts = Parts {
        count: directories,
        inputs: 1,
    };
    run_parts(run, "flips", parts, |random, trace| {
        runtime().block_on(directory(random, trace));
    })?;
    Ok(format!("{directories} directories"))
}

async fn directory(random: &mut Random, trace: &Trace) {
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
        let mut files = Vec::new();
        find_files(&copy.path, &mut files);
        files.retain(|path| !path.ends_with("ledger.jsonl"));
        let path = random.pick(&files);
        let mut bytes = fs::read(path).unwrap();
        if bytes.is_empty() {
            continue;
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
        fs::write(path, bytes).unwrap();
        left.check_all(&copy).await;
    }
}

fn find_files(path: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_files(&path, found);
        } else {
            found.push(path);
        }
    }
    found.sort();
}
