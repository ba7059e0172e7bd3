//! Reads contacts from a CSV file, as the rows of an import. Rows that can't be read are reported by line.

use std::borrow::Cow;
use std::io::{self, Cursor, Read};
use std::iter::repeat;
use std::mem::take;
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder, Terminator};
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::config::ColumnMeaning;
use crate::domain::{EmailAddress, quoted};
use crate::operator::contact_csv::original;
use crate::operator::import::ImportRow;
use crate::operator::operation::Lines;

use super::import_columns::{Columns, is_refusal, meaning_of};
use super::input;
use super::outcome::CommandError;

/// Part of a file that is read, and of rows that are sent, at a time, in bytes.
const PIECE_BYTES: usize = 64 * 1024;
/// Maximum number of pieces waiting to be sent.
const PIECES_MAX: usize = 4;
/// Maximum length of a row, in bytes.
const ROW_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The delimiters between the cells of a row, the most likely one at the end.
const DELIMITERS: [u8; 4] = *b"|\t;,";

/// Reads the file at `path`, `-` for standard input. Returns its rows, each an [`ImportRow`], and the task that
/// reads them. That returns the ignored columns.
pub(super) async fn open(
    path: &Path,
    given: Columns,
) -> Result<
    (
        Lines<io::Error>,
        JoinHandle<Result<Vec<String>, CommandError>>,
    ),
    CommandError,
