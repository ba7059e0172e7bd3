//! Reads contacts from a file, CSV or JSON Lines, as the rows of an import. What cannot be read is named by
//! its line.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use bytes::Bytes;
use csv::{ByteRecord, ReaderBuilder};
use futures_util::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use crate::adapters::part_file;
use crate::operator::contact_csv::{EMAIL, STATUS, SUBSCRIBED_AT, original};
use crate::operator::import::ImportRow;
use crate::operator::operation::{Lines, json_lines};

use super::outcome::CommandError;
use super::output::Progress;

/// How much of a file is read at a time.
const PIECE_BYTES: usize = 64 * 1024;
/// How many pieces may wait to be sent.
const PIECES_MAX: usize = 4;

/// The longest row, in bytes.
const ROW_BYTES_MAX: usize = 64 * 1024;
/// The most columns.
const COLUMNS_MAX: usize = 1024;
/// Names of the address's column, without what is no letter.
const EMAIL_NAMES: [&str; 3] = [EMAIL, "emailaddress", "mail"];

/// A form of files with contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// Comma-separated values, with a header row.
    Csv,
    /// A JSON object a line.
    JsonLines,
}

/// Why the rest of a file is not read.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(
        "line {line}: no column is named email. The first row must name the columns, which commas \
         separate, such as email,subscribed_at"
    )]
    Header { line: u64 },
}

impl From<csv::Error> for FileError {
    fn from(error: csv::Error) -> Self {
        Self::Io(error.into())
    }
}

/// How reading a file ended, once it has: the names of the columns or members that were not read, or why it
/// failed.
pub(super) struct ContactFileEnd(oneshot::Receiver<Result<Vec<String>, CommandError>>);

impl ContactFileEnd {
    /// Begins to read the file at `path`, `-` for standard input. Returns its rows, each an [`ImportRow`].
    pub(super) async fn open(
        path: &Path,
        format: FileFormat,
    ) -> Result<(Lines<io::Error>, Self), CommandError> {
        const WHAT: &str = "Importing";
        let name = path.display().to_string();
        let unreadable =
            move |error: io::Error| CommandError::Failed(format!("cannot read {name}: {error}"));
        let (inner, progress): (Box<dyn Read + Send>, _) = if path == Path::new("-") {
            (Box::new(io::stdin()), Progress::of_bytes(WHAT, None))
        } else {
            let (file, length) = part_file::open(path).await.map_err(&unreadable)?;
            // A pipe has no length.
            let length = Some(length).filter(|length| *length > 0);
            let file = file.into_std().await;
            (Box::new(file), Progress::of_bytes(WHAT, length))
        };
        let (sender, mut receiver) = mpsc::channel(PIECES_MAX);
        let (ended, end) = oneshot::channel();
        spawn_blocking(move || {
            let inner = without_byte_order_mark(inner).map_err(FileError::Io);
            let read =
                inner.and_then(|inner| read(format, Source::new(inner, progress, sender.clone())));
            let read = read.map_err(|error| match error {
                FileError::Io(error) => unreadable(error),
                FileError::Header { .. } => CommandError::Input(error.to_string()),
            });
            let is_whole = read.is_ok();
            // Fails only if nobody waits for the rows.
            let _ = ended.send(read);
            if !is_whole {
                // What was read so far is no whole file. Fails only if nobody reads it.
                let _ = sender.blocking_send(Err(io::ErrorKind::UnexpectedEof.into()));
            }
        });
        let rows = stream::poll_fn(move |context| receiver.poll_recv(context));
        Ok((rows.boxed(), Self(end)))
    }

    /// What the service `answered`, and the names of the columns or members that were not read.
    ///
    /// # Errors
    /// Why the file could not be read, before why the service failed.
    pub(super) fn of<T>(
        mut self,
        answered: Result<T, CommandError>,
    ) -> Result<(T, Vec<String>), CommandError> {
        let ignored = self.0.try_recv().ok().transpose()?;
        Ok((answered?, ignored.unwrap_or_default()))
    }
}

