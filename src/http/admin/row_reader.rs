//! Reads contacts from a file as it arrives, row by row. What is not a contact is named by its line.

use std::borrow::Cow;

use serde::Deserialize;

use crate::domain::time::Timestamp;

use super::contact_rows::{EMAIL, FileFormat, HeaderError, Row, SUBSCRIBED_AT};
use super::csv_rows::CsvRows;

/// The longest line of JSON, in bytes.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Splits a file into rows.
pub(super) enum RowReader {
    Csv(Box<CsvRows>),
    JsonLines(JsonRows),
}

impl RowReader {
    /// A reader of a file in `format`. What has no time was signed up `now`.
    pub(super) fn new(format: FileFormat, now: Timestamp) -> Self {
        match format {
            FileFormat::Csv => Self::Csv(Box::new(CsvRows::new(now))),
            FileFormat::JsonLines => Self::JsonLines(JsonRows {
                now,
                ..JsonRows::default()
            }),
        }
    }

    /// Adds the rows that end in `bytes`, which follow those of the call before. No bytes are the end.
    ///
    /// # Errors
    /// [`HeaderError`] when the rest of the file cannot be read.
    pub(super) fn read(&mut self, bytes: &[u8], rows: &mut Vec<Row>) -> Result<(), HeaderError> {
        match self {
            Self::Csv(reader) => reader.read(bytes, rows),
            Self::JsonLines(reader) => {
                reader.read(bytes, rows);
                Ok(())
            }
        }
    }

    /// The names of the columns or members that are not read, known after the first row.
    pub(super) fn ignored(&self) -> &[String] {
        match self {
            Self::Csv(reader) => reader.ignored(),
            Self::JsonLines(reader) => &reader.ignored,
        }
    }
}

/// Splits JSON Lines into rows.
#[derive(Default)]
pub(super) struct JsonRows {
    now: Timestamp,
    /// The line that has begun.
    line: Vec<u8>,
    is_too_long: bool,
    lines: u64,
    has_row: bool,
    ignored: Vec<String>,
}

/// A JSON row. Strings with escapes cannot be borrowed.
#[derive(Deserialize)]
struct JsonRow<'a> {
    #[serde(borrow)]
    email: Cow<'a, str>,
    #[serde(borrow)]
    subscribed_at: Option<Cow<'a, str>>,
}

impl JsonRows {
    fn read(&mut self, bytes: &[u8], rows: &mut Vec<Row>) {
        let is_end = bytes.is_empty();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() > LINE_BYTES_MAX {
                self.is_too_long = true;
                self.line.clear();
            } else {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                self.end_line(rows);
            }
        }
        if is_end {
            self.end_line(rows);
        }
    }

    fn end_line(&mut self, rows: &mut Vec<Row>) {
        self.lines += 1;
        let mut line = std::mem::take(&mut self.line);
        let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        let text = text.trim_ascii();
        if std::mem::take(&mut self.is_too_long) {
            rows.push(Row::bad(self.lines, "the line is longer than 64 KiB"));
        } else if !text.is_empty() {
            rows.push(self.row(text));
        }
        line.clear();
        self.line = line;
    }

    fn row(&mut self, line: &[u8]) -> Row {
        let Ok(row) = serde_json::from_slice::<JsonRow<'_>>(line) else {
            let reason =
                "the line is no JSON object with a string email, and a string subscribed_at if any";
            return Row::bad(self.lines, reason);
        };
        if !std::mem::replace(&mut self.has_row, true) {
            let members: serde_json::Map<_, _> = serde_json::from_slice(line).unwrap_or_default();
            let names = members.into_iter().map(|(name, _)| name);
            self.ignored = names
                .filter(|name| name != EMAIL && name != SUBSCRIBED_AT)
                .collect();
        }
        Row::parse(
            self.lines,
            &row.email,
            row.subscribed_at.as_deref(),
            self.now,
        )
    }
}

#[cfg(test)]
mod tests;
