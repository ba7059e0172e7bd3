//! Verification of every line of a ledger.
//!
//! A batch is acknowledged after all its lines were synced, and batches are synced one after the other. So a bad
//! line was acknowledged, and is damage, if a line of a later batch follows or if the mark covers it. Any other
//! bad line is the torn end of a batch that was never acknowledged. A last line that lacks only its newline is
//! good.

use std::fs::File;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::adapters::files::if_there;

use super::head::Head;
use super::line::{Flaw, Found, Line};
use super::reader::Reader;

/// A durable state of a ledger. Its events stay in the file until the next generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) secret: String,
    pub(crate) generation: u64,
    pub(crate) sequence: u64,
    /// In bytes.
    pub(crate) length: u64,
}

impl Stamp {
    /// The least number of events in a ledger with this head that was in this state before.
    fn sequence_min(&self, head: &Head) -> Result<u64, Flaw> {
        if self.secret != head.secret || self.generation < head.generation {
            // The stamp belongs to another ledger, or to an earlier generation.
            return Ok(0);
        }
        if self.generation > head.generation {
            return Err(Flaw::Damaged {
                line: 1,
                reason: format!(
                    "the mark belongs to generation {}, but this is generation {}: an earlier copy",
                    self.generation, head.generation
                ),
            });
        }
        Ok(self.sequence)
    }
}

/// An undamaged ledger.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) head: Head,
    /// The last acknowledged event, or 0.
    pub(crate) sequence: u64,
    /// Its batch, or 0.
    pub(crate) batch: u64,
    /// Offset of that batch's first line.
    pub(crate) batch_begin: u64,
    /// Offset of its end, including a newline that is still missing.
    pub(crate) length: u64,
    /// True if the last line has no newline.
    pub(crate) is_unterminated: bool,
    /// Bytes after the last acknowledged batch.
    pub(crate) torn: Option<Torn>,
}

/// The torn end of a ledger: part of a batch that was never acknowledged.
#[derive(Debug)]
pub(crate) struct Torn {
    /// The first bad line.
    pub(crate) line: u64,
    /// Number of bytes to truncate.
    pub(crate) bytes: u64,
}

/// A position in the sequence of lines and batches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    /// The last line.
    pub(super) sequence: u64,
    /// The last complete batch.
    pub(super) batch: u64,
    /// Lines missing from the batch that has begun, or 0.
    pub(super) left: u64,
}

impl Chain {
    /// True if `line` comes next.
    pub(super) fn fits(&self, line: &Line<'_>) -> bool {
        line.sequence.checked_sub(1) == Some(self.sequence)
            && line.batch.checked_sub(1) == Some(self.batch)
            && (self.left == 0 || line.left.checked_add(1) == Some(self.left))
    }

    /// Advances to `line`. Returns whether it completes its batch.
    pub(super) fn push(&mut self, line: &Line<'_>) -> bool {
        self.sequence = line.sequence;
        self.left = line.left;
        if line.left == 0 {
            self.batch = line.batch;
        }
        line.left == 0
    }
}

/// Verifies every line, without changing anything. All events of the marked state `required` must be there.
pub(crate) fn verify(path: &Path, required: Option<&Stamp>) -> Result<Verified, Flaw> {
    verify_file(File::open(path)?, required)
}

/// The same with an open file.
pub(crate) fn verify_file(file: File, required: Option<&Stamp>) -> Result<Verified, Flaw> {
    let mut reader = Reader::new(&file, 0);
    let (head, found) = reader.head()?;
    let sequence_min = required.map_or(Ok(0), |stamp| stamp.sequence_min(&head))?;
    let is_unterminated = found == Found::Unterminated;
    let head_bytes = reader.offset() + u64::from(is_unterminated);
    let mut verified = Verified {
        head,
        sequence: 0,
        batch: 0,
        batch_begin: head_bytes,
        length: head_bytes,
        is_unterminated,
        torn: None,
    };
    let mut chain = Chain::default();
    loop {
        let found = reader.next()?;
        let Some(line) = reader.line(found) else {
            return finish(verified, reader, found, sequence_min);
        };
        if !chain.fits(&line) {
            return Err(Flaw::Damaged {
                line: reader.number(),
                reason: format!(
                    "entry {} of batch {} was expected, but entry {} of batch {} is there: lines \
                     are missing or out of order",
                    chain.sequence + 1,
                    chain.batch + 1,
                    line.sequence,
                    line.batch
                ),
            });
        }
        if chain.push(&line) {
            verified.sequence = chain.sequence;
            verified.batch = chain.batch;
            verified.batch_begin = verified.length;
            verified.is_unterminated = found == Found::Unterminated;
            verified.length = reader.offset() + u64::from(verified.is_unterminated);
        }
    }
}

