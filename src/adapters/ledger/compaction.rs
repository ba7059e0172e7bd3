//! Compactions: a thread copies the current state of the ledger in parallel with the writer. The writer waits while
//! the events since are added, and the copy replaces the ledger.
//!
//! The copy begins with one line for each identity that was not removed, in the order of creation, and continues with
//! the events since it was begun. Keys and revoked registrations are left out [`RETENTION_MS`] after they
//! expired. A crash at any point leaves one complete ledger under the name: the copy is written to another file,
//! synced, and renamed.
//!
//! A wrong clock must not delete a valid key or make a revoked token valid again. So the time is that of the last
//! event, not the clock's, and expired entries are kept for longer than a clock is likely to be wrong.

use std::fs;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use parking_lot::Mutex;

use crate::adapters::files::{parent, remove_for_good};
use crate::domain::Timestamp;
use crate::ports::{Compaction, StoreError};

use super::draft::Draft;
use super::generation::Generation;
use super::record::{Event, Flaw, Ledger, Place, State, damaged, unfinished};
use super::writer::{LedgerWriter, caught, closed};

/// Retention of expired entries in the ledger: 400 days, because the usual error of a manually set clock is a
/// wrong year.
const RETENTION_MS: u64 = 400 * 86_400_000;

/// Longest tail, in bytes, that is left to the writer.
const TAIL_BYTES_MAX: u64 = 64 * 1024;

/// Disk space, in bytes, for what is added during a copy.
const ROOM_OF_TAIL: u64 = 16 * 1024 * 1024;

/// Length of a copy's batch, in bytes: sign-ups wait for the disk during its sync.
const BATCH_BYTES: usize = 1024 * 1024;

/// Compacts the ledger, one compaction at a time.
#[derive(Debug)]
pub(super) struct Compactor {
    writer: Arc<Mutex<LedgerWriter>>,
    /// Locked while a compaction is running.
    running: Mutex<()>,
    is_stopped: AtomicBool,
}

impl Compactor {
    pub(super) fn new(writer: Arc<Mutex<LedgerWriter>>) -> Self {
        Self {
            writer,
            running: Mutex::default(),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Compacts the ledger if it is still `needed` when no other compaction is running.
    pub(super) fn compact_if(
        &self,
        needed: fn(&LedgerWriter) -> bool,
    ) -> Result<Option<Compaction>, StoreError> {
        let _running = self.running.lock();
        // The files may belong to another process by now.
        if self.is_stopped.load(SeqCst) {
            return Err(closed());
        }
        if !needed(&self.writer.lock()) {
            return Ok(None);
        }
        let copied = caught(|| {
            let mut writer = self.writer.lock();
            writer.repair()?;
            let (secret, now) = (writer.ledger.head.secret.clone(), writer.now);
            Ok(Copy::begin(writer, &secret)?.run(now, &self.is_stopped)?)
        });
        match copied {
            Err(_) if self.is_stopped.load(SeqCst) => Err(closed()),
            copied => caught(|| self.writer.lock().end_compaction(copied)).map(Some),
        }
    }

    /// Begins a compaction if it is worthwhile. A failure affects nobody.
    pub(super) fn compact_if_due(self: &Arc<Self>) {
        if self.running.is_locked() || !self.writer.lock().is_compaction_due() {
            return;
        }
        let compactor = Arc::clone(self);
        let thread = thread::Builder::new().name("compaction".to_owned());
        let begun = thread.spawn(move || compactor.compact_if(LedgerWriter::is_compaction_due));
        if let Err(error) = begun {
            tracing::warn!(%error, "the ledger cannot be compacted");
        }
    }

    /// Lets the running compaction, and those that wait for it, end without effect.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, SeqCst);
    }

    /// Waits for their end. The ledger is complete without them.
    pub(super) fn wait(&self) {
        drop(self.running.lock());
    }
}

impl LedgerWriter {
    /// True if a compaction is worthwhile.
    fn is_compaction_due(&self) -> bool {
        let least = self.live().max(self.superfluous_min).max(self.put_off);
        self.superfluous() > least && self.health.is_sound()
    }

