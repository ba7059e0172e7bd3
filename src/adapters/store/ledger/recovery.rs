//! What a start makes of the ledger and of the journal that a process left when it did not stop
//! cleanly.
//!
//! After a crash of the process alone, the ledger holds all that the journal holds, but a sync that
//! failed before may have lost any of it, and no later one tells. After a power cut the ledger may
//! lack any block that was written since it was last synced. So the journal's lines are written
//! again, lacking or not, before the journal goes.
//!
//! That holds only where both tell the same: what the ledger has itself is never replaced by
//! something else. A journal that does not go with its ledger tells of acknowledged lines that are
//! not there, as when somebody has put an earlier copy of the ledger in its place. It is never
//! removed, and never keeps the service from starting.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::append::set_journal_aside;
use super::files::{BUFFER_BYTES, Files};
use super::head::Head;
use super::journal::{Begin, JOURNAL_BYTES_MAX, journal_path};
use super::line::{CRC_OPEN, Found, LINE_BYTES_MAX, Line};
use super::reader::{Chain, Flaw, Reader, Verified, verify, verify_lines};

/// A ledger without damage, and what is to be done so that its file is one.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) verified: Verified,
    /// What of it the journal has.
    pub(super) kept: Option<Kept>,
    /// Whether the journal may hold lines that the ledger will lack nevertheless.
    pub(super) is_journal_foreign: bool,
}

/// Lines that were synced in the journal, and maybe nowhere else.
#[derive(Debug)]
pub(super) struct Kept {
    /// Where they belong in the ledger, in bytes.
    pub(super) at: u64,
    pub(super) bytes: Vec<u8>,
    /// Whether the ledger does not have all of them.
    pub(super) is_lacking: bool,
}

/// Verifies every line of the ledger at `path`, those included that only its journal has. Changes
/// nothing.
pub(crate) fn recover(path: &Path) -> Result<Recovered, Flaw> {
    let alone = verify(path);
    let head = match &alone {
        Ok(verified) => verified.head.clone(),
        Err(Flaw::Damaged { .. }) => Reader::open(path)?.head()?,
        Err(Flaw::Io(_) | Flaw::Journal(_) | Flaw::Newer(_)) => {
            return alone.map(Recovered::without_journal);
        }
    };
    let Some(left) = Left::of_ledger(path)? else {
        return alone.map(Recovered::without_journal);
    };
    let (kept, verified) = match left.kept(&head, path, alone.as_ref().ok())? {
        Some(kept) if kept.is_lacking => match kept.verify_with(path, left.end)? {
            Some(whole) => (Some(kept), whole),
            None => (None, alone?),
        },
        kept @ (Some(_) | None) => (kept, alone?),
    };
    Ok(Recovered {
        is_journal_foreign: left.is_foreign(&verified, kept.as_ref()),
        verified,
        kept,
    })
}

/// Puts what the journal of a damaged ledger holds in its place, if it is certain where that is,
/// and sets the journal aside. Hands out a generation that neither of them had.
pub(crate) fn salvage(files: &dyn Files, path: &Path) -> Result<u64, Flaw> {
    let head = match Reader::open(path)?.head() {
        Ok(head) => Some(head),
        Err(Flaw::Damaged { .. } | Flaw::Newer(_)) => None,
        Err(flaw @ (Flaw::Io(_) | Flaw::Journal(_))) => return Err(flaw),
    };
    let left = Left::of_ledger(path)?;
    if let Some((head, left)) = head.as_ref().zip(left.as_ref())
        && let Some(kept) = left.kept(head, path, None)?
        && left.is_behind_its_line(path)?
    {
        let mut file = files.open(path)?;
        file.overwrite(kept.at, &kept.bytes)?;
        file.sync()?;
    }
    set_journal_aside(files, path)?;
    let of_ledger = head.map_or(0, |head| head.generation);
    let of_journal = left
        .and_then(|left| left.begin)
        .map_or(0, |begin| begin.generation);
    Ok(of_ledger.max(of_journal).saturating_add(1))
}

impl Recovered {
    fn without_journal(verified: Verified) -> Self {
        Self {
            verified,
            kept: None,
            is_journal_foreign: false,
        }
    }
}

impl Kept {
    /// Verifies the ledger at `path` as it is with these lines, the last of which is `end`; nothing
    /// if they do not make it whole.
    fn verify_with(&self, path: &Path, end: Chain) -> Result<Option<Verified>, Flaw> {
        let before = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?).take(self.at);
        let mut behind = File::open(path)?;
        behind.seek(SeekFrom::Start(self.at + self.bytes.len() as u64))?;
        let whole = before
            .chain(self.bytes.as_slice())
            .chain(BufReader::with_capacity(BUFFER_BYTES, behind));
        match verify_lines(Reader::new(whole)) {
            Ok(verified) => Ok(Some(verified).filter(|verified| verified.batch >= end.batch)),
            Err(Flaw::Damaged { .. } | Flaw::Newer(_)) => Ok(None),
            Err(flaw @ (Flaw::Io(_) | Flaw::Journal(_))) => Err(flaw),
        }
    }
}

