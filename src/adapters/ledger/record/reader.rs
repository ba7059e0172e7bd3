//! Reading a ledger: its lines, and the events of acknowledged ones.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::iter;
use std::os::unix::fs::FileExt as _;

use crate::adapters::files::BUFFER_BYTES;

use super::event::Event;
use super::line::{Flaw, HEAD_BYTES, LINE_BYTES_MAX, Line, Place};

/// Longer than most lines, in bytes.
const LINE_CAPACITY: usize = 512;

/// Place of the first event.
pub(crate) const FIRST_PLACE: Place = HEAD_BYTES as Place;

/// The events of the lines that begin from one place on and before another, and their places. [`Flaw::Unreadable`] for
/// a bad line, for the head, and for an unexpected end of the file; the lines after a bad one follow.
pub(crate) fn events(
    file: &File,
    from: Place,
    until: Place,
) -> impl Iterator<Item = Result<(Place, Event), Flaw>> {
    let (mut lines, mut until) = (Lines::new(file, from), until);
    iter::from_fn(move || {
        let place = lines.end();
        if place >= until {
            return None;
        }
        let event = lines.next().map_err(Flaw::Io).and_then(|is_there| {
            if !is_there {
                until = place;
            }
            parse(place, lines.line())
        });
        Some(event.map(|event| (place, event)))
    })
}

/// Reads the acknowledged event at a place.
pub(crate) fn event_at(file: &File, place: Place) -> Result<Event, Flaw> {
    let mut lines = Lines::with_capacity(LINE_CAPACITY, file, place);
    lines.next()?;
    parse(place, lines.line())
}

fn parse(place: Place, line: Option<Line<'_>>) -> Result<Event, Flaw> {
    // The parser's message could quote an address.
    let event = line.and_then(|line| serde_json::from_slice(line.event).ok());
    event.ok_or(Flaw::Unreadable(place))
}

/// Reads a file line by line. Others may read the same file at the same time. Bytes that are longer than any line come
/// in parts, each of which is a bad line. Two lines whose newline was lost are one part.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    file: BufReader<ReadAt<'a>>,
    /// The line last read, with its newline if it has one.
    line: Vec<u8>,
    end: Place,
}

impl<'a> Lines<'a> {
    /// The lines of `file` from the place `from` on.
    pub(super) fn new(file: &'a File, from: Place) -> Self {
        Self::with_capacity(BUFFER_BYTES, file, from)
    }

    fn with_capacity(capacity: usize, file: &'a File, from: Place) -> Self {
        let file = ReadAt { file, offset: from };
        Self {
            file: BufReader::with_capacity(capacity, file),
            line: Vec::with_capacity(LINE_CAPACITY),
            end: from,
        }
    }

    /// Reads the next line. False at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<bool> {
        self.line.clear();
        let mut file = self.file.by_ref().take(2 * LINE_BYTES_MAX as u64);
        let taken = file.read_until(b'\n', &mut self.line)?;
        self.end += taken as u64;
        Ok(taken > 0)
    }

    /// The line last read, without its newline.
    pub(super) fn bytes(&self) -> &[u8] {
        self.line.strip_suffix(b"\n").unwrap_or(&self.line)
    }

    /// The line last read, if it is good.
    pub(super) fn line(&self) -> Option<Line<'_>> {
        Line::parse(self.bytes())
    }

    pub(super) fn is_terminated(&self) -> bool {
        self.line.ends_with(b"\n")
    }

    /// End of the line last read.
    pub(super) fn end(&self) -> Place {
        self.end
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
