//! Appending: the file only grows, and is cut back only over what was never acknowledged.
//!
//! A batch is safe as soon as either the journal holds it or the file was synced with it. What only
//! the journal holds is written again before the file is trusted after a failure: a sync that
//! failed may have lost any of it, and the next one would not tell.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::event::Event;
use super::files::{AppendFile, BUFFER_BYTES, Files, parent};
use super::head::Head;
use super::journal::{Journal, journal_path};
use super::line::Line;
use super::recovery::Recovered;

/// What [`Ledger::repair`] writes to learn whether the disk takes writes again: more than fits
/// into the block that the file ends in.
const PROBE: [u8; 4096] = [b'\n'; 4096];

/// More than most lines take.
const LINE_CAPACITY: usize = 256;

/// A verified ledger, open for writing.
#[derive(Debug)]
pub(crate) struct Ledger {
    files: Arc<dyn Files>,
    path: PathBuf,
    file: Box<dyn AppendFile>,
    head: Head,
    position: Position,
    state: State,
    journal: Journal,
}

/// How far the ledger is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The last event.
    pub(crate) sequence: u64,
    /// Its batch.
    pub(crate) batch: u64,
    /// Where it ends, in bytes.
    pub(crate) length: u64,
}

/// Whether the file can be appended to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Sound,
    /// A write failed and was cut back; whether the next one works is not known.
    Suspect,
    /// Something may stand behind the acknowledged end.
    Torn,
    /// The file took its name, but a power cut may give the name back to its predecessor.
    Unnamed,
}

impl Ledger {
    /// Opens a ledger, writes again what its file may have lost, and cuts the rest of a batch that
    /// was never acknowledged. Where the file `is_synced`, its own lines are not written again.
    pub(crate) fn open(
        files: Arc<dyn Files>,
        path: &Path,
        recovered: &Recovered,
        is_synced: bool,
    ) -> io::Result<Self> {
        let verified = &recovered.verified;
        let position = Position {
            sequence: verified.sequence,
            batch: verified.batch,
            length: verified.length,
        };
        let mut file = files.open(path)?;
        let lacking = recovered.kept.as_ref().filter(|kept| kept.is_lacking);
        if let Some(lacking) = lacking {
            tracing::warn!(
                ledger.journal_bytes = lacking.bytes.len(),
                ledger.events = position.sequence,
                "the ledger had not reached the disk whole: its end was written from the journal"
            );
        }
        // The last process may have been killed between writing and syncing, or behind a sync that
        // failed and lost what it was for. That was the journal's lines, or the last batch.
        if let Some(kept) = &recovered.kept {
            file.overwrite(kept.at, &kept.bytes)?;
        }
        // A disk that writes nothing in place may have no room for that.
        if !is_synced {
            write_again(file.as_mut(), path, verified.batch_begin, verified.length)?;
        }
        if let Some(torn) = &verified.torn {
            tracing::warn!(
                ledger.line = torn.line,
                ledger.cut_bytes = torn.bytes,
                "the ledger ends in an unfinished batch that was never acknowledged: cut"
            );
        }
        if lacking.is_some() || verified.torn.is_some() {
            file.truncate(position.length)?;
        }
        file.sync()?;
        files.sync_directory(parent(path))?;
        if recovered.is_journal_foreign {
            set_journal_aside(files.as_ref(), path)?;
        }
        let mut journal = Journal::none(Arc::clone(&files), path);
        journal.discard()?;
        Ok(Self {
            files,
            path: path.to_path_buf(),
            file,
            head: verified.head.clone(),
            position,
            state: State::Sound,
            journal,
        })
    }

    /// Takes over a file that was written whole and renamed to `path`.
    pub(super) fn renamed(
        files: Arc<dyn Files>,
        path: &Path,
        file: Box<dyn AppendFile>,
        head: Head,
        length: u64,
    ) -> Self {
        let position = Position {
            sequence: head.base,
            batch: head.base,
            length,
        };
        Self {
            journal: Journal::none(Arc::clone(&files), path),
            files,
            path: path.to_path_buf(),
            file,
            head,
            position,
            state: State::Unnamed,
        }
    }

