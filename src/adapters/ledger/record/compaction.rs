//! Compaction: writes a new generation of the ledger with the lines that still count. Left out are
//! all but the last sighting of a contact, everything about a forgotten one, expired keys with their
//! revocations, and revocations of expired tokens.
//!
//! The generation is written beside the old one, synced, and renamed over it: a crash at any point
//! leaves one complete ledger under the name. It is made from the old ledger alone, so that a fault
//! of the index cannot reach the record.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::files::{AppendFile, BUFFER_BYTES, Files};
use crate::domain::time::Timestamp;

use super::event::Identity;
use super::file::{Ledger, append_whole};
use super::fold::{Kept, fold};
use super::head::{FORMAT, Head};
use super::line::Line;
use super::reader::{Flaw, each_event, each_line};

/// Where the next generation is while it is written.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("jsonl.new")
}

/// Writes the first generation.
pub(crate) fn create(files: &Arc<dyn Files>, path: &Path, secret: &str) -> io::Result<Ledger> {
    let mut writer = Writer::create(files, path, 1, 0, secret)?;
    writer.flush()?;
    writer.publish()
}

/// Writes `generation` with every good line of the ledger at `path` that counts at `now`, and
/// returns it with the identities that have expired. Bad lines of a damaged ledger are left out.
///
/// The ledger must be repaired before it takes events.
pub(crate) fn compact(
    files: &Arc<dyn Files>,
    path: &Path,
    generation: u64,
    secret: &str,
    now: Timestamp,
) -> Result<(Ledger, Vec<Identity>), Flaw> {
    let (live, expired) = live_places(path, now)?;
    let mut writer = Writer::create(files, path, generation, live.len() as u64, secret)?;
    let mut live = live.into_iter().peekable();
    let copied = each_line(path, |place, line| {
        if live.next_if_eq(&place).is_some() {
            writer.push(line.event)?;
        }
        Ok::<_, Flaw>(())
    });
    let published = copied.and_then(|()| {
        writer.flush()?;
        Ok(writer.publish()?)
    });
    if published.is_err() {
        // It takes room, which may be what is missing.
        let _ = fs::remove_file(unfinished(path));
    }
    Ok((published?, expired))
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
        if event.expires_at().is_some_and(|at| at <= now) {
            expired.push(identity);
        } else if let Some(after) = fold(before, event, place) {
            kept.insert(hash, after);
        }
        Ok::<_, Flaw>(())
    })?;
    let mut places: Vec<u64> = kept
        .into_values()
        .flat_map(|kept| [Some(kept.first), kept.last])
        .flatten()
        .collect();
    places.sort_unstable();
    Ok((places, expired))
}

fn short_hash(identity: &Identity) -> [u8; 16] {
    let mut short = [0; 16];
    blake3::Hasher::new()
        .update(identity.as_bytes())
        .finalize_xof()
        .fill(&mut short);
    short
}

/// Writes a generation, each line a batch of its own.
struct Writer {
    files: Arc<dyn Files>,
    path: PathBuf,
    file: Box<dyn AppendFile>,
    head: Head,
    written: u64,
    length: u64,
    buffer: Vec<u8>,
}

impl Writer {
    fn create(
        files: &Arc<dyn Files>,
        path: &Path,
        generation: u64,
        base: u64,
        secret: &str,
    ) -> io::Result<Self> {
        let head = Head {
            format: FORMAT,
            generation,
            base,
            secret: secret.to_owned(),
        };
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        head.write(&mut buffer)?;
        Ok(Self {
            files: Arc::clone(files),
            path: path.to_path_buf(),
            file: files.create(&unfinished(path))?,
            head,
            written: 0,
            length: 0,
            buffer,
        })
    }

    fn push(&mut self, event: &[u8]) -> io::Result<()> {
        self.written += 1;
        let line = Line {
            sequence: self.written,
            batch: self.written,
            left: 0,
            event,
        };
        line.write(&mut self.buffer);
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        append_whole(self.file.as_mut(), &self.buffer)?;
        self.length += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Renames the generation into place. [`Ledger::repair`] makes the rename durable.
    fn publish(mut self) -> io::Result<Ledger> {
        self.file.sync()?;
        self.files.rename(&unfinished(&self.path), &self.path)?;
        Ok(Ledger::renamed(
            self.files,
            self.path,
            self.file,
            self.head,
            self.length,
        ))
    }
}
