//! Appending: the file only grows, and is cut back only over what was never acknowledged.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::event::Event;
use super::files::{AppendFile, Files, parent};
use super::head::Head;
use super::line::Line;
use super::reader::Verified;

/// What [`Ledger::repair`] writes to learn whether the disk takes writes again: more than fits
/// into the block that the file ends in.
const PROBE: [u8; 4096] = [b'\n'; 4096];

/// A verified ledger, open for writing.
#[derive(Debug)]
pub(crate) struct Ledger {
    files: Arc<dyn Files>,
    path: PathBuf,
    file: Box<dyn AppendFile>,
    head: Head,
    position: Position,
    state: State,
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
    /// Opens a ledger, and cuts the rest of a batch that was never acknowledged.
    pub(crate) fn open(
        files: Arc<dyn Files>,
        path: &Path,
        verified: &Verified,
    ) -> io::Result<Self> {
        let position = Position {
            sequence: verified.sequence,
            batch: verified.batch,
            length: verified.length,
        };
        let mut file = files.open(path)?;
        if let Some(torn) = &verified.torn {
            tracing::warn!(
                ledger.line = torn.line,
                ledger.cut_bytes = torn.bytes,
                "the ledger ends in an unfinished batch that was never acknowledged: cut"
            );
            file.truncate(position.length)?;
        }
        // The last process may have been killed between writing and syncing.
        file.sync()?;
        files.sync_directory(parent(path))?;
        Ok(Self {
            files,
            path: path.to_path_buf(),
            file,
            head: verified.head.clone(),
            position,
            state: State::Sound,
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

    /// Appends `events` as one batch and syncs it. After an error nothing of it counts, and
    /// [`Ledger::repair`] comes first.
    pub(crate) fn append(&mut self, events: &[Event]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut next = self.position;
        next.batch += 1;
        for (event, left) in events.iter().zip((0..events.len() as u64).rev()) {
            next.sequence += 1;
            let event = serde_json::to_vec(event)?;
            let line = Line {
                sequence: next.sequence,
                batch: next.batch,
                left,
                event: &event,
            };
            line.write(&mut bytes);
        }
        next.length += bytes.len() as u64;
        self.state = State::Torn;
        append_whole(self.file.as_mut(), &bytes)?;
        self.file.sync()?;
        self.position = next;
        self.state = State::Sound;
        Ok(())
    }

    /// Takes back what was appended after `position`, or as much of it as there is.
    pub(crate) fn roll_back(&mut self, position: Position) {
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

    fn cut(&mut self) -> io::Result<()> {
        self.file.truncate(self.position.length)?;
        self.state = State::Suspect;
        Ok(())
    }
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
