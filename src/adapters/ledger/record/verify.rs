//! Verification of every line of a ledger.
//!
//! A batch is acknowledged after all its lines were synced, and batches are synced one after the other. So a bad
//! line was acknowledged, and is damage, if a line of a later batch follows, or is a part of it because a newline was
//! lost, or if the mark covers it. A good line in a wrong place is damage, too. Any other bad line is the torn end of a
//! batch that was never acknowledged. A last line that lacks only its newline is good.

use std::fs::File;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::adapters::files::{if_there, open_regular};

use super::line::{Flaw, Head, LineNumbers, Place, batches_in};
use super::reader::Lines;

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

/// An undamaged ledger, up to the end of its last acknowledged batch.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) head: Head,
    /// Its last event, or 0.
    pub(crate) sequence: u64,
    /// The number of that batch, or 0.
    pub(super) batch: u64,
    /// Offset of the first line of that batch.
    pub(super) batch_begin: Place,
    /// Offset of its end, including a newline that is still missing.
    pub(crate) length: Place,
    /// True if the last line has no newline.
    pub(crate) is_unterminated: bool,
    /// Number of bytes after that end: part of a batch that was never acknowledged.
    pub(crate) torn_bytes: u64,
}

impl Verified {
    /// Advances to the end of the line last read, which completes its batch.
    fn advance(&mut self, lines: &Lines<'_>, numbers: LineNumbers) {
        (self.sequence, self.batch) = (numbers.sequence, numbers.batch);
        self.batch_begin = self.length;
        self.is_unterminated = !lines.is_terminated();
        self.length = lines.end() + u64::from(self.is_unterminated);
    }
}

/// Verifies every line, without changing anything. All events of the marked state `required` must be there.
pub(crate) fn verify(file: &File, required: Option<&Stamp>) -> Result<Verified, Flaw> {
    let mut lines = Lines::new(file, 0);
    lines.next()?;
    let head = Head::parse(lines.bytes())?;
    let marked = required.map_or(Ok(0), |stamp| stamp.sequence_min(&head))?;
    let required = head.base.max(marked);
    let mut verified = Verified {
        head,
        sequence: 0,
        batch: 0,
        batch_begin: 0,
        length: 0,
        is_unterminated: false,
        torn_bytes: 0,
    };
    verified.advance(&lines, LineNumbers::default());
    verified.batch_begin = verified.length;
    // The numbers of the line last read are unknown after a bad one.
    let mut last = Some(LineNumbers::default());
    let (mut number, mut first_bad, mut bad_lines, mut is_damaged) = (1, None, 0, false);
    while lines.next()? {
        number += 1;
        let numbers = lines.line().map(|line| line.numbers);
        let fits = numbers.is_some_and(|numbers| last.is_none_or(|last| last.is_before(&numbers)));
        match numbers {
            Some(numbers) if fits && first_bad.is_none() && numbers.left == 0 => {
                verified.advance(&lines, numbers);
            }
            Some(_) if fits && first_bad.is_none() => {}
            Some(numbers) => {
                is_damaged |= first_bad.is_none() || numbers.batch > verified.batch + 1;
            }
            None => {
                is_damaged |= batches_in(lines.bytes()).any(|batch| batch > verified.batch + 1);
            }
        }
        if !fits {
            bad_lines += 1;
            first_bad.get_or_insert(number);
        }
        last = numbers;
    }
    let reason = if is_damaged {
        "it is corrupt, missing or out of order".to_owned()
    } else if verified.sequence < required {
        format!(
            "the ledger had at least {required} acknowledged entries, and some of them are missing or corrupt"
        )
    } else {
        verified.torn_bytes = lines.end().saturating_sub(verified.length);
        return Ok(verified);
    };
    let count = match bad_lines {
        0 | 1 => String::new(),
        _ => format!(" ({bad_lines} lines are bad)"),
    };
    Err(Flaw::Damaged {
        line: first_bad.unwrap_or(number + 1),
        reason: reason + &count,
    })
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
    let Some(file) = if_there(open_regular(path))? else {
        return Ok(None);
    };
    let mut lines = Lines::new(&file, 0);
    if !lines.next()? {
        return Ok(None);
    }
    Ok(Some(Preview {
        head: Head::parse(lines.bytes()).ok(),
        has_events: lines.next()?,
    }))
}