/// A file, and where its rows go. They are sent before it is read on, which may wait for whoever writes it.
struct Source<R> {
    inner: R,
    progress: Progress,
    pending: Vec<u8>,
    sender: mpsc::Sender<io::Result<Bytes>>,
    /// How much has been read.
    at: u64,
    last: u8,
    /// Where line feeds are that follow the end of a line: they belong to no row, or to the end of the one
    /// before.
    blank: VecDeque<u64>,
}

impl<R: Read> Source<R> {
    fn new(inner: R, progress: Progress, sender: mpsc::Sender<io::Result<Bytes>>) -> Self {
        Self {
            inner,
            progress,
            pending: Vec::new(),
            sender,
            at: 0,
            last: b'\n',
            blank: VecDeque::new(),
        }
    }

    fn push(&mut self, row: ImportRow<'_>) -> io::Result<()> {
        self.pending.extend_from_slice(&json_lines([row])?);
        if self.pending.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.pending).into();
        let sent = self.sender.blocking_send(Ok(rows));
        sent.map_err(|_nobody_reads| io::ErrorKind::BrokenPipe.into())
    }

    /// The line in which the row begins that the reader found at `position`, which may be before line
    /// feeds that are not the row's.
    fn line(&mut self, position: &csv::Position) -> u64 {
        let (mut at, mut line) = (position.byte(), position.line());
        while let Some(&blank) = self.blank.front().filter(|blank| **blank <= at + 1) {
            self.blank.pop_front();
            if blank >= at {
                line += 1;
                at = blank + 1;
            }
        }
        line
    }
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.flush()?;
        let length = self.inner.read(buffer)?;
        self.progress.advance(length);
        for &byte in buffer.get(..length).unwrap_or_default() {
            if byte == b'\n' && matches!(self.last, b'\r' | b'\n') {
                self.blank.push_back(self.at);
            }
            self.last = byte;
            self.at += 1;
        }
        Ok(length)
    }
}

/// The file without the byte order mark that spreadsheets begin UTF-8 with. csv knows it only if it arrives
/// with what follows.
fn without_byte_order_mark(mut file: impl Read) -> io::Result<impl Read> {
    let mut head = Vec::new();
    file.by_ref().take(3).read_to_end(&mut head)?;
    if head == b"\xef\xbb\xbf" {
        head.clear();
    }
    Ok(io::Cursor::new(head).chain(file))
}

/// Reads the rows of a file. Returns the names of the columns or members that are not read.
fn read<R: Read>(format: FileFormat, source: Source<R>) -> Result<Vec<String>, FileError> {
    match format {
        FileFormat::Csv => read_csv(source),
        FileFormat::JsonLines => Ok(read_json_lines(source)?),
    }
}

fn bad(line: u64, reason: impl Into<String>) -> ImportRow<'static> {
    ImportRow {
        line,
        email: Cow::default(),
        subscribed_at: None,
        status: None,
        bad: Some(Cow::Owned(reason.into())),
    }
}

fn read_csv<R: Read>(source: Source<R>) -> Result<Vec<String>, FileError> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(PIECE_BYTES)
        .from_reader(source);
    let mut record = ByteRecord::new();
    let mut columns: Option<Columns> = None;
    while reader.read_byte_record(&mut record)? {
        let line = match record.position() {
            Some(position) => reader.get_mut().line(position),
            None => 0,
        };
        let is_too_long = record.as_slice().len() > ROW_BYTES_MAX || record.len() > COLUMNS_MAX;
        let cells = record
            .iter()
            .map(|cell| str::from_utf8(cell).map(str::trim));
        let cells = cells.collect::<Result<Vec<&str>, _>>();
        let row = match (&columns, cells) {
            (Some(_), _) if is_too_long => bad(
                line,
                "the row is longer than 64 KiB or has more than 1024 columns",
            ),
            (Some(_), Err(_)) => bad(line, "the row is not UTF-8"),
            (Some(columns), Ok(cells)) => columns.row(line, &cells),
            (None, Ok(cells)) if !is_too_long => {
                let found = Columns::parse(&cells).ok_or(FileError::Header { line })?;
                let (found, is_header) = found;
                let columns = columns.insert(found);
                if is_header {
                    continue;
                }
                columns.row(line, &cells)
            }
            (None, Ok(_) | Err(_)) => return Err(FileError::Header { line }),
        };
        reader.get_mut().push(row)?;
    }
    reader.get_mut().flush()?;
    Ok(columns.map(|it| it.ignored).unwrap_or_default())
}

