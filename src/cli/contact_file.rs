//! Reads contacts from a file, CSV or JSON Lines, as the rows of an import. Rows that can't be read are
//! reported by line.

mod source;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read};
use std::iter::repeat;
use std::mem::take;
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};
use futures_util::{StreamExt as _, stream};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use crate::adapters::lenient_json;
use crate::config::{ColumnMeaning, FileFormat};
use crate::domain::{ContactStatus, EmailAddress};
use crate::operator::contact_csv::original;
use crate::operator::import::ImportRow;
use crate::operator::operation::Lines;

use self::source::{FileError, PIECE_BYTES, ROW_BYTES_MAX, Source, begin};
use super::import_columns::{
    given_meaning, is_nested, is_of_other_script, is_refusal, may_be_address, meaning_of,
};
use super::input;
use super::outcome::CommandError;

/// Maximum number of pieces waiting to be sent.
const PIECES_MAX: usize = 4;

/// Maximum number of columns.
const COLUMNS_MAX: usize = 1024;

/// Names of columns, and their meanings.
pub(super) type Columns = Vec<(String, ColumnMeaning)>;

/// The outcome of reading a file, once it has ended: the ignored columns or fields, or the error.
pub(super) type ContactFileEnd = oneshot::Receiver<Result<Vec<String>, CommandError>>;

/// Starts reading the file at `path`, `-` for standard input. Returns its rows, each an [`ImportRow`].
pub(super) async fn open(
    path: &Path,
    format: FileFormat,
    given: Columns,
) -> Result<(Lines<io::Error>, ContactFileEnd), CommandError> {
    let name = path.to_owned();
    let inner = input::open(path).await?;
    let (sender, mut receiver) = mpsc::channel(PIECES_MAX);
    let (ended, end) = oneshot::channel();
    spawn_blocking(move || {
        let read = begin(inner).and_then(|(inner, delimiter)| {
            let source = Source::new(inner, sender.clone());
            match format {
                FileFormat::Csv => read_csv(source, delimiter, &given),
                FileFormat::Jsonl => read_json_lines(source, &given),
            }
        });
        let read = read.map_err(|error| match error {
            FileError::Io(error) => input::unreadable(&name, error),
            wrong @ (FileError::Header { .. }
            | FileError::Consent { .. }
            | FileError::Missing(_)
            | FileError::Encoding(_)) => CommandError::Input(wrong.to_string()),
        });
        let is_whole = read.is_ok();
        // Fails only if nobody waits for the rows.
        let _ = ended.send(read);
        if !is_whole {
            // The rows read so far are not a whole file. Fails only if nobody reads them.
            let _ = sender.blocking_send(Err(io::ErrorKind::UnexpectedEof.into()));
        }
    });
    let rows = stream::poll_fn(move |context| receiver.poll_recv(context));
    Ok((rows.boxed(), end))
}

/// The row that begins in this line.
fn row_at(line: u64) -> ImportRow<'static> {
    ImportRow {
        line,
        ..ImportRow::default()
    }
}

fn bad(line: u64, reason: impl Into<String>) -> ImportRow<'static> {
    let bad = Some(Cow::Owned(reason.into()));
    ImportRow {
        bad,
        ..row_at(line)
    }
}

/// `row` with the values of these cells, each of a column of this meaning and name.
fn contact<'a, 'b>(
    mut row: ImportRow<'a>,
    cells: impl Iterator<Item = (ColumnMeaning, &'b str, Cow<'a, str>)>,
) -> ImportRow<'a> {
    let mut has_left = false;
    for (meaning, name, cell) in cells {
        match meaning {
            ColumnMeaning::Email => row.email = cell,
            ColumnMeaning::SubscribedAt => row.subscribed_at = Some(cell),
            ColumnMeaning::Ignore => {}
            ColumnMeaning::Status
            | ColumnMeaning::Unsubscribed
            | ColumnMeaning::Subscribed
            | ColumnMeaning::Confirmed => match is_refusal(meaning, name, &cell) {
                Ok(is_refusal) => has_left |= is_refusal,
                Err(reason) => row.bad = Some(reason.into()),
            },
        }
    }
    if has_left {
        // An unsubscribed row is imported even if its other cells are invalid.
        row.bad = None;
        row.status = Some(ContactStatus::Unsubscribed.as_str().into());
    }
    row
}

