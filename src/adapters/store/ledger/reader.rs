//! Reading a ledger: what it says about itself, whether every line is as it was written, and what
//! it records.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use super::event::Event;
use super::files::BUFFER_BYTES;
use super::head::{Head, HeadFlaw};
use super::line::{self, Found, Line};

/// Why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Flaw {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Of the file beside it.
    #[error("its journal: {0}")]
    Journal(io::Error),
    #[error("format {0} is newer than this version")]
    Newer(u64),
    #[error("line {line}: {what}")]
    Damaged { line: u64, what: String },
}

/// A ledger without damage.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) head: Head,
    /// The last acknowledged event, or 0.
    pub(crate) sequence: u64,
    /// The batch it came with, or 0.
    pub(crate) batch: u64,
    /// Where that begins, in bytes.
    pub(crate) batch_begin: u64,
    /// Where it ends, in bytes.
    pub(crate) length: u64,
    /// What stands behind it: the rest of a batch that was never acknowledged.
    pub(crate) torn: Option<Torn>,
}

/// The rest of a batch that was never acknowledged.
#[derive(Debug)]
pub(crate) struct Torn {
    /// The first line that is not as it should be.
    pub(crate) line: u64,
    /// How many bytes are to be cut.
    pub(crate) bytes: u64,
}

/// Follows lines from batch to batch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    /// The last line.
    pub(super) sequence: u64,
    /// The last whole batch.
    pub(super) batch: u64,
    /// How many lines the batch behind that lacks, if it has begun.
    pub(super) left: u64,
}

impl Chain {
    /// Whether `line` comes next.
    pub(super) fn fits(&self, line: &Line<'_>) -> bool {
        line.sequence.checked_sub(1) == Some(self.sequence)
            && line.batch.checked_sub(1) == Some(self.batch)
            && (self.left == 0 || line.left.checked_add(1) == Some(self.left))
    }

    /// Takes the next line, and says whether it ends its batch.
    pub(super) fn push(&mut self, line: &Line<'_>) -> bool {
        self.sequence = line.sequence;
        self.left = line.left;
        if line.left == 0 {
            self.batch = line.batch;
        }
        line.left == 0
    }
}

/// Verifies every line.
pub(crate) fn verify(path: &Path) -> Result<Verified, Flaw> {
    verify_lines(Reader::open(path)?)
}