    pub(crate) fn files(&self) -> &Arc<dyn Files> {
        &self.files
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// Appends `events` as one batch and makes it safe. After an error nothing of it counts, and
    /// [`Ledger::repair`] comes first.
    pub(crate) fn append(&mut self, events: &[Event]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(events.len() * LINE_CAPACITY);
        let mut event_bytes = Vec::with_capacity(LINE_CAPACITY);
        let mut next = self.position;
        next.batch += 1;
        for (event, left) in events.iter().zip((0..events.len() as u64).rev()) {
            next.sequence += 1;
            event_bytes.clear();
            serde_json::to_writer(&mut event_bytes, event)?;
            let line = Line {
                sequence: next.sequence,
                batch: next.batch,
                left,
                event: &event_bytes,
            };
            line.write(&mut bytes);
        }
        next.length += bytes.len() as u64;
        self.state = State::Torn;
        self.write(&bytes)?;
        if !self.journal.keep(&self.head, self.position, &bytes) {
            self.file.sync()?;
            self.journal.begin_anew();
        }
        self.position = next;
        self.state = State::Sound;
        Ok(())
    }

    /// Writes `bytes` behind the end. If there is no room for them, the journal's is given back
    /// before anybody hears of that.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match append_whole(self.file.as_mut(), bytes) {
            Err(error)
                if error.kind() == io::ErrorKind::StorageFull && self.journal.takes_room() =>
            {
                self.cut()?;
                self.state = State::Torn;
                append_whole(self.file.as_mut(), bytes)
            }
            written => written,
        }
    }

    /// Takes back what was appended after `position`, or as much of it as there is.
    pub(crate) fn roll_back(&mut self, position: Position) {
        self.journal
            .take_back(self.position.length.saturating_sub(position.length));
        self.position = position;
        self.state = State::Torn;
        if let Err(error) = self.cut() {
            tracing::error!(%error, "the ledger cannot be cut back to its last acknowledged entry");
        }
    }

    /// Makes the ledger fit for appending again, if it is not.
    pub(crate) fn repair(&mut self) -> io::Result<()> {
        if self.state == State::Unnamed {
            self.files.sync_directory(parent(&self.path))?;
            self.state = State::Sound;
        }
        if self.state == State::Torn {
            self.cut()?;
        }
        if self.state == State::Suspect {
            self.state = State::Torn;
            let probed = append_whole(self.file.as_mut(), &PROBE).and_then(|()| self.file.sync());
            self.cut()?;
            probed?;
            self.state = State::Sound;
        }
        Ok(())
    }

    /// Whether the next append may be tried.
    pub(crate) fn is_sound(&self) -> bool {
        self.state == State::Sound
    }

    /// Syncs the file with all its lines, so that it needs no journal, and gives that up.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        if self.state == State::Sound {
            self.state = State::Torn;
            self.file.sync()?;
            self.journal.discard()?;
            self.state = State::Sound;
        }
        Ok(())
    }

    /// Leaves in the file what is acknowledged, synced, and nothing anywhere else.
    fn cut(&mut self) -> io::Result<()> {
        let unsynced = self.journal.unsynced();
        if !unsynced.is_empty() {
            let begin = self.position.length - unsynced.len() as u64;
            self.file.overwrite(begin, unsynced)?;
        }
        self.file.truncate(self.position.length)?;
        self.journal.discard()?;
        self.state = State::Suspect;
        Ok(())
    }
}

/// Puts the journal of the ledger at `path` where nothing touches it, for people to look at.
pub(crate) fn set_journal_aside(files: &dyn Files, path: &Path) -> io::Result<()> {
    let journal = journal_path(path);
    if !journal.try_exists()? {
        return Ok(());
    }
    let mut number = 1_u64;
    let aside = loop {
        let aside = path.with_extension(format!("journal.{number}"));
        if !aside.try_exists()? {
            break aside;
        }
        number += 1;
    };
    files.rename(&journal, &aside)?;
    files.sync_directory(parent(path))?;
    tracing::warn!(
        path = %aside.display(),
        "the ledger's journal was set aside: it may hold lines that the ledger does not have"
    );
    Ok(())
}

/// Writes the bytes from `begin` to `end` of the file at `path` in their own place, so that the
/// next sync is for them, too.
fn write_again(file: &mut dyn AppendFile, path: &Path, begin: u64, end: u64) -> io::Result<()> {
    let there = File::open(path)?;
    for at in (begin..end).step_by(BUFFER_BYTES) {
        let mut bytes = vec![0; BUFFER_BYTES.min(usize::try_from(end - at).unwrap_or(usize::MAX))];
        there.read_exact_at(&mut bytes, at)?;
        file.overwrite(at, &bytes)?;
    }
    Ok(())
}

/// Appends all of `bytes` with one write.
pub(super) fn append_whole(file: &mut dyn AppendFile, bytes: &[u8]) -> io::Result<()> {
    let taken = file.append(bytes)?;
    if taken == bytes.len() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::StorageFull,
        format!("only {taken} of {} bytes were written", bytes.len()),
    ))
}