/// Whether every good line in `there` that begins among `bytes` is one of theirs, in its place.
fn is_remnant(there: &[u8], bytes: &[u8]) -> bool {
    let starts = there.windows(CRC_OPEN.len()).enumerate().take(bytes.len());
    starts
        .filter(|(_, window)| *window == CRC_OPEN)
        .filter_map(|(start, _)| {
            let rest = there.get(start..)?;
            let longest = rest.get(..LINE_BYTES_MAX).unwrap_or(rest);
            let line = longest.split(|byte| *byte == b'\n').next()?;
            Line::parse(line).map(|_| (start, line))
        })
        .all(|(start, line)| bytes.get(start..start + line.len()) == Some(line))
}

/// Reads the bytes of the file at `path` from `begin` on: `bytes_max`, or as many as there are.
fn read_at(path: &Path, begin: u64, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What a journal holds.
#[derive(Debug)]
struct Left {
    /// Where it begins; nothing if its first line is not as it was written. If that did not reach
    /// the disk, nothing was acknowledged since the journal began anew.
    begin: Option<Begin>,
    /// Whole batches from there on.
    bytes: Vec<u8>,
    /// Where those end.
    end: Chain,
    /// The latest batch that a good line anywhere in it is of. Behind the end, lines of earlier
    /// batches are left from before the journal began anew.
    latest_batch: u64,
}

impl Left {
    /// Reads the journal of the ledger at `path`; nothing if there is none.
    fn of_ledger(path: &Path) -> Result<Option<Self>, Flaw> {
        Self::read(&journal_path(path)).map_err(Flaw::Journal)
    }

    fn read(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file.take(JOURNAL_BYTES_MAX),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut reader = Reader::new(BufReader::with_capacity(BUFFER_BYTES, file));
        let mut found = reader.next()?;
        let begin = Begin::parse(reader.bytes()).filter(|_| found == Found::Whole);
        let mut left = Self {
            bytes: Vec::new(),
            end: begin.as_ref().map_or_else(Chain::default, |begin| Chain {
                sequence: begin.sequence,
                batch: begin.batch,
                left: 0,
            }),
            latest_batch: reader.latest_batch(),
            begin,
        };
        if left.begin.is_some() {
            found = left.follow(&mut reader)?;
        }
        while found != Found::End {
            left.latest_batch = left.latest_batch.max(reader.latest_batch());
            found = reader.next()?;
        }
        Ok(Some(left))
    }

    /// Takes whole batches, up to a line that does not come next. Hands out what was found there.
    fn follow(&mut self, reader: &mut Reader<impl BufRead>) -> io::Result<Found> {
        let mut chain = self.end;
        let mut batch = Vec::new();
        loop {
            let found = reader.next()?;
            let Some(line) = reader.line(found).filter(|line| chain.fits(line)) else {
                return Ok(found);
            };
            self.latest_batch = line.batch;
            batch.extend_from_slice(reader.bytes());
            batch.push(b'\n');
            if chain.push(&line) {
                self.bytes.append(&mut batch);
                self.end = chain;
            }
        }
    }

    /// The lines, and their place in the ledger at `path` that begins with `head`; nothing if they
    /// are not of it, or if that tells something else there. If it is whole `alone`, it is only
    /// read up to where it ends.
    fn kept(&self, head: &Head, path: &Path, alone: Option<&Verified>) -> io::Result<Option<Kept>> {
        let Some(begin) = self.begin.as_ref().filter(|begin| begin.is_of(head)) else {
            return Ok(None);
        };
        let end = match alone {
            Some(verified) => verified.length,
            None => File::open(path)?.metadata()?.len(),
        };
        let Some(length) = end.checked_sub(begin.length) else {
            return Ok(None);
        };
        // The last line that begins among ours may end behind them.
        let bytes_max = (self.bytes.len() + LINE_BYTES_MAX) as u64;
        let there = read_at(path, begin.length, length.min(bytes_max))?;
        let is_lacking = !there.starts_with(&self.bytes);
        let is_same = match alone {
            Some(_) => !is_lacking || self.bytes.starts_with(&there),
            None => is_remnant(&there, &self.bytes),
        };
        Ok(is_same.then(|| Kept {
            at: begin.length,
            bytes: self.bytes.clone(),
            is_lacking,
        }))
    }

    /// Whether the line that these continue ends where they begin in the ledger at `path`.
    fn is_behind_its_line(&self, path: &Path) -> io::Result<bool> {
        let Some(begin) = &self.begin else {
            return Ok(false);
        };
        let from = begin.length.saturating_sub(LINE_BYTES_MAX as u64);
        let before = read_at(path, from, begin.length - from)?;
        let last = before
            .strip_suffix(b"\n")
            .and_then(|lines| lines.rsplit(|byte| *byte == b'\n').next());
        Ok(last.and_then(Line::parse).is_some_and(|line| {
            line.sequence == begin.sequence && line.batch == begin.batch && line.left == 0
        }))
    }

    /// Whether there may be lines in it that were acknowledged and are not in `ledger`, which has
    /// what was `kept`.
    fn is_foreign(&self, ledger: &Verified, kept: Option<&Kept>) -> bool {
        let is_without = self.begin.is_some() && kept.is_none();
        // A batch right behind the last one may be there in part: it was never acknowledged.
        is_without || self.latest_batch > ledger.batch + 1
    }
}
