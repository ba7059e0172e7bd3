//! Reads contacts from a file, CSV or JSON Lines, as the rows of an import. What cannot be read is named by
//! its line.

mod source;

use std::borrow::Cow;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};
use futures_util::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use crate::adapters::part_file;
use crate::config::ColumnMeaning;
use crate::domain::{ContactStatus, EmailAddress, quoted};
use crate::operator::contact_csv::{STATUS, original};
use crate::operator::import::ImportRow;
use crate::operator::operation::Lines;

use self::source::{Source, begin};
use super::import_columns::{Standing, meaning_of, standing, unusable};
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

/// What the operator says of columns.
pub(super) type Given = Vec<(String, ColumnMeaning)>;

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
        "line {line}: no column is named email. The first row must name the columns, which commas, semicolons or \
         tabs separate, such as email,subscribed_at; --column NAME=email names another one"
    )]
    Header { line: u64 },
    #[error(
        "line {line}: what {} means is unknown, and it may tell who must not be written to. Nothing of this row and \
         those after it was imported. Say what a yes in it means, for each: --column NAME=unsubscribed, \
         NAME=subscribed or NAME=confirmed; NAME=status if it has words, NAME=ignore if none of these",
        quoted(names.as_bytes(), None)
    )]
    Consent { line: u64, names: String },
    #[error("the file has no column {0}, which --column names")]
    Missing(String),
    #[error("line {0}: the file is not UTF-8: save it as CSV UTF-8, and import it again")]
    Encoding(u64),
    #[error("line {0}: the row that begins here does not end: is a quote open?")]
    Endless(u64),
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
        given: Given,
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
            let read = begin(inner).and_then(|(inner, delimiter)| {
                let source = Source::new(inner, progress, sender.clone());
                match format {
                    FileFormat::Csv => read_csv(source, delimiter, &given),
                    FileFormat::JsonLines => read_json_lines(source, &given),
                }
            });
            let read = read.map_err(|error| match error {
                FileError::Io(error) => unreadable(error),
                wrong => CommandError::Input(wrong.to_string()),
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

fn bad(line: u64, reason: impl Into<String>) -> ImportRow<'static> {
    ImportRow {
        line,
        email: Cow::default(),
        subscribed_at: None,
        status: None,
        bad: Some(Cow::Owned(reason.into())),
    }
}

/// Reads the rows of a file. Returns the names of the columns that are not read.
fn read_csv<R: Read>(
    source: Source<R>,
    delimiter: u8,
    given: &Given,
) -> Result<Vec<String>, FileError> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .buffer_capacity(PIECE_BYTES)
        .from_reader(source);
    let mut record = ByteRecord::new();
    let mut columns: Option<Columns> = None;
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                let line = reader.position().line();
                return Err(reader.get_ref().failure(error.into(), line));
            }
        }
        // Each row ends with a line feed, unless a quote is open at the end of the file.
        let is_open = reader.get_ref().is_ended;
        let more_lines = record
            .as_slice()
            .iter()
            .filter(|byte| **byte == b'\n')
            .count() as u64;
        let line = reader.position().line() - more_lines - u64::from(!is_open);
        let is_too_long = record.as_slice().len() > ROW_BYTES_MAX || record.len() > COLUMNS_MAX;
        let columns = match &columns {
            Some(columns) => columns,
            // Excel names the delimiter so, before the header.
            None if record.get(0) == Some(b"sep=") => continue,
            None if is_too_long || is_open => return Err(FileError::Header { line }),
            None => {
                let (found, is_header) = Columns::parse(&record, given, line)?;
                let columns = columns.insert(found);
                if is_header {
                    continue;
                }
                columns
            }
        };
        let lines = more_lines + u64::from(!is_open);
        let is_swallowed = is_open || swallows(&record, delimiter);
        let row = match columns.row(line, &record) {
            _ if is_swallowed || more_lines > 0 && is_too_long => bad(
                line,
                format!(
                    "a quote opens in this row, and with it {lines} lines (to line {}) are one cell: close it or \
                     remove it, and import the file again",
                    line + lines - 1
                ),
            ),
            _ if is_too_long => bad(
                line,
                "the row is longer than 64 KiB or has more than 1024 columns",
            ),
            Ok(row) => row,
            Err(reason) => bad(line, reason),
        };
        reader.get_mut().push(row)?;
    }
    reader.get_mut().flush()?;
    Ok(columns.map(|columns| columns.ignored).unwrap_or_default())
}