> {
    let name = path.to_owned();
    let file = input::open(path).await?;
    let (sender, mut receiver) = mpsc::channel(PIECES_MAX);
    let reading = spawn_blocking(move || {
        let mut read = read_csv(file, &given, |rows| {
            sender.blocking_send(Ok(rows.into())).is_ok()
        });
        if let Err(CommandError::Io(error)) = read {
            read = Err(input::unreadable(&name, error));
        }
        if read.is_err() {
            // The rows read so far are not a whole file. Fails only if nobody reads them.
            let _ = sender.blocking_send(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        read
    });
    let rows = stream::poll_fn(move |context| receiver.poll_recv(context));
    Ok((rows.boxed(), reading))
}

/// Passes the rows of a file to `send` until that returns false. Returns the ignored columns.
fn read_csv(
    file: impl Read,
    given: &Columns,
    mut send: impl FnMut(Vec<u8>) -> bool,
) -> Result<Vec<String>, CommandError> {
    let (source, delimiter) = begin(file, given)?;
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        // So that lines can be counted. A carriage return before it is white space at the end of a cell.
        .terminator(Terminator::Any(b'\n'))
        .buffer_capacity(PIECE_BYTES)
        .from_reader(source);
    let (mut record, mut columns, mut rows) = (ByteRecord::new(), Columns::new(), Vec::new());
    while reader
        .read_byte_record(&mut record)
        .map_err(io::Error::from)?
    {
        let text = record.as_slice();
        // Every row ends with a line feed, unless a quote is open at the end of the file.
        let is_open = reader.get_ref().is_ended;
        let line = reader.position().line() - line_feeds(text) - u64::from(!is_open);
        let source = reader.get_mut();
        (source.row_bytes, source.row_line) = (0, line);
        let is_blank = record.len() == 1 && text.trim_ascii().is_empty();
        // Excel declares the delimiter before the header.
        if is_blank || columns.is_empty() && record.get(0) == Some(b"sep=") {
            continue;
        }
        if columns.is_empty() {
            columns = header(&record, given, line)?;
            // A single column needs no header.
            if !matches!(&columns[..], [(name, _)] if name.contains('@')) {
                continue;
            }
        }
        let has_more = record.len() > columns.len();
        let line_feeds = line_feeds(text.trim_ascii_end());
        let mut row = row(line, &record, &columns);
        if is_open || has_more && line_feeds > 0 || swallows(&record, delimiter) {
            let is_what = match line_feeds {
                0 => "is not closed".to_owned(),
                more => format!(
                    "turns {} lines (up to line {}) into one cell",
                    more + 1,
                    line + more
                ),
            };
            let fix = "close it or remove it, and import the file again";
            row.bad = Some(format!("a quote opened in this row {is_what}: {fix}").into());
        } else if has_more {
            let (found, count) = (record.len(), columns.len());
            row.bad = Some(format!("the row has {found} cells, but the header has {count}").into());
        }
        serde_json::to_writer(&mut rows, &row).map_err(io::Error::from)?;
        rows.push(b'\n');
        if rows.len() >= PIECE_BYTES && !send(take(&mut rows)) {
            break;
        }
    }
    send(rows);
    columns.retain(|(_, meaning)| *meaning == ColumnMeaning::Ignore);
    Ok(columns.into_iter().map(|(name, _)| name).collect())
}

fn line_feeds(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// True if a cell contains a line that looks like a row: one with an address.
fn swallows(record: &ByteRecord, delimiter: u8) -> bool {
    let is_address = |part: &[u8]| {
        let part = str::from_utf8(part).unwrap_or_default();
        EmailAddress::parse(part.trim().trim_matches([' ', '"'])).is_ok()
    };
    let is_row = |line: &[u8]| {
        let is_parted = record.len() == 1 || line.contains(&delimiter);
        is_parted && line.split(|byte| *byte == delimiter).any(is_address)
    };
    let lines = |cell: &'_ [u8]| cell.split(|byte| *byte == b'\n').skip(1).any(is_row);
    record.iter().any(lines)
}

/// Reads the header, in `line`. A single cell that is an address is a row: then the only column has its name.
fn header(record: &ByteRecord, given: &Columns, line: u64) -> Result<Columns, CommandError> {
    let names = record.iter().map(|name| str::from_utf8(name));
    let names: Result<Vec<_>, _> = names.map(|name| name.map(str::trim)).collect();
    let names = names.map_err(|_not_utf8| not_utf8(line))?;
    let (mut columns, mut unclear) = (Columns::new(), Vec::new());
    let mut has_email = false;
    for name in &names {
        match meaning_of(name, given) {
            // A second address, or a flag for it.
            Some(ColumnMeaning::Email) if has_email => unclear.push(*name),
            Some(meaning) => {
                has_email |= meaning == ColumnMeaning::Email;
                columns.push(((*name).to_owned(), meaning));
            }
            None => unclear.push(*name),
        }
    }
    let is_there = |wanted: &str| names.iter().any(|name| name.eq_ignore_ascii_case(wanted));
    let missing = given.iter().find(|(name, _)| !is_there(name.trim()));
    let problem = match (names.as_slice(), missing) {
        ([name], _) if !has_email && name.contains('@') => {
            return Ok(vec![((*name).to_owned(), ColumnMeaning::Email)]);
        }
        _ if !has_email => format!(
            "line {line}: no column is named email. The first row must contain the names of the columns, separated \
             by commas, semicolons or tabs, such as email,subscribed_at; for another name give --column NAME=email"
        ),
        (_, Some((name, _))) => format!("the file has no column {name}, given with --column"),
        _ if unclear.is_empty() => return Ok(columns),
        _ => format!(
            "line {line}: the meaning of {} is unknown, and it may mark people who must not be emailed. Nothing was \
             imported. Give the meaning of a yes in each: --column NAME=unsubscribed, NAME=subscribed or \
             NAME=confirmed; NAME=status if it holds words, NAME=ignore if none of these",
            quoted(unclear.join(", ").as_bytes(), None)
        ),
    };
    Err(CommandError::Input(problem))
}

fn not_utf8(line: u64) -> CommandError {
    CommandError::Input(format!(
        "line {line}: the file is not UTF-8: save it as CSV UTF-8 and import it again"
    ))
}

/// The row of these cells. Missing ones at the end are empty. Only cells that are read must be UTF-8.
fn row<'a>(line: u64, record: &'a ByteRecord, columns: &Columns) -> ImportRow<'a> {
    use ColumnMeaning::{Confirmed, Email, Ignore, Status, Subscribed, SubscribedAt, Unsubscribed};
    let mut row = ImportRow {
        line,
        ..ImportRow::default()
    };
    let cells = record.iter().chain(repeat(&b""[..]));
    for ((name, meaning), cell) in columns.iter().zip(cells) {
        let cell = match String::from_utf8_lossy(cell) {
            Cow::Borrowed(text) => Cow::Borrowed(original(text.trim())),
            invalid @ Cow::Owned(_) => invalid,
        };
        match *meaning {
            Ignore => {}
            Email => row.email = cell,
            SubscribedAt => row.subscribed_at = Some(cell),
            Status | Unsubscribed | Subscribed | Confirmed => {
                match is_refusal(*meaning, name, &cell) {
                    Ok(is_refusal) => row.unsubscribed |= is_refusal,
                    Err(reason) => row.bad = Some(reason.into()),
                }
            }
        }
    }
    if row.email.contains('\u{fffd}') {
        row.bad = Some("the address is not UTF-8".into());
    } else if row.unsubscribed {
        // It is imported even if its other cells are invalid.
        row.bad = None;
    }
    row
}

/// The bytes of a file, in which every row ends with a line feed.
struct Source<R> {
    inner: R,
    /// Lines end with a carriage return, as on old Macs.
    is_mac: bool,
    /// Bytes read since the last row, and the line in which that began.
    row_bytes: usize,
    row_line: u64,
    is_ended: bool,
}

/// Begins to read a file, after the byte order mark that spreadsheets put before UTF-8. Returns the delimiter of its
/// first row, too.
fn begin(mut file: impl Read, given: &Columns) -> Result<(Source<impl Read>, u8), CommandError> {
    let mut head = Vec::new();
    let mut piece = file.by_ref().take(PIECE_BYTES as u64);
    piece.read_to_end(&mut head)?;
    if head.starts_with(b"\xef\xbb\xbf") {
        head.drain(..3);
    }
    let text = head.trim_ascii_start();
    let end = text.iter().position(|byte| b"\r\n".contains(byte));
    let (first, rest) = text.split_at(end.unwrap_or(text.len()));
    let is_utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if is_utf16 || first.contains(&0) {
        return Err(not_utf8(1));
    }
    let likelihood = |delimiter: &u8| {
        let names = first.split(|byte| byte == delimiter);
        let mut names = names.map(String::from_utf8_lossy);
        let has_email = names.any(|name| meaning_of(&name, given) == Some(ColumnMeaning::Email));
        let count = first.iter().filter(|byte| *byte == delimiter).count();
        (has_email, count)
    };
    let delimiter = DELIMITERS.into_iter().max_by_key(likelihood);
    let source = Source {
        is_mac: rest.starts_with(b"\r") && !rest.starts_with(b"\r\n"),
        inner: Cursor::new(head).chain(file).chain(&b"\n"[..]),
        row_bytes: 0,
        row_line: 1,
        is_ended: false,
    };
    Ok((source, delimiter.unwrap_or(b',')))
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.is_ended = length == 0;
        self.row_bytes += length;
        if self.row_bytes > ROW_BYTES_MAX {
            return Err(io::Error::other(format!(
                "a row after line {} does not end within 16 MiB: is a quote open?",
                self.row_line
            )));
        }
        if self.is_mac {
            let read = buffer.iter_mut().take(length);
            let returns = read.filter(|byte| **byte == b'\r');
            returns.for_each(|byte| *byte = b'\n');
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests;
