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
//! removed, and never keeps a whole ledger from being used.
//!
//! A journal also tells what was acknowledged: all that its first line continues, and every batch
//! before the last one in it. What of that is whole neither in the ledger nor in the journal is
//! damage, even at the ledger's end, where it would else pass for a batch that never was. So are
//! later lines than the ledger's behind a first line that cannot be read: nobody knows where they
//! belong.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::append::set_journal_aside;
use super::files::{BUFFER_BYTES, Files};
use super::leftover::Left;
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
            None => (None, alone.and_then(uncut)?),
        },
        kept @ (Some(_) | None) => (kept, alone?),
    };
    let is_lost = match &kept {
        Some(_) => left.has_later_than(&verified),
        None => left.begins_in_cut(&verified),
    };
    if is_lost {
        return Err(lost(&verified));
    }
    if left.is_rotten_before_later_than(&verified) {
        return Err(behind(
            &verified,
            "the journal has it or later ones, but its own first line is not as it was written",
        ));
    }
    Ok(Recovered {
        is_journal_foreign: kept.is_none() && left.is_foreign(&verified),
        verified,
        kept,
    })
}

/// A ledger whose journal continues it, but not so that both are whole: nothing may be cut from it.
fn uncut(verified: Verified) -> Result<Verified, Flaw> {
    match verified.torn {
        Some(_) => Err(lost(&verified)),
        None => Ok(verified),
    }
}

/// What follows in the ledger was acknowledged, and is nowhere whole.
fn lost(verified: &Verified) -> Flaw {
    behind(
        verified,
        "it is not as it was written, and the journal tells that it was acknowledged",
    )
}

/// What is wrong with the line behind the last acknowledged one.
fn behind(verified: &Verified, what: &str) -> Flaw {
    Flaw::Damaged {
        // Each event is a line, behind the head.
        line: verified.sequence + 2,
        what: what.to_owned(),
    }
}

/// Puts every good line that the journal of a damaged ledger holds in its place, if it is certain
/// where that is, and sets the journal aside. Hands out a generation that neither of them had.
pub(crate) fn salvage(files: &dyn Files, path: &Path) -> Result<u64, Flaw> {
    let head = match Reader::open(path)?.head() {
        Ok(head) => Some(head),
        Err(Flaw::Damaged { .. } | Flaw::Newer(_)) => None,
        Err(flaw @ (Flaw::Io(_) | Flaw::Journal(_))) => return Err(flaw),
    };
    let left = Left::of_ledger(path)?;
    if let Some((head, left)) = head.as_ref().zip(left.as_ref())
        && let Some((at, bytes)) = left.pieced(head, path)?
    {
        let mut file = files.open(path)?;
        file.overwrite(at, &bytes)?;
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
