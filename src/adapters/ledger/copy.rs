//! The next generation of the ledger, while it is written next to the running one.
//!
//! It begins with one line for each identity that was not removed, in the order of creation, and continues with the
//! events since the copy was begun. Keys and revoked registrations are left out [`RETENTION_MS`] after they
//! expired. A crash at any point leaves one complete ledger under the name: the copy is written to another file,
//! synced, and renamed.
//!
//! A wrong clock must not delete a valid key or make a revoked token valid again. So the time is that of the last
//! event, not the clock's, and expired entries are kept for longer than a clock is likely to be wrong.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::adapters::files::{parent, remove_for_good};
use crate::domain::Timestamp;

use super::draft::Draft;
use super::generation::Generation;
use super::record::{Event, Flaw, Ledger, Place, State, damaged, unfinished};
use super::writer::LedgerWriter;

/// Retention of expired entries in the ledger: 400 days, because the usual error of a manually set clock is a
/// wrong year.
const RETENTION_MS: u64 = 400 * 86_400_000;

/// Longest tail, in bytes, that is left to the writer.
const TAIL_BYTES_MAX: u64 = 64 * 1024;

/// Length of a copy's batch, in bytes: sign-ups wait for the disk during its sync.
const BATCH_BYTES: usize = 1024 * 1024;

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
    match is_stopped.load(Ordering::Relaxed) {
        true => Err(io::ErrorKind::Interrupted.into()),
        false => Ok(()),
    }
}

/// The next generation, while it is copied from the running one.
pub(super) struct Copy {
    from: Arc<Generation>,
    /// Everything before this place in `from` was copied.
    copied: Place,
    /// The ledger's path. The copy is next to it.
    path: PathBuf,
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
    /// Begins a copy of a repaired ledger under `secret`, if there is room for all of it.
    pub(super) fn begin(writer: &LedgerWriter, secret: &str) -> Result<Self, Flaw> {
        let (running, from) = (&writer.ledger, writer.shared.generation());
        check_room(parent(&running.path), running.length)?;
        let aside = Aside(unfinished(&running.path));
        if from.table().has_forgotten() {
            // Nobody can tell which addresses it contains.
            let kept = damaged(&running.path);
            let named = |error| {
                let kept = kept.display();
                io::Error::other(format!("{kept} cannot be removed: {error}"))
            };
            remove_for_good(running.files.as_ref(), &kept).map_err(named)?;
        }
        let number = running.head.generation + 1;
        let ledger = Ledger::create(&running.files, &running.path, number, secret)?;
        Ok(Self {
            copied: from.end(),
            from,
            path: running.path.clone(),
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

    /// True if it receives the events added to `generation`.
    pub(super) fn is_of(&self, generation: &Arc<Generation>) -> bool {
        Arc::ptr_eq(&self.from, generation)
    }

    /// Copies the tail, to which nobody may be appending, and renames the copy into place. `before_switch` is
    /// called just before. The ledger must be repaired before it accepts events.
    pub(super) fn publish(
        mut self,
        before_switch: impl FnOnce() -> io::Result<()>,
    ) -> Result<(Ledger, Generation), Flaw> {
        self.copy_tail(&AtomicBool::new(false))?;
        before_switch()?;
        self.ledger.publish(&self.path)?;
        Ok((self.ledger, self.generation))
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
