//! Compaction: writes a new generation of the ledger with the lines that still count. Left out are
//! all but the last "seen" event of a contact, and everything about a forgotten contact. Keys with their
//! revocations, and revocations of tokens, are left out [`RETENTION_MS`] after they expired.
//!
//! A wrong clock must not delete a valid key or make a revoked token valid again. So the time is that of
//! the last event, not the clock's, and expired entries are kept for longer than a clock is likely to be
//! wrong.
//!
//! The generation is written beside the old one, synced, and renamed over it: a crash at any point
//! leaves one complete ledger under the name. It is made from the old ledger alone, so that a fault
//! of the index cannot reach the record.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::adapters::files::Files;
use crate::domain::time::Timestamp;

use super::event::Identity;
use super::event_reader::{each_event, each_line};
use super::file::{Ledger, unfinished};
use super::fold::{Kept, fold};
use super::head::{FORMAT, Head};
use super::reader::Flaw;

/// How many lines are written at a time, as one batch.
const BATCH_LINES: usize = 1024;

/// How long expired entries stay in the ledger: 400 days, because the usual error of a clock that is set
/// by hand is a wrong year.
const RETENTION_MS: u64 = 400 * 86_400_000;

/// Writes the first generation. It must be repaired before it takes events.
pub(crate) fn create(files: &Arc<dyn Files>, path: &Path, secret: &str) -> io::Result<Ledger> {
    let mut ledger = Ledger::create(files, path, head(1, 0, secret))?;
    ledger.publish()?;
    Ok(ledger)
}

/// Writes `generation` with every good line of the ledger at `path` that counts at `now`, and
/// returns it with the identities that have expired. Bad lines of a damaged ledger are left out.
/// `before_switch` is called just before the generation replaces that ledger.
///
/// The generation must be repaired before it takes events.
pub(crate) fn compact(
    files: &Arc<dyn Files>,
    path: &Path,
    generation: u64,
    secret: &str,
    now: Timestamp,
    before_switch: impl FnOnce() -> io::Result<()>,
) -> Result<(Ledger, Vec<Identity>), Flaw> {
    let (live, expired) = live_places(path, now)?;
    let head = head(generation, live.len() as u64, secret);
    let written = write(files, path, head, live).and_then(|mut ledger| {
        before_switch()?;
        ledger.publish()?;
        Ok(ledger)
    });
    if written.is_err() {
        // Frees disk space; a full disk may be the cause.
        let _ = fs::remove_file(unfinished(path));
    }
    Ok((written?, expired))
}

/// Writes the generation that `head` begins with the lines of the ledger at `path` in the places
/// `live`, which ascend.
fn write(files: &Arc<dyn Files>, path: &Path, head: Head, live: Vec<u64>) -> Result<Ledger, Flaw> {
    let mut ledger = Ledger::create(files, path, head)?;
    let mut live = live.into_iter().peekable();
    let mut events: Vec<Box<[u8]>> = Vec::new();
    each_line(path, |place, line| {
        if live.next_if_eq(&place).is_some() {
            events.push(line.event.into());
        }
        if events.len() == BATCH_LINES {
            ledger.append_unsynced(&events)?;
            events.clear();
        }
        Ok::<_, Flaw>(())
    })?;
    if !events.is_empty() {
        ledger.append_unsynced(&events)?;
    }
    Ok(ledger)
}

fn head(generation: u64, base: u64, secret: &str) -> Head {
    Head {
        format: FORMAT,
        generation,
        base,
        secret: secret.to_owned(),
    }
}

/// The places of the lines that count, ascending, and the identities that have expired.
fn live_places(path: &Path, now: Timestamp) -> Result<(Vec<u64>, Vec<Identity>), Flaw> {
    // By hash, which bounds the memory that an identity takes.
    let mut kept: HashMap<[u8; 16], Kept<u64>> = HashMap::new();
    let mut expired = Vec::new();
    each_event(path, |place, event, _json| {
        let identity = event.identity();
        let hash = short_hash(&identity);
        let before = kept.remove(&hash);
        let gone_at = event.expires_at().map(|at| at.plus_ms(RETENTION_MS));
        if gone_at.is_some_and(|at| at <= now) {
            expired.push(identity);
        } else if let Some(after) = fold(before, event, place) {
            kept.insert(hash, after);
        }
        Ok::<_, Flaw>(())
    })?;
    // A key may have been issued again.
    expired.retain(|identity| !kept.contains_key(&short_hash(identity)));
    let mut places: Vec<u64> = kept
        .into_values()
        .flat_map(|kept| [Some(kept.first), kept.last])
        .flatten()
        .collect();
    places.sort_unstable();
    Ok((places, expired))
}

/// A hash that two identities do not share.
pub(crate) fn short_hash(identity: &Identity) -> [u8; 16] {
    let mut short = [0; 16];
    blake3::Hasher::new()
        .update(identity.as_bytes())
        .finalize_xof()
        .fill(&mut short);
    short
}
