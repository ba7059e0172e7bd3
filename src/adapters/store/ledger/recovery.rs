//! What a start makes of the ledger and of the journal that a process left when it did not stop
//! cleanly.
//!
//! After a crash of the process alone, the ledger holds all that the journal holds. After a power
//! cut it may lack any block that was written since it was last synced: the journal has those
//! lines, and where they belong. A journal that does not go with its ledger tells of acknowledged
//! lines that are not there, as when somebody has put an earlier copy of the ledger in its place.
//! It never keeps the service from starting, and is never removed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::append::set_journal_aside;
use super::files::{BUFFER_BYTES, Files};
use super::head::Head;
use super::journal::{Begin, JOURNAL_BYTES_MAX, journal_path};
use super::line::Found;
use super::reader::{Chain, Flaw, Reader, Verified, verify, verify_lines};

/// A ledger without damage, and what is to be done so that its file is one.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) verified: Verified,
    /// What the file may lack.
    pub(super) lost: Option<Lost>,
    /// Whether the journal holds lines that the ledger will lack nevertheless.
    pub(super) is_journal_foreign: bool,
}

/// Lines that a ledger's file may lack.
#[derive(Debug)]
pub(super) struct Lost {
    /// Where they belong, in bytes.
    pub(super) at: u64,
    pub(super) bytes: Vec<u8>,
}

/// Verifies every line of the ledger at `path`, those included that only its journal has. Changes
/// nothing.
pub(crate) fn recover(path: &Path) -> Result<Recovered, Flaw> {
    let alone = verify(path);
    let (head, sequence) = match &alone {
        Ok(verified) => (verified.head.clone(), Some(verified.sequence)),
        Err(Flaw::Damaged { .. }) => match Reader::open(path)?.head() {
            Ok(head) => (head, None),
            Err(flaw) => return Err(flaw),
        },
        Err(Flaw::Io(_) | Flaw::Newer(_)) => return alone.map(Recovered::without_journal),
    };
    let Some(left) = Left::read(&journal_path(path))? else {
        return alone.map(Recovered::without_journal);
    };
    // What the ledger has itself is never touched.
    let lacks = sequence.is_none_or(|sequence| sequence < left.end.sequence);
    let lost = left.lost(&head).filter(|_| lacks);
    let whole = lost.as_ref().and_then(|lost| lost.verify_with(path).ok());
    let lost = lost.filter(|_| whole.is_some());
    let verified = whole.map_or(alone, Ok)?;
    Ok(Recovered {
        is_journal_foreign: left.is_foreign(&verified),
        verified,
        lost,
    })
}

/// Puts what the journal of a damaged ledger holds in its place, as far as it has one, and sets the
/// journal aside. Hands out a generation that neither of them had.
pub(crate) fn salvage(files: &dyn Files, path: &Path) -> Result<u64, Flaw> {
    let head = Reader::open(path)?.head().ok();
    let left = Left::read(&journal_path(path))?;
    let lost = head
        .as_ref()
        .zip(left.as_ref())
        .and_then(|(head, left)| left.lost(head));
    if let Some(lost) = lost {
        let mut file = files.open(path)?;
        file.overwrite(lost.at, &lost.bytes)?;
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
            lost: None,
            is_journal_foreign: false,
        }
    }
}

impl Lost {
    /// Verifies the ledger at `path` as it is with these lines.
    fn verify_with(&self, path: &Path) -> Result<Verified, Flaw> {
        let before = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?).take(self.at);
        let mut behind = File::open(path)?;
        behind.seek(SeekFrom::Start(self.at + self.bytes.len() as u64))?;
        let whole = before
            .chain(self.bytes.as_slice())
            .chain(BufReader::with_capacity(BUFFER_BYTES, behind));
        verify_lines(Reader::new(whole))
    }
}

/// What a journal holds.
#[derive(Debug)]
struct Left {
    /// Where it begins; nothing if its first line did not reach the disk. Nothing in it was
    /// acknowledged then.
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
    /// Reads a journal; nothing if there is none.
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

    /// The lines and their place in a ledger that begins with `head`; nothing if it is not theirs.
    fn lost(&self, head: &Head) -> Option<Lost> {
        let begin = self.begin.as_ref()?;
        let is_of_ledger = begin.generation == head.generation && begin.secret == head.secret;
        is_of_ledger.then(|| Lost {
            at: begin.length,
            bytes: self.bytes.clone(),
        })
    }

    /// Whether there are lines in it that were acknowledged and are not in `ledger`.
    fn is_foreign(&self, ledger: &Verified) -> bool {
        match &self.begin {
            // The generation it was of was whole when the ledger's was made of it.
            Some(begin)
                if begin.generation < ledger.head.generation
                    && begin.secret == ledger.head.secret =>
            {
                false
            }
            Some(begin)
                if begin.generation != ledger.head.generation
                    || begin.secret != ledger.head.secret =>
            {
                true
            }
            // A batch right behind the last one may be there in part: it was never acknowledged.
            Some(_) | None => self.end.batch > ledger.batch || self.latest_batch > ledger.batch + 1,
        }
    }
}
