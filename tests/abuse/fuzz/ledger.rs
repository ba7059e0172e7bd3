//! Ledgers with lines that are not as they were written, and with others whose checksum is right.

use super::{Parts, Trace, runtime};
use crate::Run;
use crate::random::Random;
use crate::storage::left::Left;

const INPUTS: u64 = 64;

const CRC_BYTES: usize = "{\"crc\":\"01234567\"".len();

pub(crate) fn ledger(run: Run) -> Result<String, String> {
    let parts = Parts::of(run.of(512, 100_000), INPUTS);
    super::run(run, "ledger", parts, |random, trace| {
        runtime().block_on(part(random, trace));
    })
}

async fn part(random: &mut Random, trace: &Trace) {
    let is_clean = random.once_in(2);
    let left = Left::new(random, is_clean).await;
    let lines: Vec<&[u8]> = left.ledger.split_inclusive(|byte| *byte == b'\n').collect();
    for _ in 0..INPUTS {
        let is_forged = random.once_in(2);
        let mut bytes = Vec::new();
        let first = random.below(lines.len());
        for (number, line) in lines.iter().enumerate() {
            if number == first || number > first && random.once_in(8) {
                let line = random.mutated(line, &lines);
                bytes.extend(if is_forged { sealed(line) } else { line });
            } else {
                bytes.extend_from_slice(line);
            }
        }
        trace.begin(&bytes);
        left.check(&bytes, is_forged).await;
    }
}

/// The line with a checksum that is right.
fn sealed(mut line: Vec<u8>) -> Vec<u8> {
    line.retain(|byte| *byte != b'\n');
    let members = line.get(CRC_BYTES..).unwrap_or_default();
    let crc = crc32fast::hash(members);
    let begin = format!("{{\"crc\":\"{crc:08x}\"");
    [begin.as_bytes(), members, b"\n"].concat()
}
