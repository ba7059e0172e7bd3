//! Reading the events of a ledger that was verified.

use std::fs::File;
use std::io;
use std::path::Path;

use super::event::Event;
use super::line::{Found, Line};
use super::reader::{Flaw, Reader};

/// Calls `visit` with every good line after the head and its place among them, from 1. In a
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

/// Calls `visit` with every event, its JSON, and its place as [`each_line`] counts.
pub(crate) fn each_event<E: From<Flaw>>(
    path: &Path,
    mut visit: impl FnMut(u64, &Event, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    each_line(path, |place, line| {
        visit(place, &parse(place, line.event)?, line.event)
    })
}

/// Reads the event of the line in this place.
fn parse(place: u64, json: &[u8]) -> Result<Event, Flaw> {
    serde_json::from_slice(json).map_err(|error| Flaw::Damaged {
        line: place + 1,
        // Only the position: the parser's message could quote an address.
        reason: format!(
            "its event is unknown to this version (column {} of the event)",
            error.column()
        ),
    })
}

/// How the events begin that create something and that are usually the only ones of their identity.
const CREATIONS: [&[u8]; 4] = [
    b"{\"contact_subscribed\":",
    b"{\"contact_imported\":",
    b"{\"key_issued\":",
    b"{\"token_revoked\":",
];

/// Reads the events that a ledger has at this moment. The writer may go on and replace the file.
#[derive(Debug)]
pub(crate) struct EventReader {
    reader: Reader,
    /// In bytes, when the reading began.
    length: u64,
    place: u64,
}

impl EventReader {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let mut reader = Reader::new(file);
        reader.next()?;
        Ok(Self {
            reader,
            length,
            place: 0,
        })
    }

    /// Calls `visit` with every event that changes what another one created, and its place, and goes back
    /// to the first event.
    pub(crate) fn each_change(&mut self, mut visit: impl FnMut(u64, &Event)) -> Result<(), Flaw> {
        let is_change = |json: &[u8]| !CREATIONS.iter().any(|begin| json.starts_with(begin));
        while self.reader.offset() < self.length {
            let found = self.reader.next()?;
            self.place += 1;
            // A bad line is for the reader of all events.
            if let Some(line) = self.reader.line(found)
                && is_change(line.event)
            {
                visit(self.place, &parse(self.place, line.event)?);
            }
        }
        self.place = 0;
        self.reader.rewind()?;
        self.reader.next()?;
        Ok(())
    }

    /// The place of the event last read.
    pub(crate) fn place(&self) -> u64 {
        self.place
    }

    /// The next event. `None` at the end, and at the torn end of a batch that is being written.
    pub(crate) fn next(&mut self) -> Result<Option<Event>, Flaw> {
        let mut flaw_line = None;
        while self.reader.offset() < self.length {
            let found = self.reader.next()?;
            match (self.reader.line(found), flaw_line) {
                (Some(line), None) => {
                    self.place += 1;
                    return parse(self.place, line.event).map(Some);
                }
                (Some(_), Some(line)) => {
                    return Err(Flaw::Damaged {
                        line,
                        reason: "it is not as it was written".to_owned(),
                    });
                }
                (None, _) => flaw_line = flaw_line.or_else(|| Some(self.reader.number())),
            }
        }
        Ok(None)
    }
}