/// Judges the bytes after the last good line: the end, a torn end, or damage. `sequence_min` events were
/// durable.
fn finish(
    mut verified: Verified,
    mut reader: Reader<'_>,
    found: Found,
    sequence_min: u64,
) -> Result<Verified, Flaw> {
    let flaw_line = reader.number();
    let mut next = found;
    while next != Found::End {
        // The bad line belongs to the batch after the verified ones.
        if latest_batch(&reader) > verified.batch + 1 {
            return Err(Flaw::Damaged {
                line: flaw_line,
                reason: "it is corrupt, and later lines were acknowledged".to_owned(),
            });
        }
        next = reader.next()?;
    }
    for (entries, cause) in [
        (verified.head.base, "the file was created with"),
        (sequence_min, "its mark counts"),
    ] {
        if verified.sequence < entries {
            return Err(Flaw::Damaged {
                line: flaw_line,
                reason: format!(
                    "{cause} {entries} entries, and some of them are missing or corrupt"
                ),
            });
        }
    }
    let bytes = reader.offset().saturating_sub(verified.length);
    verified.torn = (bytes > 0).then_some(Torn {
        line: flaw_line,
        bytes,
    });
    Ok(verified)
}

/// The batch of a good line at the end of the line last read, or 0.
fn latest_batch(reader: &Reader<'_>) -> u64 {
    Line::parse_last(reader.bytes()).map_or(0, |line| line.batch)
}

/// The numbers of the first bad lines, at most `max`, and their total number. A good line out of sequence counts
/// as bad.
pub(crate) fn bad_lines(path: &Path, max: usize) -> io::Result<(Vec<u64>, u64)> {
    let file = File::open(path)?;
    let mut reader = Reader::new(&file, 0);
    let (mut first, mut count) = (Vec::new(), 0);
    // The next sequence number; unknown after a bad line.
    let mut expected = Some(1);
    loop {
        let found = reader.next()?;
        if found == Found::End {
            return Ok((first, count));
        }
        let sequence = reader.line(found).map(|line| line.sequence);
        let is_bad = match sequence {
            Some(sequence) => expected.is_some_and(|expected| expected != sequence),
            None => reader.number() > 1 || Head::parse(reader.bytes()).is_err(),
        };
        if is_bad {
            count += 1;
            if first.len() < max {
                first.push(reader.number());
            }
        }
        if reader.number() > 1 {
            expected = sequence.map(|sequence| sequence + 1);
        }
    }
}

/// The head of a ledger before verification.
#[derive(Debug)]
pub(crate) struct Preview {
    /// The head, if readable.
    pub(crate) head: Option<Head>,
    /// True if anything follows the head.
    pub(crate) has_events: bool,
}

/// Reads a ledger's head. `None` if the ledger is missing or empty.
pub(crate) fn preview(path: &Path) -> io::Result<Option<Preview>> {
    let Some(file) = if_there(File::open(path))? else {
        return Ok(None);
    };
    if file.metadata()?.len() == 0 {
        return Ok(None);
    }
    let mut reader = Reader::new(&file, 0);
    let head = match reader.head() {
        Ok((head, _found)) => Some(head),
        Err(Flaw::Io(error)) => return Err(error),
        Err(_) => None,
    };
    Ok(Some(Preview {
        head,
        has_events: reader.next()? != Found::End,
    }))
}
