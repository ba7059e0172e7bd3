//! Reading a ledger: its lines, and the events of acknowledged ones.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::iter;
use std::os::unix::fs::FileExt as _;

use crate::adapters::files::BUFFER_BYTES;

use super::event::Event;
use super::head;
use super::line::{self, Flaw, Found, Line, Place};

/// Longer than most lines, in bytes.
const LINE_CAPACITY: usize = 512;

/// Place of the first event.
pub(crate) const FIRST_PLACE: Place = head::LENGTH as Place;

/// The events of the lines that begin from one place on and before another, and their places; `None` for a bad
/// line, for the head, and for an unexpected end of the file.
///
/// A whole line with an unknown event is [`Flaw::Unreadable`].
pub(crate) fn events(
    file: &File,
    from: Place,
    until: Place,
) -> impl Iterator<Item = Result<(Place, Option<Event>), Flaw>> {
    let (mut reader, mut until) = (Reader::new(file, from), until);
    iter::from_fn(move || {
        let place = reader.offset();
        if place >= until {
            return None;
        }
        let event = reader.next().map_err(Flaw::Io).and_then(|found| {
            if found == Found::End {
                until = place;
            }
            let line = reader.line(found);
            line.map(|line| parse(place, &line)).transpose()
        });
        Some(event.map(|event| (place, event)))
    })
}

/// Reads the acknowledged event at a place.
pub(crate) fn event_at(file: &File, place: Place) -> Result<Event, Flaw> {
    let mut reader = Reader::with_capacity(LINE_CAPACITY, file, place);
    let found = reader.next()?;
    let line = reader.line(found).ok_or(Flaw::Unreadable(place))?;
    parse(place, &line)
}

fn parse(place: Place, line: &Line<'_>) -> Result<Event, Flaw> {
    // The parser's message could quote an address.
    serde_json::from_slice(line.event).map_err(|_message| Flaw::Unreadable(place))
}

/// Reads a file line by line. Others may read the same file at the same time.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    file: BufReader<ReadAt<'a>>,
    /// The line last read.
    buffer: Vec<u8>,
    number: u64,
    offset: u64,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a File, from: Place) -> Self {
        Self::with_capacity(BUFFER_BYTES, file, from)
    }

    fn with_capacity(capacity: usize, file: &'a File, from: Place) -> Self {
        let file = ReadAt { file, offset: from };
        Self {
            file: BufReader::with_capacity(capacity, file),
            buffer: Vec::with_capacity(LINE_CAPACITY),
            number: 0,
            offset: from,
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Found> {
        let (found, bytes) = line::read_line(&mut self.file, &mut self.buffer)?;
        self.number += 1;
        self.offset += bytes;
        Ok(found)
    }

    /// The line last read, without its newline.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// The line last read, if it is good.
    pub(super) fn line(&self, found: Found) -> Option<Line<'_>> {
        match found {
            Found::Whole | Found::Unterminated => Line::parse(&self.buffer),
            Found::Bad | Found::End => None,
        }
    }

    /// Offset of the end of the line last read.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of that line; the first is 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

/// Reads a file at its own position.
#[derive(Debug)]
struct ReadAt<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for ReadAt<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let taken = self.file.read_at(buffer, self.offset)?;
        self.offset += taken as u64;
        Ok(taken)
    }
}
