//! The journal: a copy of the lines that the ledger's own file was not synced with yet, in a file
//! that never grows.
//!
//! A file that grows is dear to sync, because the file system has to note its new length and
//! blocks down. So a busy ledger's lines are appended as ever, but what is synced is their copy
//! here, which replaces bytes that are there. When the journal is full, the ledger's file is synced
//! with the batch that did not fit, and the journal begins anew.
//!
//! Nobody needs it but a start after a power cut ([`super::recovery`]): the ledger that other
//! programs read always holds every line. It is made when the ledger is busy, and gone after a
//! clean stop.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::append::{Position, append_whole};
use super::files::{AppendFile, Files, parent};
use super::head::Head;
use super::line;

/// How long a journal is at most: some five thousand sign-ups.
pub(super) const JOURNAL_BYTES_MAX: u64 = 1024 * 1024;

/// A ledger that was synced so often without a journal is a busy one.
const SYNCS_BEFORE_JOURNAL: u32 = 64;

/// Which part of what the disk has free it is made of at most: the rest is for the lines and the
/// index.
const FREE_PART: u64 = 64;

/// What stands in a journal where nothing was written yet. It is made in pieces of this length.
const BLANK: [u8; 4096] = [b' '; 4096];

/// Where the journal of the ledger at `path` is.
pub(crate) fn journal_path(path: &Path) -> PathBuf {
    path.with_extension("journal")
}

/// A journal's first line: which ledger its lines continue, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begin {
    pub(super) generation: u64,
    pub(super) sequence: u64,
    pub(super) batch: u64,
    /// Where the lines begin in the ledger, in bytes. Up to there it was synced.
    pub(super) length: u64,
    pub(super) secret: String,
}

impl Begin {
    fn new(head: &Head, position: Position) -> Self {
        Self {
            generation: head.generation,
            sequence: position.sequence,
            batch: position.batch,
            length: position.length,
            secret: head.secret.clone(),
        }
    }

    /// Whether the ledger that begins with `head` is the one.
    pub(super) fn is_of(&self, head: &Head) -> bool {
        self.generation == head.generation && self.secret == head.secret
    }

    /// Reads a first line without its newline; nothing if no line can follow where it says.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        line::checked(line)?;
        let begin: Self = serde_json::from_slice(line).ok()?;
        // A head comes before, and a batch behind.
        (begin.length > 0 && begin.batch < u64::MAX).then_some(begin)
    }

    fn write(&self, out: &mut Vec<u8>) -> io::Result<()> {
        line::seal(out, self)
    }
}

/// The journal of a ledger that is open for writing; most have none.
pub(super) struct Journal {
    files: Arc<dyn Files>,
    path: PathBuf,
    file: Option<Box<dyn AppendFile>>,
    /// Whether a file may be there, or come back after a power cut.
    may_exist: bool,
    /// How long it is.
    length: u64,
    /// How many bytes of it are in use.
    used: u64,
    /// The last lines of the ledger: those that are safe in the journal only.
    unsynced: Vec<u8>,
    /// How often the ledger's file was synced because there was no journal.
    syncs: u32,
}

impl Journal {
    /// None yet, for the ledger at `path`.
    pub(super) fn none(files: Arc<dyn Files>, path: &Path) -> Self {
        let path = journal_path(path);
        Self {
            files,
            file: None,
            may_exist: path.try_exists().unwrap_or(true),
            path,
            length: 0,
            used: 0,
            unsynced: Vec::new(),
            syncs: 0,
        }
    }