/// Verifies every line that `reader` finds, the head first.
pub(super) fn verify_lines(mut reader: Reader<impl BufRead>) -> Result<Verified, Flaw> {
    let head = reader.head()?;
    let mut verified = Verified {
        head,
        sequence: 0,
        batch: 0,
        batch_begin: reader.offset,
        length: reader.offset,
        torn: None,
    };
    let mut chain = Chain::default();
    loop {
        let found = reader.next()?;
        let Some(line) = reader.line(found) else {
            return finish(verified, reader, found);
        };
        if !chain.fits(&line) {
            return Err(Flaw::Damaged {
                line: reader.number,
                what: format!(
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
            verified.length = reader.offset;
        }
    }
}

/// Judges what follows the last good line: the end, a torn batch, or damage.
fn finish(
    mut verified: Verified,
    mut reader: Reader<impl BufRead>,
    found: Found,
) -> Result<Verified, Flaw> {
    let flaw_line = reader.number;
    let mut next = found;
    while next != Found::End {
        // The flaw is in the batch behind the last acknowledged one. Whoever acknowledged a later
        // one had acknowledged this one too.
        if reader.latest_batch() > verified.batch + 1 {
            return Err(Flaw::Damaged {
                line: flaw_line,
                what: "it is not as it was written, and later lines were acknowledged".to_owned(),
            });
        }
        next = reader.next()?;
    }
    if verified.sequence < verified.head.base {
        return Err(Flaw::Damaged {
            line: flaw_line,
            what: format!(
                "the file was begun with {} entries, and not all are there as they were written",
                verified.head.base
            ),
        });
    }
    let bytes = reader.offset - verified.length;
    verified.torn = (bytes > 0).then_some(Torn {
        line: flaw_line,
        bytes,
    });
    Ok(verified)
}

/// Hands every good line behind the head to `visit`, with its place among them, from 1. In a
/// verified ledger that is the sequence number.
pub(super) fn each_line<E: From<Flaw>>(
    path: &Path,
    mut visit: impl FnMut(u64, Line<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = Reader::open(path).map_err(Flaw::Io)?;
    reader.next().map_err(Flaw::Io)?;
    let mut place = 0;
    loop {
        let found = reader.next().map_err(Flaw::Io)?;
        if found == Found::End {
            return Ok(());
        }
        if let Some(line) = reader.line(found) {
            place += 1;
            visit(place, line)?;
        }
    }
}

/// Hands every event to `visit`, with its place as [`each_line`] counts.
pub(crate) fn each_event<E: From<Flaw>>(
    path: &Path,
    mut visit: impl FnMut(u64, Event) -> Result<(), E>,
) -> Result<(), E> {
    each_line(path, |place, line| visit(place, parse_event(place, &line)?))
}

fn parse_event(place: u64, line: &Line<'_>) -> Result<Event, Flaw> {
    serde_json::from_slice(line.event).map_err(|error| Flaw::Damaged {
        line: place + 1,
        // The position tells enough; the parser's own words could quote an address.
        what: format!(
            "its event is unknown to this version (column {} of the event)",
            error.column()
        ),
    })
}

/// A look at a ledger before it is verified.
#[derive(Debug)]
pub(crate) struct Glimpse {
    /// The secret it names, if its head can be read.
    pub(crate) secret: Option<String>,
    /// Whether anything follows the head.
    pub(crate) has_events: bool,
}

/// Looks at a ledger's head; nothing if there is no ledger.
pub(crate) fn glimpse(path: &Path) -> io::Result<Option<Glimpse>> {
    let mut reader = match Reader::open(path) {
        Ok(reader) => reader,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let secret = match reader.head() {
        Ok(head) => Some(head.secret),
        Err(Flaw::Io(error) | Flaw::Journal(error)) => return Err(error),
        Err(Flaw::Newer(_) | Flaw::Damaged { .. }) => None,
    };
    let has_events = reader.next()? != Found::End;
    Ok(Some(Glimpse { secret, has_events }))
}

#[derive(Debug)]
pub(super) struct Reader<R> {
    file: R,
    /// The line last read.
    buffer: Vec<u8>,
    /// Its number; the head is line 1.
    number: u64,
    /// Where it ends, in bytes.
    offset: u64,
}

impl Reader<BufReader<File>> {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self::new(BufReader::with_capacity(BUFFER_BYTES, file)))
    }
}

impl<R: BufRead> Reader<R> {
    pub(super) fn new(file: R) -> Self {
        Self {
            file,
            buffer: Vec::new(),
            number: 0,
            offset: 0,
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Found> {
        let (found, bytes) = line::read_line(&mut self.file, &mut self.buffer)?;
        self.number += 1;
        self.offset += bytes;
        Ok(found)
    }

    /// The line last read, if it is good.
    pub(super) fn line(&self, found: Found) -> Option<Line<'_>> {
        match found {
            Found::Whole => Line::parse(&self.buffer),
            Found::Bad | Found::End => None,
        }
    }

    /// What was read last, without its newline.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Where what was read last ends, in bytes.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The latest batch that a good line in what was read last is of, or 0.
    fn latest_batch(&self) -> u64 {
        Line::parse_last(&self.buffer).map_or(0, |(_, line)| line.batch)
    }

    pub(super) fn head(&mut self) -> Result<Head, Flaw> {
        let found = self.next()?;
        match Head::parse(&self.buffer) {
            Err(HeadFlaw::Newer(format)) => Err(Flaw::Newer(format)),
            Ok(head) if found == Found::Whole => Ok(head),
            Ok(_) | Err(HeadFlaw::Damaged) => Err(Flaw::Damaged {
                line: 1,
                what: "the head is not as it was written".to_owned(),
            }),
        }
    }
}
