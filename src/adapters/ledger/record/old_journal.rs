//! The journal that versions before this one kept beside the ledger: a copy of the last batches,
//! which was synced instead of the ledger. After a power cut it may be the only place that has them.
//!
//! A start takes it over once. Its first line names the ledger and the offset where its lines
//! belong; they are written there and synced, whether or not the ledger has them, because an earlier
//! sync may have failed. Then the journal is removed. A journal that does not continue the ledger
//! replaces nothing and is renamed, for people to look at.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::adapters::files::{Files, numbered, parent, remove_for_good};

use super::line::{Found, checked};
use super::reader::{Chain, Flaw, Reader};

/// A journal's first line: which ledger it continues, and behind which event.
#[derive(Deserialize)]
struct Begin {
    generation: u64,
    sequence: u64,
    batch: u64,
    /// Offset in the ledger where the lines belong.
    length: u64,
    secret: String,
}

impl Begin {
    fn parse(line: &[u8]) -> Option<Self> {
        checked(line)?;
        serde_json::from_slice(line).ok()
    }
}

/// Where the journal of the ledger at `path` is, if there is one.
pub(crate) fn old_journal(path: &Path) -> PathBuf {
    path.with_extension("journal")
}

/// Takes over the journal of the ledger at `path`, if there is one.
pub(crate) fn take_over(files: &dyn Files, path: &Path) -> io::Result<()> {
    let journal = old_journal(path);
    let mut reader = match Reader::open(&journal) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let head = match Reader::open(path)?.head() {
        Ok((head, _found)) => head,
        Err(Flaw::Io(error)) => return Err(error),
        // The start is about to be refused.
        Err(Flaw::Newer(_) | Flaw::Damaged { .. }) => return Ok(()),
    };
    reader.next()?;
    if reader.bytes().iter().all(|byte| *byte == b' ') {
        // It was made and never begun.
        return remove_for_good(&journal);
    }
    let begin = Begin::parse(reader.bytes())
        .filter(|begin| begin.generation == head.generation && begin.secret == head.secret);
    let Some(begin) = begin else {
        return set_aside(files, path, &journal);
    };
    let (lines, is_complete) = batches(&mut reader, &begin)?;
    if !is_continued(path, &begin, &lines)? {
        return set_aside(files, path, &journal);
    }
    let mut ledger = files.open(path)?;
    ledger.overwrite(begin.length, &lines)?;
    ledger.sync()?;
    if is_complete {
        remove_for_good(&journal)
    } else {
        set_aside(files, path, &journal)
    }
}

/// The journal's complete batches, and whether there is no later line behind a gap. Lines up to
/// `begin.sequence` are left over from before the journal was last begun.
fn batches(reader: &mut Reader, begin: &Begin) -> io::Result<(Vec<u8>, bool)> {
    let mut chain = Chain {
        sequence: begin.sequence,
        batch: begin.batch,
        left: 0,
    };
    let (mut lines, mut complete) = (Vec::new(), 0);
    let (mut is_over, mut is_complete) = (false, true);
    loop {
        let found = reader.next()?;
        if found == Found::End {
            lines.truncate(complete);
            return Ok((lines, is_complete));
        }
        let line = reader.line(found);
        match line.filter(|line| line.sequence > begin.sequence) {
            Some(line) if !is_over && chain.fits(&line) => {
                let ends_batch = chain.push(&line);
                lines.extend_from_slice(reader.bytes());
                lines.push(b'\n');
                if ends_batch {
                    complete = lines.len();
                }
            }
            Some(_) => is_complete = false,
            None => is_over = true,
        }
    }
}

/// Whether the ledger at `path` reaches the place of `lines`, and every good line in it agrees with
/// them.
fn is_continued(path: &Path, begin: &Begin, lines: &[u8]) -> io::Result<bool> {
    let mut reader = Reader::open(path)?;
    reader.next()?;
    if reader.offset() > begin.length {
        return Ok(false);
    }
    loop {
        let at = reader.offset();
        let found = reader.next()?;
        if found == Found::End {
            return Ok(at >= begin.length);
        }
        let Some(line) = reader.line(found) else {
            continue;
        };
        let is_earlier = line.sequence <= begin.sequence;
        let agrees = match at.checked_sub(begin.length) {
            None => is_earlier && reader.offset() <= begin.length,
            // An earlier line here is what the disk shows of another file's blocks.
            Some(at) => {
                let there = usize::try_from(at).ok().and_then(|at| lines.get(at..));
                let there = there.filter(|there| !there.is_empty());
                is_earlier || there.is_none_or(|there| there.starts_with(reader.bytes()))
            }
        };
        if !agrees {
            return Ok(false);
        }
    }
}

/// Renames the journal to a name that is free.
fn set_aside(files: &dyn Files, path: &Path, journal: &Path) -> io::Result<()> {
    let aside = numbered(path, "journal");
    files.rename(journal, &aside)?;
    files.sync_directory(parent(path))?;
    tracing::warn!(
        path = %aside.display(),
        "the ledger's old journal was set aside: it may hold lines that the ledger does not have"
    );
    Ok(())
}
