//! What the journal holds that a process left, and how it compares with the ledger.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::files::BUFFER_BYTES;
use super::head::Head;
use super::journal::{Begin, JOURNAL_BYTES_MAX, journal_path};
use super::line::{CRC_OPEN, Found, LINE_BYTES_MAX, Line};
use super::reader::{Chain, Flaw, Reader, Verified};
use super::recovery::Kept;

/// What a journal begins with as long as its first line has not reached the disk.
const BLANK_START: [u8; CRC_OPEN.len()] = [b' '; CRC_OPEN.len()];

/// What a journal holds.
#[derive(Debug)]
pub(super) struct Left {
    /// Where it begins; nothing if its first line is not as it was written. If that did not reach
    /// the disk, nothing was acknowledged since the journal began anew.
    pub(super) begin: Option<Begin>,
    /// Whether its first line did reach the disk, but is not as it was written.
    is_begin_rotten: bool,
    /// Its good lines, but for those left from before it began anew.
    lines: Vec<Placed>,
    /// How many of them are whole batches, one behind the other from there on.
    whole: usize,
    /// Where those end.
    pub(super) end: Chain,
    /// The latest batch that a good line is of.
    latest_batch: u64,
}

/// A line of a journal.
#[derive(Debug)]
struct Placed {
    /// How many bytes behind where the journal begins, in it as in the ledger.
    at: usize,
    /// With its newline.
    bytes: Vec<u8>,
}

impl Left {
    /// Reads the journal of the ledger at `path`; nothing if there is none.
    pub(super) fn of_ledger(path: &Path) -> Result<Option<Self>, Flaw> {
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
        let is_blank = reader.bytes().starts_with(&BLANK_START);
        let mut left = Self {
            lines: Vec::new(),
            whole: 0,
            end: begin.as_ref().map_or_else(Chain::default, |begin| Chain {
                sequence: begin.sequence,
                batch: begin.batch,
                left: 0,
            }),
            latest_batch: 0,
            is_begin_rotten: begin.is_none() && !is_blank,
            begin,
        };
        let mut first = 0;
        if left.begin.is_some() {
            first = reader.offset();
            found = reader.next()?;
        }
        while found != Found::End {
            let good = Line::parse_last(reader.bytes());
            if let Some((start, line)) = good.filter(|(_, line)| line.sequence > left.end.sequence)
            {
                left.latest_batch = left.latest_batch.max(line.batch);
                let mut bytes = reader.bytes().get(start..).unwrap_or_default().to_vec();
                bytes.push(b'\n');
                let end = usize::try_from(reader.offset() - first).unwrap_or(usize::MAX);
                if found == Found::Whole {
                    let at = end - bytes.len();
                    left.lines.push(Placed { at, bytes });
                }
            }
            found = reader.next()?;
        }
        left.follow();
        Ok(Some(left))
    }

    /// Finds the whole batches, up to a line that does not come next.
    fn follow(&mut self) {
        let (mut chain, mut next) = (self.end, 0);
        for (number, placed) in self.lines.iter().enumerate() {
            let line = placed.bytes.strip_suffix(b"\n").and_then(Line::parse);
            let Some(line) = line.filter(|line| placed.at == next && chain.fits(line)) else {
                return;
            };
            next += placed.bytes.len();
            if chain.push(&line) {
                self.whole = number + 1;
                self.end = chain;
            }
        }
    }

    /// Where it begins, if it is of the ledger that begins with `head`.
    fn begin_in(&self, head: &Head) -> Option<&Begin> {
        self.begin.as_ref().filter(|begin| begin.is_of(head))
    }

    /// The lines that are whole batches.
    fn batches(&self) -> &[Placed] {
        self.lines.get(..self.whole).unwrap_or_default()
    }

    /// The whole batches, and their place in the ledger at `path` that begins with `head`; nothing
    /// if they are not of it, or if that tells something else there. If it is whole `alone`, it is
    /// only read up to where it ends.
    pub(super) fn kept(
        &self,
        head: &Head,
        path: &Path,
        alone: Option<&Verified>,
    ) -> io::Result<Option<Kept>> {
        let Some(begin) = self.begin_in(head) else {
            return Ok(None);
        };
        let end = match alone {
            Some(verified) => verified.length,
            None => File::open(path)?.metadata()?.len(),
        };
        let bytes = lay(Vec::new(), self.batches());
        let Some(there) = read_between(path, begin.length, end, bytes.len())? else {
            return Ok(None);
        };
        let is_lacking = !there.starts_with(&bytes);
        let is_same = match alone {
            Some(_) => !is_lacking || bytes.starts_with(&there),
            None => is_remnant(&there, &bytes, begin.sequence),
        };
        Ok(is_same.then_some(Kept {
            at: begin.length,
            bytes,
            is_lacking,
        }))
    }