    /// Number of lines that a compaction keeps.
    fn live(&self) -> u64 {
        self.current.generation().table().len()
    }

    fn superfluous(&self) -> u64 {
        self.ledger.sequence.saturating_sub(self.live())
    }

    /// True if a contact was removed, whose address is still in a file.
    pub(super) fn has_forgotten(&self) -> bool {
        self.current.generation().table().has_forgotten()
    }

    /// Switches to the copy. After a failure, the next one begins by itself no earlier than with twice as many
    /// superfluous lines.
    fn end_compaction(
        &mut self,
        copied: Result<Copy, StoreError>,
    ) -> Result<Compaction, StoreError> {
        let (entries_before, bytes_before) = (self.ledger.sequence, self.ledger.length);
        let switched = copied.and_then(|copy| caught(|| Ok(self.switch_to(copy)?)));
        // The rename of the new generation may not be durable yet.
        let ready = self.make_ready();
        let compacted = switched.and(ready).map(|()| Compaction {
            entries_before,
            entries_after: self.ledger.sequence,
            bytes_before,
            bytes_after: self.ledger.length,
        });
        self.put_off = match &compacted {
            Ok(compaction) => {
                tracing::info!(
                    ledger.generation = self.ledger.head.generation,
                    ledger.events = compaction.entries_after,
                    "the ledger was compacted"
                );
                0
            }
            Err(error) => {
                tracing::warn!(%error, "the ledger cannot be compacted");
                self.superfluous().saturating_mul(2)
            }
        };
        compacted
    }

    /// Copies the tail, to which nobody is appending, and switches to the copy. The ledger must be repaired before it
    /// accepts events.
    pub(super) fn switch_to(&mut self, mut copy: Copy) -> Result<(), Flaw> {
        let running = self.current.generation();
        if !Arc::ptr_eq(&copy.from, &running) {
            // It does not receive the events of this generation.
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
        copy.copy_tail(&AtomicBool::new(false))?;
        self.ledger.check_place()?;
        copy.ledger.publish(&self.ledger.path)?;
        self.current.replace(copy.generation);
        let before = (std::mem::replace(&mut self.ledger, copy.ledger), running);
        // Freeing a large file takes a while. If no thread can be started, it is freed here.
        let thread = thread::Builder::new().name("freed".to_owned());
        let _ = thread.spawn(move || drop(before));
        Ok(())
    }
}

/// Estimated length of the copy of a ledger with this length and number of lines, with its tail: those that are `live`
/// are as long as the others.
fn copy_bytes(length: u64, lines: u64, live: u64) -> u64 {
    length.min((length / lines.max(1) + 1) * live + ROOM_OF_TAIL)
}

/// Checks that the disk of `directory` has `bytes` free: a full disk would refuse sign-ups.
pub(super) fn check_room(directory: &Path, bytes: u64) -> io::Result<()> {
    let disk = rustix::fs::statvfs(directory)?;
    // Some file systems report no size.
    if disk.f_blocks == 0 || disk.f_bavail.saturating_mul(disk.f_frsize) >= bytes {
        return Ok(());
    }
    let mib = bytes.div_ceil(1024 * 1024);
    let too_little = format!("it needs {mib} MiB of free disk space");
    Err(io::Error::new(io::ErrorKind::StorageFull, too_little))
}

/// An error once `is_stopped`.
fn check_stopped(is_stopped: &AtomicBool) -> io::Result<()> {
    match is_stopped.load(SeqCst) {
        true => Err(io::ErrorKind::Interrupted.into()),
        false => Ok(()),
    }
}

/// The next generation, while it is copied from the running one.
pub(super) struct Copy {
    from: Arc<Generation>,
    /// Everything before this place in `from` was copied.
    copied: Place,
    ledger: Ledger,
    generation: Generation,
    _aside: Aside,
}

/// The file of an unpublished copy; empty after the rename.
pub(super) struct Aside(pub(super) PathBuf);

impl Drop for Aside {
    fn drop(&mut self) {
        // Frees disk space; a full disk may be the reason why the copy failed.
        let _ = fs::remove_file(&self.0);
    }
}

impl Copy {
    /// Begins a copy of a repaired ledger under `secret`, if there is room for it. Lets go of the `writer` before it
    /// uses the disk, which may hang.
    pub(super) fn begin(
        writer: impl Deref<Target = LedgerWriter>,
        secret: &str,
    ) -> Result<Self, Flaw> {
        let from = writer.current.generation();
        let number = writer.ledger.head.generation + 1;
        let (files, path) = (Arc::clone(&writer.ledger.files), writer.ledger.path.clone());
        let bytes = copy_bytes(writer.ledger.length, writer.ledger.sequence, writer.live());
        drop(writer);
        check_room(parent(&path), bytes)?;
        let aside = Aside(unfinished(&path));
        // Read first: for everything before this place, the table knows whether it was forgotten.
        let copied = from.end();
        if from.table().has_forgotten() {
            // Nobody can tell which addresses it contains.
            let kept = damaged(&path);
            let named = |error| {
                let kept = kept.display();
                io::Error::other(format!("{kept} cannot be removed: {error}"))
            };
            remove_for_good(files.as_ref(), &kept).map_err(named)?;
        }
        let ledger = Ledger::create(&files, &path, number, secret)?;
        Ok(Self {
            from,
            copied,
            generation: Generation::empty(ledger.file.as_file().try_clone()?),
            ledger,
            _aside: aside,
        })
    }