/// Which columns are read.
#[derive(Debug, Default)]
struct Columns {
    email: usize,
    subscribed_at: Option<usize>,
    status: Option<usize>,
    count: usize,
    /// The names of all others.
    ignored: Vec<String>,
}

impl Columns {
    /// Reads the header. A row of one column that is an address is no header, and the column is that of
    /// addresses. Returns whether it is one.
    fn parse(cells: &[&str]) -> Option<(Self, bool)> {
        let name = |cell: &&str| {
            let letters = cell.chars().filter(char::is_ascii_alphabetic);
            letters.collect::<String>().to_ascii_lowercase()
        };
        let email = cells
            .iter()
            .position(|cell| EMAIL_NAMES.contains(&&*name(cell)));
        let Some(email) = email else {
            let [cell] = cells else { return None };
            let column = Self {
                count: 1,
                ..Self::default()
            };
            return cell.contains('@').then_some((column, false));
        };
        let named = |name| {
            cells
                .iter()
                .position(|cell| cell.eq_ignore_ascii_case(name))
        };
        let (subscribed_at, status) = (named(SUBSCRIBED_AT), named(STATUS));
        let read = [Some(email), subscribed_at, status];
        let others = cells.iter().enumerate();
        let others = others.filter(|(index, _)| !read.contains(&Some(*index)));
        let columns = Self {
            email,
            subscribed_at,
            status,
            count: cells.len(),
            ignored: others.map(|(_, cell)| (*cell).to_owned()).collect(),
        };
        Some((columns, true))
    }

    fn row<'a>(&self, line: u64, cells: &[&'a str]) -> ImportRow<'a> {
        if cells.len() > self.count {
            let (found, count) = (cells.len(), self.count);
            let reason = format!("the row has {found} cells, and the header {count}");
            return bad(line, reason);
        }
        let cell = |index: usize| cells.get(index).map(|cell| Cow::Borrowed(original(cell)));
        ImportRow {
            line,
            email: cell(self.email).unwrap_or_default(),
            subscribed_at: self.subscribed_at.and_then(cell),
            status: self.status.and_then(cell),
            bad: None,
        }
    }
}

/// A line of JSON. Strings with escapes cannot be borrowed.
#[derive(Deserialize)]
struct JsonRow<'a> {
    #[serde(borrow)]
    email: Cow<'a, str>,
    #[serde(borrow)]
    subscribed_at: Option<Cow<'a, str>>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
}

fn read_json_lines<R: Read>(source: Source<R>) -> io::Result<Vec<String>> {
    let mut reader = BufReader::with_capacity(PIECE_BYTES, source);
    let (mut line, mut number) = (Vec::new(), 0);
    let mut ignored = None;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        let row = match serde_json::from_slice::<JsonRow<'_>>(text) {
            _ if line.len() > ROW_BYTES_MAX => bad(number, "the line is longer than 64 KiB"),
            Err(_) => bad(
                number,
                "the line is no JSON object with a string email, and strings subscribed_at and status if any",
            ),
            Ok(row) => {
                ignored.get_or_insert_with(|| others(text));
                ImportRow {
                    line: number,
                    email: row.email,
                    subscribed_at: row.subscribed_at,
                    status: row.status,
                    bad: None,
                }
            }
        };
        reader.get_mut().push(row)?;
    }
    reader.get_mut().flush()?;
    Ok(ignored.unwrap_or_default())
}

/// The names of the members that are not read.
fn others(line: &[u8]) -> Vec<String> {
    let members: Map<String, Value> = serde_json::from_slice(line).unwrap_or_default();
    let names = members.into_iter().map(|(name, _)| name);
    names
        .filter(|name| ![EMAIL, SUBSCRIBED_AT, STATUS].contains(&name.as_str()))
        .collect()
}

#[cfg(test)]
mod tests;
