//! The rules of the data directory, each broken in every way that matters.

mod clean_stop;
mod compaction;
mod damage;
mod deliveries;
mod directory;
mod displaced;
mod durable;
mod erasure;
pub(crate) mod faults;
mod maintenance;
mod missing;
mod outages;
mod power;
mod queue;
mod secret;
mod snapshots;
mod torn;

pub(crate) use self::faults::faulty;
pub(crate) use crate::fixtures::contents;

/// The ledger `text` with a checksum that is right for its head.
pub(crate) fn sealed(text: &str) -> String {
    let (head, rest) = text.split_once('\n').unwrap();
    let members = &head["{\"crc\":\"01234567\"".len()..];
    let crc = crc32fast::hash(members.as_bytes());
    format!("{{\"crc\":\"{crc:08x}\"{members}\n{rest}")
}

/// Where each line of the ledger ends, in bytes.
pub(crate) fn ends(ledger: &[u8]) -> Vec<usize> {
    (1..=ledger.len())
        .filter(|end| ledger[end - 1] == b'\n')
        .collect()
}