/// Whether a cell has a line that looks like a row: one with an address.
fn swallows(record: &ByteRecord, delimiter: u8) -> bool {
    let is_address = |part: &str| EmailAddress::parse(part.trim_matches([' ', '"'])).is_ok();
    let is_row = |line: &[u8]| {
        let is_parted = record.len() == 1 || line.contains(&delimiter);
        let mut parts = line.split(|byte| *byte == delimiter);
        is_parted && parts.any(|part| str::from_utf8(part).is_ok_and(is_address))
    };
    let mut lines = record
        .iter()
        .flat_map(|cell| cell.split(|byte| *byte == b'\n').skip(1));
    lines.any(is_row)
}

/// The columns that are read.
#[derive(Debug, Default)]
struct Columns {
    email: usize,
    subscribed_at: Option<usize>,
    /// Those that say who may be written to.
    standing: Vec<(usize, (ColumnMeaning, String))>,
    count: usize,
    /// The names of all others.
    ignored: Vec<String>,
}

impl Columns {
    /// Reads the header, in `line`. A row of one column that is an address is no header, and the column is that of
    /// addresses. Returns whether it is one.
    fn parse(record: &ByteRecord, given: &Given, line: u64) -> Result<(Self, bool), FileError> {
        let cells = record.iter().map(|cell| text(cell));
        let cells = cells.collect::<Option<Vec<&str>>>();
        let cells = cells.ok_or(FileError::Encoding(line))?;
        let mut columns = Self {
            count: cells.len(),
            ..Self::default()
        };
        let (mut email, mut unknown) = (None, Vec::new());
        for (index, name) in cells.iter().enumerate() {
            match meaning_of(name, given) {
                Some(ColumnMeaning::Email) if email.is_none() => email = Some(index),
                Some(ColumnMeaning::SubscribedAt) => columns.subscribed_at = Some(index),
                Some(ColumnMeaning::Ignore | ColumnMeaning::Email) => {
                    columns.ignored.push((*name).to_owned());
                }
                Some(meaning) => columns
                    .standing
                    .push((index, (meaning, (*name).to_owned()))),
                None => unknown.push(*name),
            }
        }
        let Some(email) = email else {
            return match cells.as_slice() {
                [cell] if cell.contains('@') => {
                    let column = Self {
                        count: 1,
                        ..Self::default()
                    };
                    Ok((column, false))
                }
                _ => Err(FileError::Header { line }),
            };
        };
        columns.email = email;
        let is_there = |name: &str| {
            cells
                .iter()
                .any(|cell| cell.eq_ignore_ascii_case(name.trim()))
        };
        if let Some((name, _)) = given.iter().find(|(name, _)| !is_there(name)) {
            return Err(FileError::Missing(name.clone()));
        }
        match unknown.join(", ") {
            names if names.is_empty() => Ok((columns, true)),
            names => Err(FileError::Consent { line, names }),
        }
    }