/// Reads the rows of a file. Returns the ignored columns.
fn read_csv<R: Read>(
    source: Source<R>,
    delimiter: u8,
    given: &Columns,
) -> Result<Vec<String>, FileError> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .buffer_capacity(PIECE_BYTES)
        .from_reader(source);
    let mut record = ByteRecord::new();
    let (mut columns, mut further) = (Columns::new(), Vec::new());
    while reader.read_byte_record(&mut record)? {
        let breaks = record
            .as_slice()
            .iter()
            .filter(|byte| **byte == b'\n')
            .count() as u64;
        // Each row ends with a line feed, unless a quote is open at the end of the file.
        let is_open = reader.get_ref().is_ended;
        let lines = breaks + u64::from(!is_open);
        let line = reader.position().line() - lines;
        let is_too_long = record.as_slice().len() > ROW_BYTES_MAX || record.len() > COLUMNS_MAX;
        if columns.is_empty() {
            // Excel's declaration of the delimiter, before the header.
            if record.get(0) == Some(b"sep=") {
                continue;
            }
            if is_too_long || is_open {
                return Err(FileError::Header { line });
            }
            let header = parse_header(&record, given, line)?;
            (columns, further) = (header.columns, header.further);
            if header.is_there {
                continue;
            }
        }
        let is_flag = |number: &&usize| {
            let cell = record.get(**number).unwrap_or_default();
            !may_be_address(&String::from_utf8_lossy(cell))
        };
        let row = if is_open || breaks > 0 && is_too_long || swallows(&record, delimiter) {
            let last = line + lines - 1;
            bad(
                line,
                format!(
                    "a quote opened in this row turns {lines} lines (up to line {last}) into one cell: close it \
                     or remove it, and import the file again"
                ),
            )
        } else if is_too_long {
            bad(
                line,
                "the row is longer than 64 KiB or has more than 1024 columns",
            )
        } else if record.len() > columns.len() {
            let (found, count) = (record.len(), columns.len());
            bad(
                line,
                format!("the row has {found} cells, but the header has {count}"),
            )
        } else if let Some((name, _)) = further.iter().find(is_flag).and_then(|i| columns.get(*i)) {
            let names = name.clone();
            return Err(FileError::Consent { line, names });
        } else {
            row(line, &record, &columns)
        };
        reader.get_mut().push(row)?;
    }
    reader.get_mut().flush()?;
    columns.retain(|(_, meaning)| *meaning == ColumnMeaning::Ignore);
    Ok(columns.into_iter().map(|(name, _)| name).collect())
}

/// True if a cell contains a line that looks like a row: one with an address.
fn swallows(record: &ByteRecord, delimiter: u8) -> bool {
    let is_address = |part: &[u8]| {
        let part = str::from_utf8(part).unwrap_or_default();
        EmailAddress::parse(part.trim_matches([' ', '"'])).is_ok()
    };
    let is_row = |line: &[u8]| {
        let is_parted = record.len() == 1 || line.contains(&delimiter);
        is_parted && line.split(|byte| *byte == delimiter).any(is_address)
    };
    let lines = |cell: &'_ [u8]| cell.split(|byte| *byte == b'\n').skip(1).any(is_row);
    record.iter().any(lines)
}

/// The columns of a file.
struct Header {
    columns: Columns,
    /// Numbers of further columns of addresses, which are ignored. One with any other content may be a flag.
    further: Vec<usize>,
    /// True if the first row contains their names.
    is_there: bool,
}

/// Reads the header, in `line`. A single cell that is an address is no header, but the first row of a column
/// of addresses.
fn parse_header(record: &ByteRecord, given: &Columns, line: u64) -> Result<Header, FileError> {
    let names = record
        .iter()
        .map(|cell| str::from_utf8(cell).map(str::trim));
    let names: Result<Vec<_>, _> = names.collect();
    let names = names.map_err(|_not_utf8| FileError::Encoding(line))?;
    let (mut columns, mut unknown, mut has_email) = (Columns::new(), Vec::new(), false);
    let mut further = Vec::new();
    for name in &names {
        let meaning = match meaning_of(name, given) {
            Some(ColumnMeaning::Email) if has_email => {
                if is_of_other_script(name) {
                    unknown.push(*name);
                } else if given_meaning(name, given).is_none() {
                    further.push(columns.len());
                }
                ColumnMeaning::Ignore
            }
            Some(meaning) => meaning,
            None => {
                unknown.push(*name);
                ColumnMeaning::Ignore
            }
        };
        has_email |= meaning == ColumnMeaning::Email;
        columns.push(((*name).to_owned(), meaning));
    }
    if !has_email {
        return match names.as_slice() {
            [name] if name.contains('@') => Ok(Header {
                columns: vec![(String::new(), ColumnMeaning::Email)],
                further,
                is_there: false,
            }),
            _ => Err(FileError::Header { line }),
        };
    }
    let is_there = |name: &str| {
        names
            .iter()
            .any(|found| found.eq_ignore_ascii_case(name.trim()))
    };
    if let Some((name, _)) = given.iter().find(|(name, _)| !is_there(name)) {
        return Err(FileError::Missing(name.clone()));
    }
    match unknown.join(", ") {
        names if names.is_empty() => Ok(Header {
            columns,
            further,
            is_there: true,
        }),
        names => Err(FileError::Consent { line, names }),
    }
}