    /// Copies the state at the begin, without entries that have expired by `now`, and what is added meanwhile. Ends
    /// early once `is_stopped`.
    pub(super) fn run(mut self, now: Timestamp, is_stopped: &AtomicBool) -> Result<Self, Flaw> {
        let created = |state: State| {
            let expires_at = state.expires_at();
            let is_kept = expires_at.is_none_or(|at| now < at.plus_ms(RETENTION_MS));
            is_kept.then_some(Event::Created(state))
        };
        let from = Arc::clone(&self.from);
        let created = from.states(self.copied, created);
        append(&mut self.ledger, &self.generation, created, is_stopped)?;
        loop {
            self.copy_tail(is_stopped)?;
            if self.from.end() - self.copied <= TAIL_BYTES_MAX {
                check_stopped(is_stopped)?;
                return Ok(self);
            }
        }
    }

    /// Copies the events since.
    fn copy_tail(&mut self, is_stopped: &AtomicBool) -> Result<(), Flaw> {
        let (from, end) = (Arc::clone(&self.from), self.from.end());
        let events = from.events(self.copied, end);
        append(&mut self.ledger, &self.generation, events, is_stopped)?;
        self.copied = end;
        Ok(())
    }
}

/// Adds events to a new generation, in which each identity begins with one that created it.
pub(super) fn append(
    ledger: &mut Ledger,
    generation: &Generation,
    events: impl Iterator<Item = Result<(Place, Event), Flaw>>,
    is_stopped: &AtomicBool,
) -> Result<(), Flaw> {
    let mut draft = Draft::new(generation);
    let mut bytes = 0;
    for event in events {
        check_stopped(is_stopped)?;
        let (_place, event) = event?;
        match event {
            Event::Created(state) | Event::Changed(state) => draft.put(state)?,
            Event::Removed(identity) => drop(draft.remove(identity)?),
        }
        bytes += draft.last_bytes();
        if bytes >= BATCH_BYTES {
            draft.write(ledger)?;
            draft = Draft::new(generation);
            bytes = 0;
        }
    }
    Ok(draft.write(ledger)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_needs_room_for_what_stays_and_a_tail() {
        let (length, lines) = (400_000_000, 1_000_000);
        assert_eq!(copy_bytes(length, lines, 1000), 401_000 + ROOM_OF_TAIL);
        assert_eq!(copy_bytes(length, lines, lines), length);
        assert_eq!(copy_bytes(128, 0, 0), 128);
    }

    #[test]
    fn a_copy_that_does_not_fit_is_refused_with_the_space_it_needs() {
        let here = Path::new(".");
        check_room(here, 0).unwrap();
        let refused = check_room(here, 1 << 60).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
        assert_eq!(
            refused.to_string(),
            "it needs 1099511627776 MiB of free disk space"
        );
    }
}