    fn row<'a>(&self, line: u64, record: &'a ByteRecord) -> Result<ImportRow<'a>, String> {
        if record.len() > self.count {
            let (found, count) = (record.len(), self.count);
            return Err(format!("the row has {found} cells, and the header {count}"));
        }
        let cell = |index: usize| text(record.get(index).unwrap_or_default()).map(original);
        let encoded = || "the row is not UTF-8".to_owned();
        let email = cell(self.email).ok_or_else(encoded)?;
        let subscribed_at = self
            .subscribed_at
            .map(|index| cell(index).ok_or_else(encoded));
        let said = self.standing.iter().map(|(index, column)| {
            let cell = String::from_utf8_lossy(record.get(*index).unwrap_or_default());
            ((column.0, &*column.1), cell)
        });
        Ok(ImportRow {
            line,
            email: email.into(),
            subscribed_at: subscribed_at.transpose()?.map(Cow::Borrowed),
            status: status(said)?,
            bad: None,
        })
    }
}

fn text(cell: &[u8]) -> Option<&str> {
    str::from_utf8(cell).ok().map(str::trim)
}

/// What a cell says, with the meaning and the name of its column.
type Said<'a> = ((ColumnMeaning, &'a str), Cow<'a, str>);

/// The status of a contact of which cells, each with its column, say this.
fn status<'a, 'b>(said: impl Iterator<Item = Said<'a>>) -> Result<Option<Cow<'b, str>>, String> {
    let mut left_out = None;
    let mut worst = Standing::Subscribed;
    for (column, cell) in said {
        let found = standing(column, &cell)?;
        worst = worst.max(found);
        if found == Standing::Unconfirmed {
            left_out = Some(unusable(column.1, &cell, "unconfirmed"));
        }
    }
    match (worst, left_out) {
        (Standing::Unconfirmed, Some(reason)) => Err(reason),
        (Standing::Unsubscribed, _) => Ok(Some(ContactStatus::Unsubscribed.as_str().into())),
        (Standing::Subscribed | Standing::Unconfirmed, _) => Ok(None),
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
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Reads the lines of a file. Returns the names of the members of the first one that are not read.
fn read_json_lines<R: Read>(source: Source<R>, given: &Given) -> Result<Vec<String>, FileError> {
    let mut reader = BufReader::with_capacity(PIECE_BYTES, source);
    let (mut line, mut number) = (Vec::new(), 0);
    let mut ignored = None;
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line);
        number += 1;
        match read {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => return Err(reader.get_ref().failure(error, number)),
        }
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
                let (columns, others) = members(&row, given, number)?;
                ignored.get_or_insert(others);
                match status(columns.into_iter()) {
                    Err(reason) => bad(number, reason),
                    Ok(status) => ImportRow {
                        line: number,
                        email: row.email,
                        subscribed_at: row.subscribed_at,
                        status,
                        bad: None,
                    },
                }
            }
        };
        reader.get_mut().push(row)?;
    }
    reader.get_mut().flush()?;
    Ok(ignored.unwrap_or_default())
}

/// The members of `row` that say who may be written to, and the names of those that are not read.
fn members<'a>(
    row: &'a JsonRow<'_>,
    given: &Given,
    line: u64,
) -> Result<(Vec<Said<'a>>, Vec<String>), FileError> {
    let said = row
        .status
        .as_deref()
        .map(|status| (STATUS, Cow::Borrowed(status)));
    let others = row.others.iter().map(|(name, value)| {
        let value = match value {
            Value::Null => Cow::default(),
            Value::String(text) => Cow::Borrowed(text.as_str()),
            other => Cow::Owned(other.to_string()),
        };
        (name.as_str(), value)
    });
    let (mut columns, mut ignored) = (Vec::new(), Vec::new());
    for (name, value) in said.into_iter().chain(others) {
        match meaning_of(name, given) {
            Some(ColumnMeaning::Ignore | ColumnMeaning::Email | ColumnMeaning::SubscribedAt) => {
                ignored.push(name.to_owned());
            }
            Some(meaning) => columns.push(((meaning, name), value)),
            None => {
                let names = name.to_owned();
                return Err(FileError::Consent { line, names });
            }
        }
    }
    Ok((columns, ignored))
}

#[cfg(test)]
mod tests;
