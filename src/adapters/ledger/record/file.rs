//! The ledger's file: batches are appended and synced; unacknowledged lines are truncated.

use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::files::{AppendFile, Files, append_whole, file_id, sync_parent};

use super::line::{FORMAT, Head, Line, LineNumbers, Place};
use super::verify::Verified;

/// Written to test whether the disk accepts writes: more than fits into the last block of a file.
const PROBE: [u8; 4096] = [b'\n'; 4096];

/// Longer than most lines.
const LINE_CAPACITY: usize = 256;

/// A verified ledger, open for writing.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) path: PathBuf,
    /// The open file. Its path may belong to another file by now.
    pub(crate) file: Box<dyn AppendFile>,
    pub(crate) head: Head,
    /// The last acknowledged event.
    pub(crate) sequence: u64,
    /// The batch of that event.
    batch: u64,
    /// End of that event in the file.
    pub(crate) length: u64,
    condition: Condition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Sound,
    /// There may be bytes after the acknowledged end, and it is unknown whether the disk accepts writes: after the
    /// start, or after a failure.
    Untested,
    /// The file was renamed into place, but a power cut could undo that.
    Unnamed,
}

impl Ledger {
    /// Opens a ledger and terminates its last line. [`Ledger::repair`] truncates its torn end. Unless `is_synced`, its
    /// last batch is written again in place first: the last process may have been killed during a sync that lost it,
    /// and a later sync would not cover it.
    pub(crate) fn open(
        files: &Arc<dyn Files>,
        path: &Path,
        verified: Verified,
        is_synced: bool,
    ) -> io::Result<Self> {
        let mut file = files.open(path)?;
        if verified.is_unterminated {
            append_whole(file.as_mut(), b"\n")?;
        }
        if !is_synced {
            let begin = verified.batch_begin;
            let length = usize::try_from(verified.length - begin).unwrap_or(usize::MAX);
            let mut batch = vec![0; length];
            file.as_file().read_exact_at(&mut batch, begin)?;
            file.overwrite(begin, &batch)?;
        }
        let torn_bytes = usize::try_from(verified.torn_bytes).unwrap_or(usize::MAX);
        let mut torn = vec![0; torn_bytes.min(PROBE.len() + 1)];
        file.as_file().read_exact_at(&mut torn, verified.length)?;
        // A power cut may have left a part of the probe.
        if !PROBE.starts_with(&torn) {
            tracing::warn!(
                ledger.cut_bytes = verified.torn_bytes,
                "the ledger ends in an unfinished batch that was never acknowledged: truncated"
            );
        }
        file.sync()?;
        sync_parent(files.as_ref(), path)?;
        Ok(Self {
            files: Arc::clone(files),
            path: path.to_path_buf(),
            file,
            head: verified.head,
            sequence: verified.sequence,
            batch: verified.batch,
            length: verified.length,
            condition: Condition::Untested,
        })
    }

    /// Creates the empty first generation of a ledger, durably.
    pub(crate) fn begin(files: &Arc<dyn Files>, path: &Path, secret: &str) -> io::Result<()> {
        let mut ledger = Self::create(files, path, 1, secret)?;
        ledger.publish(path)?;
        ledger.repair()
    }

    /// Creates a generation in a file next to its destination at `path`.
    pub(crate) fn create(
        files: &Arc<dyn Files>,
        path: &Path,
        generation: u64,
        secret: &str,
    ) -> io::Result<Self> {
        let head = Head {
            format: FORMAT,
            generation,
            base: 0,
            secret: secret.to_owned(),
        };
        let path = unfinished(path);
        let mut file = files.create(&path)?;
        let line = head.to_line()?;
        append_whole(file.as_mut(), &line)?;
        Ok(Self {
            files: Arc::clone(files),
            path,
            file,
            head,
            sequence: 0,
            batch: 0,
            length: line.len() as u64,
            condition: Condition::Sound,
        })
    }

    /// Syncs a new generation and renames it to `path`. [`Ledger::repair`] makes the rename durable.
    pub(crate) fn publish(&mut self, path: &Path) -> io::Result<()> {
        self.head.base = self.sequence;
        self.file.overwrite(0, &self.head.to_line()?)?;
        self.file.sync()?;
        self.files.rename(&self.path, path)?;
        self.path = path.to_path_buf();
        self.condition = Condition::Unnamed;
        Ok(())
    }

    /// Checks that the file at the ledger's path is the open one and has the expected length.
    ///
    /// # Errors
    /// When another program removed, replaced or changed it. The text gives the operator a solution.
    pub(crate) fn check_place(&self) -> io::Result<()> {
        let open = self.file.as_file().metadata()?;
        let is_there = fs::metadata(&self.path).is_ok_and(|file| file_id(&file) == file_id(&open));
        let has_length = match self.condition {
            Condition::Sound | Condition::Unnamed => open.len() == self.length,
            Condition::Untested => open.len() >= self.length,
        };
        if is_there && has_length {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "{} was removed, replaced or changed while the service was running, which stores \
             nothing any more: put back the original, and restart the service if that is not \
             enough; while it runs, its own file can be copied from /proc/PID/fd/{}",
            self.path.display(),
            self.file.as_file().as_raw_fd()
        )))
    }

    /// Appends `events`, which are JSON, as one batch, syncs it, and returns their places. After an error none of
    /// them count, and [`Ledger::repair`] must succeed before the next append.
    pub(crate) fn append<'a>(
        &mut self,
        events: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> io::Result<Vec<Place>> {
        let mut bytes = Vec::with_capacity(events.len() * LINE_CAPACITY);
        let mut places = Vec::with_capacity(events.len());
        let mut left = events.len() as u64;
        for (event, sequence) in events.zip(self.sequence + 1..) {
            left -= 1;
            places.push(self.length + bytes.len() as u64);
            let numbers = LineNumbers {
                sequence,
                batch: self.batch + 1,
                left,
            };
            Line { numbers, event }.write(&mut bytes);
        }
        // Set first, so that a panic also leaves it.
        self.condition = Condition::Untested;
        let synced = append_whole(self.file.as_mut(), &bytes)
            .and_then(|()| self.file.sync())
            .and_then(|()| self.check_place());
        if let Err(error) = synced {
            if let Err(error) = self.file.truncate(self.length) {
                tracing::error!(%error, "the ledger cannot be truncated to its last acknowledged entry");
            }
            return Err(error);
        }
        self.sequence += places.len() as u64;
        self.batch += 1;
        self.length += bytes.len() as u64;
        self.condition = Condition::Sound;
        Ok(places)
    }

    /// Makes the ledger appendable after the start or a failure: truncates it to its acknowledged end and tries a
    /// write.
    pub(crate) fn repair(&mut self) -> io::Result<()> {
        match self.condition {
            Condition::Sound => return Ok(()),
            Condition::Unnamed => sync_parent(self.files.as_ref(), &self.path)?,
            Condition::Untested => {
                self.file.truncate(self.length)?;
                let probed =
                    append_whole(self.file.as_mut(), &PROBE).and_then(|()| self.file.sync());
                self.file.truncate(self.length)?;
                probed?;
            }
        }
        self.condition = Condition::Sound;
        Ok(())
    }
}

/// The file in which the next generation of the ledger at `path` is written.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("jsonl.new")
}

/// The file in which a repair keeps the damaged ledger at `path`.
pub(crate) fn damaged(path: &Path) -> PathBuf {
    path.with_extension("damaged")
}
