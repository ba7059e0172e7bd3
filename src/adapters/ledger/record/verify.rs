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
use super::line::{Flaw, Found, Line, LineNumbers};
use super::reader::Reader;

/// Most bad lines listed in a message or a report.
const LINES_NAMED_MAX: usize = 20;

/// The content of a mark: a durable state of a ledger. Its events stay in the file until the next generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) secret: String,
    pub(crate) generation: u64,
    pub(crate) sequence: u64,
    /// In bytes.
    pub(crate) length: u64,
    /// Identifies the file with this mark.
    #[serde(default)]
    pub(crate) place: u64,
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
    pub(crate) end: End,
    /// Bytes after the last acknowledged batch.
    pub(crate) torn: Option<Torn>,
}

/// The end of the last acknowledged batch.
#[derive(Debug)]
pub(crate) struct End {
    /// Its last event, or 0.
    pub(crate) sequence: u64,
    /// Its number, or 0.
    pub(crate) batch: u64,
    /// Offset of its first line.
    pub(crate) batch_begin: u64,
    /// Offset of its end, including a newline that is still missing.
    pub(crate) length: u64,
    /// True if the last line has no newline.
    pub(crate) is_unterminated: bool,
}

impl End {
    /// Advances to the end of the line last read, which completes its batch.
    fn advance(&mut self, reader: &Reader<'_>, found: Found) {
        self.batch_begin = self.length;
        self.is_unterminated = found == Found::Unterminated;
        self.length = reader.offset() + u64::from(self.is_unterminated);
    }
}

/// The torn end of a ledger: part of a batch that was never acknowledged.
#[derive(Debug)]
pub(crate) struct Torn {
    /// The first bad line.
    pub(crate) line: u64,
    /// Number of bytes to truncate.
    pub(crate) bytes: u64,
}

/// The result of reading every line of a ledger.
#[derive(Debug)]
pub(crate) struct Survey {
    /// The head, if readable.
    pub(crate) head: Option<Head>,
    /// Number of good entries.
    pub(crate) entries: u64,
    pub(crate) bad_lines: BadLines,
    pub(crate) verdict: Result<Verified, Flaw>,
}

/// The lines that are bad or out of order. The head is line 1.
#[derive(Debug, Default)]
pub(crate) struct BadLines {
    pub(crate) first: Vec<u64>,
    pub(crate) count: u64,
}

impl BadLines {
    fn add(&mut self, number: u64) {
        self.count += 1;
        if self.first.len() < LINES_NAMED_MAX {
            self.first.push(number);
        }
    }

    /// Lists them in a message, if there are several.
    fn list(&self) -> String {
        if self.count < 2 {
            return String::new();
        }
        let first: Vec<_> = self.first.iter().map(ToString::to_string).collect();
        let more = match self.count > LINES_NAMED_MAX as u64 {
            true => ", ...",
            false => "",
        };
        let (count, first) = (self.count, first.join(", "));
        format!(" ({count} lines are bad: {first}{more})")
    }
}

/// Verifies every line, without changing anything. All events of the marked state `required` must be there.
pub(crate) fn verify(path: &Path, required: Option<&Stamp>) -> Result<Verified, Flaw> {
    survey(&File::open(path)?, required)?.verdict
}

/// The same with an open file, and with further findings.
pub(crate) fn survey(file: &File, required: Option<&Stamp>) -> io::Result<Survey> {
    let mut reader = Reader::new(file, 0);
    let head_found = reader.next()?;
    let head = Head::parse(reader.bytes());
    let mut end = End {
        sequence: 0,
        batch: 0,
        batch_begin: 0,
        length: 0,
        is_unterminated: false,
    };
    end.advance(&reader, head_found);
    end.batch_begin = end.length;
    let mut bad_lines = BadLines::default();
    if head.is_err() {
        bad_lines.add(reader.number());
    }
    let (mut entries, mut flaw, mut damage) = (0, None, None);
    // Unknown after a bad line.
    let mut last = Some(LineNumbers::default());
    loop {
        let found = reader.next()?;
        if found == Found::End {
            break;
        }
        let line = reader.line(found);
        entries += u64::from(line.is_some());
        let fits = |line: &Line<'_>| last.is_none_or(|last| last.is_before(&line.numbers));
        let is_bad = !line.as_ref().is_some_and(fits);
        if is_bad {
            bad_lines.add(reader.number());
        }
        match (&line, flaw) {
            (Some(line), None) if is_bad => {
                flaw = Some(reader.number());
                damage = last.map(|last| out_of_order(&last, &end, &line.numbers));
            }
            (Some(line), None) if line.numbers.left == 0 => {
                (end.sequence, end.batch) = (line.numbers.sequence, line.numbers.batch);
                end.advance(&reader, found);
            }
            (Some(_), None) => {}
            (_, first) => {
                flaw = first.or_else(|| Some(reader.number()));
                // A bad line belongs to the batch after the last good one.
                if damage.is_none() && latest_batch(&reader) > end.batch + 1 {
                    damage = Some("it is corrupt, and later lines were acknowledged".to_owned());
                }
            }
        }
        last = line.map(|line| line.numbers);
    }
    let flaw = (flaw.unwrap_or_else(|| reader.number()), damage);
    let known = head.as_ref().ok().cloned();
    let judged = head.and_then(|head| judge(head, end, reader.offset(), flaw, required));
    let verdict = judged.map_err(|flaw| match flaw {
        Flaw::Damaged { line, reason } => Flaw::Damaged {
            line,
            reason: reason + &bad_lines.list(),
        },
        Flaw::Io(_) | Flaw::Foreign(_) | Flaw::Unreadable(_) => flaw,
    });
    Ok(Survey {
        head: known,
        entries,
        bad_lines,
        verdict,
    })
}

/// Judges the bytes between `end` and `length`: nothing, a torn end, or damage. `line` is the first bad one.
fn judge(
    head: Head,
    end: End,
    length: u64,
    (line, damage): (u64, Option<String>),
    required: Option<&Stamp>,
) -> Result<Verified, Flaw> {
    let marked = required.map_or(Ok(0), |stamp| stamp.sequence_min(&head))?;
    let missing = [
        (head.base, "the file was created with"),
        (marked, "its mark counts"),
    ]
    .into_iter()
    .find(|(entries, _)| end.sequence < *entries)
    .map(|(entries, cause)| {
        format!("{cause} {entries} entries, and some of them are missing or corrupt")
    });
    if let Some(reason) = damage.or(missing) {
        return Err(Flaw::Damaged { line, reason });
    }
    let bytes = length.saturating_sub(end.length);
    let torn = (bytes > 0).then_some(Torn { line, bytes });
    Ok(Verified { head, end, torn })
}

fn out_of_order(last: &LineNumbers, end: &End, found: &LineNumbers) -> String {
    format!(
        "entry {} of batch {} was expected, but entry {} of batch {} is there: lines are missing \
         or out of order",
        last.sequence + 1,
        end.batch + 1,
        found.sequence,
        found.batch
    )
}

/// The batch of a good line at the end of the line last read, or 0.
fn latest_batch(reader: &Reader<'_>) -> u64 {
    Line::parse_last(reader.bytes()).map_or(0, |line| line.numbers.batch)
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
    reader.next()?;
    Ok(Some(Preview {
        head: Head::parse(reader.bytes()).ok(),
        has_events: reader.next()? != Found::End,
    }))
}