    /// Makes `lines`, which were appended to the ledger at `position`, safe in the journal. Says
    /// whether they are: otherwise the ledger's file is to be synced.
    pub(super) fn keep(&mut self, head: &Head, position: Position, lines: &[u8]) -> bool {
        let Some(file) = self.file.as_mut() else {
            return false;
        };
        let mut begun = Vec::new();
        if self.used == 0
            && let Err(error) = Begin::new(head, position).write(&mut begun)
        {
            tracing::warn!(%error, "the ledger's journal cannot be begun");
            return false;
        }
        begun.extend_from_slice(lines);
        let end = self.used + begun.len() as u64;
        if end > self.length {
            return false;
        }
        let written = file.overwrite(self.used, &begun).and_then(|()| file.sync());
        match written {
            Ok(()) => {
                self.used = end;
                self.unsynced.extend_from_slice(lines);
                true
            }
            Err(error) => {
                // Whatever it holds stands in the ledger, too.
                tracing::warn!(%error, "the ledger's journal takes no writes");
                self.file = None;
                false
            }
        }
    }

    /// Takes note that the ledger's file was synced, with all its lines. This is when a journal
    /// is made or given up: nobody depends on it.
    pub(super) fn begin_anew(&mut self) {
        self.used = 0;
        self.unsynced.clear();
        let is_busy = self.syncs >= SYNCS_BEFORE_JOURNAL;
        self.syncs = if is_busy { 0 } else { self.syncs + 1 };
        let changed = match self.file {
            // Not sooner: its own lines are in the ledger now, and made the disk fuller.
            Some(_) if self.length / 2 > self.length_max() => self.discard(),
            // One that takes no writes may not be readable either, and a start would need it.
            None if self.may_exist => self.discard(),
            None if is_busy => self.make(),
            Some(_) | None => Ok(()),
        };
        if let Err(error) = changed {
            // Without it, too, every line is safe. It is tried again after as many more.
            tracing::debug!(%error, "the ledger goes on without a journal");
        }
    }

    /// The last lines of the ledger that its file may lose in a power cut.
    pub(super) fn unsynced(&self) -> &[u8] {
        &self.unsynced
    }

    /// Takes note that the last `bytes` of the ledger do not count any more.
    pub(super) fn take_back(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let left = self.unsynced.len().saturating_sub(bytes);
        self.unsynced.truncate(left);
    }

    /// Removes the journal, whose lines the ledger's file was synced with, for good. It leaves its
    /// room to others.
    pub(super) fn discard(&mut self) -> io::Result<()> {
        self.file = None;
        self.used = 0;
        self.syncs = 0;
        self.unsynced = Vec::new();
        if self.may_exist {
            self.files.remove(&self.path)?;
            self.files.sync_directory(parent(&self.path))?;
            self.may_exist = false;
        }
        Ok(())
    }

    /// Whether it takes room on the disk.
    pub(super) fn takes_room(&self) -> bool {
        self.may_exist
    }

    /// How long one may be made, as full as the disk is.
    fn length_max(&self) -> u64 {
        let free = self.files.free_bytes(parent(&self.path)).unwrap_or(0);
        let pieces = (free / FREE_PART).min(JOURNAL_BYTES_MAX) / BLANK.len() as u64;
        pieces * BLANK.len() as u64
    }

    fn make(&mut self) -> io::Result<()> {
        self.length = self.length_max();
        if self.length == 0 {
            return Ok(());
        }
        self.may_exist = true;
        match self.make_blank() {
            Ok(file) => {
                self.file = Some(file);
                Ok(())
            }
            Err(error) => {
                // It takes room, which may be what is missing.
                self.discard()?;
                Err(error)
            }
        }
    }

    /// A file of spaces that are written, so that its blocks are its own, and that is there to stay.
    fn make_blank(&self) -> io::Result<Box<dyn AppendFile>> {
        let mut file = self.files.create(&self.path)?;
        for _ in 0..self.length / BLANK.len() as u64 {
            append_whole(file.as_mut(), &BLANK)?;
        }
        file.sync()?;
        self.files.sync_directory(parent(&self.path))?;
        Ok(file)
    }
}

/// Says how much there is of it, not what.
impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("is_open", &self.file.is_some())
            .field("used", &self.used)
            .finish_non_exhaustive()
    }
}