    /// What the damaged ledger at `path`, which begins with `head`, is to have from where the
    /// journal begins on, and where that is: all good lines of both or, if that is not certain, no
    /// others of the journal than whole batches. Nothing if those are not certain either.
    pub(super) fn pieced(&self, head: &Head, path: &Path) -> io::Result<Option<(u64, Vec<u8>)>> {
        let Some(begin) = self.begin_in(head) else {
            return Ok(None);
        };
        let last = self.lines.last();
        let bytes_max = last.map_or(0, |last| last.at + last.bytes.len());
        let end = File::open(path)?.metadata()?.len();
        let Some(there) = read_between(path, begin.length, end, bytes_max)? else {
            return Ok(None);
        };
        if !is_in_line(begin, path, &there)? {
            return Ok(None);
        }
        let pieced = [self.lines.as_slice(), self.batches()]
            .into_iter()
            .map(|lines| lay(there.clone(), lines))
            // Nothing verifies this: an earlier line may be whole nowhere else, and keeps its place.
            .find(|bytes| is_remnant(&there, bytes, 0));
        // The line before ends there, damaged or not.
        Ok(pieced.map(|bytes| (begin.length - 1, [b"\n", bytes.as_slice()].concat())))
    }

    /// Whether it has lines of batches that were begun when one was acknowledged that `ledger`
    /// does not have. One right behind its last may be there in part: it was never acknowledged.
    pub(super) fn has_later_than(&self, ledger: &Verified) -> bool {
        self.latest_batch > ledger.batch + 1
    }

    /// Whether it continues a line of `ledger` that is about to be cut.
    pub(super) fn begins_in_cut(&self, ledger: &Verified) -> bool {
        let cut = ledger.torn.as_ref().map_or(0, |torn| torn.bytes);
        self.begin_in(&ledger.head)
            .is_some_and(|begin| (ledger.length + 1..=ledger.length + cut).contains(&begin.length))
    }

    /// Whether it has later lines than `ledger`, and the one that tells what they continue is
    /// rotten. Any of them may have been acknowledged.
    pub(super) fn is_rotten_before_later_than(&self, ledger: &Verified) -> bool {
        self.is_begin_rotten && self.latest_batch > ledger.batch
    }

    /// Whether there may be lines in it that were acknowledged and are not in `ledger`, which
    /// nothing of it goes with.
    pub(super) fn is_foreign(&self, ledger: &Verified) -> bool {
        self.begin.is_some() || self.has_later_than(ledger)
    }
}

/// Whether every good line in `there` that begins among `bytes` is one of theirs, in its place.
/// Those up to the event `before` do not count: they stand earlier in the ledger, and are here only
/// because the disk shows what its blocks held for another file.
fn is_remnant(there: &[u8], bytes: &[u8], before: u64) -> bool {
    let starts = there.windows(CRC_OPEN.len()).enumerate().take(bytes.len());
    starts
        .filter(|(_, window)| *window == CRC_OPEN)
        .filter_map(|(start, _)| {
            let rest = there.get(start..)?;
            let longest = rest.get(..LINE_BYTES_MAX).unwrap_or(rest);
            let line = longest.split(|byte| *byte == b'\n').next()?;
            Some((start, line, Line::parse(line)?))
        })
        .filter(|(_, _, line)| line.sequence > before)
        .all(|(start, line, _)| bytes.get(start..start + line.len()) == Some(line))
}

/// Reads the bytes of the file at `path` from `begin` on: `bytes_max`, or as many as there are.
fn read_at(path: &Path, begin: u64, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes `lines` into `bytes`, each in its place, on a line of its own.
fn lay(mut bytes: Vec<u8>, lines: &[Placed]) -> Vec<u8> {
    for line in lines {
        let end = line.at + line.bytes.len();
        if bytes.len() < end {
            bytes.resize(end, b'\n');
        }
        if let Some(place) = bytes.get_mut(line.at..end) {
            place.copy_from_slice(&line.bytes);
        }
        let before = line.at.checked_sub(1);
        if let Some(before) = before.and_then(|before| bytes.get_mut(before)) {
            *before = b'\n';
        }
    }
    bytes
}

/// Whether the damaged ledger at `path`, which has `there` from where a journal begins on, has the
/// line that this continues right before or, if that is damaged, an earlier one as the last good
/// one, and none across.
fn is_in_line(begin: &Begin, path: &Path, there: &[u8]) -> io::Result<bool> {
    let from = begin.length.saturating_sub(LINE_BYTES_MAX as u64);
    let before = read_at(path, from, begin.length - from)?;
    let mut lines = before.rsplit(|byte| *byte == b'\n');
    let open = lines.next().unwrap_or_default();
    if open.is_empty() {
        let last = lines.next().and_then(Line::parse);
        if let Some(line) = last {
            let found = (line.sequence, line.batch, line.left);
            return Ok(found == (begin.sequence, begin.batch, 0));
        }
    }
    let rest = there
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let across = [open, rest].concat();
    let is_across = Line::parse_last(&across).is_some_and(|(start, _)| start < open.len());
    let earlier = lines.find_map(Line::parse);
    let is_earlier =
        earlier.is_none_or(|line| line.sequence < begin.sequence && line.batch <= begin.batch);
    Ok(is_earlier && !is_across)
}

/// Reads the bytes of the file at `path` from `begin` to `end`, but no more than `bytes_max` and a
/// line, as the last one that begins among so many may end behind them. Nothing if it ends before.
fn read_between(
    path: &Path,
    begin: u64,
    end: u64,
    bytes_max: usize,
) -> io::Result<Option<Vec<u8>>> {
    let Some(length) = end.checked_sub(begin) else {
        return Ok(None);
    };
    let bytes_max = (bytes_max + LINE_BYTES_MAX) as u64;
    read_at(path, begin, length.min(bytes_max)).map(Some)
}