/// Only cells that are read must be UTF-8. Missing cells at the end of a row are empty.
fn row<'a>(line: u64, record: &'a ByteRecord, columns: &Columns) -> ImportRow<'a> {
    let all = record.iter().chain(repeat(&b""[..]));
    let cells = columns.iter().zip(all);
    let cells = cells.map(|((name, meaning), cell)| match str::from_utf8(cell) {
        Ok(cell) => (
            *meaning,
            name.as_str(),
            Cow::Borrowed(original(cell.trim())),
        ),
        Err(_) => (*meaning, name.as_str(), String::from_utf8_lossy(cell)),
    });
    let row = contact(row_at(line), cells);
    let is_decoded = !row.email.contains('\u{fffd}');
    if is_decoded {
        row
    } else {
        bad(line, "the row is not UTF-8")
    }
}

/// A line of JSON. Strings with escapes cannot be borrowed.
#[derive(Deserialize)]
struct JsonRow<'a> {
    #[serde(borrow)]
    email: Cow<'a, str>,
    #[serde(flatten, deserialize_with = "members")]
    others: Vec<(String, Value)>,
}

/// All fields; of several with the same name, the one that forbids counts.
fn members<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Vec<(String, Value)>, D::Error> {
    struct Members;

    impl<'a> Visitor<'a> for Members {
        type Value = Vec<(String, Value)>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("members")
        }

        fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }
    deserializer.deserialize_map(Members)
}

/// The meaning of a field; none if it may carry consent and would not be imported.
fn clear_meaning(
    name: &str,
    value: &Value,
    meaning: Option<ColumnMeaning>,
    given: &Columns,
) -> Option<ColumnMeaning> {
    let meaning = meaning?;
    let is_unclear = match meaning {
        // The address is in `email`: a value that isn't another address may be a flag.
        ColumnMeaning::Email => !value.is_null() && !value.as_str().is_some_and(may_be_address),
        ColumnMeaning::Ignore => given_meaning(name, given).is_none() && is_nested(value),
        ColumnMeaning::SubscribedAt
        | ColumnMeaning::Status
        | ColumnMeaning::Unsubscribed
        | ColumnMeaning::Subscribed
        | ColumnMeaning::Confirmed => false,
    };
    (!is_unclear).then_some(meaning)
}

/// Reads the lines of a file. Returns the ignored fields.
fn read_json_lines<R: Read>(source: Source<R>, given: &Columns) -> Result<Vec<String>, FileError> {
    let mut reader = BufReader::with_capacity(PIECE_BYTES, source);
    let (mut text, mut line) = (Vec::new(), 0);
    let mut meanings = Columns::new();
    loop {
        text.clear();
        if reader.read_until(b'\n', &mut text)? == 0 {
            break;
        }
        line += 1;
        if text.trim_ascii().is_empty() {
            continue;
        }
        let mended = lenient_json::mended(&text);
        let row = match serde_json::from_str::<JsonRow<'_>>(&mended) {
            _ if text.len() > ROW_BYTES_MAX => bad(line, "the line is longer than 64 KiB"),
            Ok(JsonRow { email, .. }) if email.contains('\u{fffd}') => {
                bad(line, "the address is not UTF-8")
            }
            Err(_) => bad(
                line,
                "the line is not a JSON object with a string field \"email\"",
            ),
            Ok(JsonRow { email, others }) => {
                let mut cells = Vec::new();
                for (name, value) in others {
                    let known = meanings.iter().find(|(known, _)| *known == name);
                    let meaning = known.map(|(_, meaning)| *meaning);
                    let meaning = meaning.or_else(|| meaning_of(&name, given));
                    let Some(meaning) = clear_meaning(&name, &value, meaning, given) else {
                        return Err(FileError::Consent { line, names: name });
                    };
                    if known.is_none() && meanings.len() < COLUMNS_MAX {
                        meanings.push((name.clone(), meaning));
                    }
                    if meaning == ColumnMeaning::Email {
                        continue;
                    }
                    let cell = match value {
                        Value::Null => String::new(),
                        Value::String(text) => text,
                        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                            value.to_string()
                        }
                    };
                    cells.push((meaning, name, cell));
                }
                let row = ImportRow {
                    email,
                    ..row_at(line)
                };
                let cells = cells
                    .iter_mut()
                    .map(|(meaning, name, cell)| (*meaning, &**name, take(cell).into()));
                contact(row, cells)
            }
        };
        reader.get_mut().push(row)?;
    }
    reader.get_mut().flush()?;
    meanings.retain(|(_, meaning)| matches!(meaning, ColumnMeaning::Ignore | ColumnMeaning::Email));
    Ok(meanings.into_iter().map(|(name, _)| name).collect())
}

#[cfg(test)]
mod tests;
