//! Contacts in files: CSV (RFC 4180) and JSON Lines.
//!
//! A spreadsheet runs a cell that begins with one of `=+-@`, a tab or a carriage return as a formula. Such
//! a cell gets an apostrophe before it, and reading takes it off again. So that this is the identity, a
//! cell that looks as if it had got one gets another.

use std::io;

use csv::{Terminator, WriterBuilder};
use futures_util::{StreamExt as _, stream};
use hyper::Response;
use hyper::body::Bytes;
use serde::{Deserialize, Serialize};

use crate::domain::contact::{Contact, ImportedContact};
use crate::domain::time::Timestamp;
use crate::ports::ContactStream;

use super::reply::{self, AdminBody};

/// The columns of CSV, and the members of JSON Lines.
const COLUMNS: [&str; 3] = [EMAIL, SUBSCRIBED_AT, "last_seen_at"];
pub(super) const EMAIL: &str = "email";
pub(super) const SUBSCRIBED_AT: &str = "subscribed_at";

/// What begins a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A form of files with contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Comma-separated values, with a header row.
    Csv,
    /// A JSON object a line.
    JsonLines,
}

/// A name of no format.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("must be csv or jsonl")]
pub struct FormatError;

impl FileFormat {
    /// The format of this name.
    ///
    /// # Errors
    /// [`FormatError`] for another name.
    pub fn parse(name: &str) -> Result<Self, FormatError> {
        match name {
            "csv" => Ok(Self::Csv),
            "jsonl" => Ok(Self::JsonLines),
            _ => Err(FormatError),
        }
    }

    /// What a file begins with.
    fn header(self) -> io::Result<Bytes> {
        match self {
            Self::Csv => csv([&COLUMNS]),
            Self::JsonLines => Ok(Bytes::new()),
        }
    }

    fn rows(self, contacts: &[Contact]) -> io::Result<Bytes> {
        let rows = contacts.iter().map(ContactRow::from);
        match self {
            Self::Csv => {
                csv(rows.map(|row| [defused(row.email), row.subscribed_at, row.last_seen_at]))
            }
            Self::JsonLines => reply::lines(rows),
        }
    }

    /// An answer with these contacts.
    pub(super) fn answer(self, contacts: ContactStream) -> Response<AdminBody> {
        let header = stream::once(async move { Ok(self.header()?) });
        let rows = contacts.map(move |page| Ok(self.rows(&page?)?));
        reply::stream(header.chain(rows))
    }
}

/// A contact, as commands print it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactRow {
    /// The address.
    pub email: String,
    /// When it was signed up, in RFC 3339.
    pub subscribed_at: String,
    /// When it was last signed up again, in RFC 3339.
    pub last_seen_at: String,
}

impl From<&Contact> for ContactRow {
    fn from(contact: &Contact) -> Self {
        Self {
            email: contact.email.as_str().to_owned(),
            subscribed_at: contact.subscribed_at.to_rfc3339(),
            last_seen_at: contact.last_seen_at.to_rfc3339(),
        }
    }
}

/// A row of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The line in which it begins.
    pub(super) line: u64,
    /// The contact; or why the row is bad, without what is in it.
    pub(super) content: Result<ImportedContact, String>,
}

impl Row {
    /// The row in `line` of these cells.
    pub(super) fn parse(
        line: u64,
        email: &str,
        subscribed_at: Option<&str>,
        now: Timestamp,
    ) -> Self {
        let contact = ImportedContact::parse(email, subscribed_at, now);
        let content = contact.map_err(|error| error.to_string());
        Self { line, content }
    }

    /// A bad row in `line`.
    pub(super) fn bad(line: u64, reason: impl Into<String>) -> Self {
        let content = Err(reason.into());
        Self { line, content }
    }
}

/// The first row of CSV does not say which column has the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line}: no column is named email. The first row must name the columns, which commas \
     separate, such as email,subscribed_at"
)]
pub(super) struct HeaderError {
    pub(super) line: u64,
}

fn csv<R>(rows: impl IntoIterator<Item = R>) -> io::Result<Bytes>
where
    R: IntoIterator<Item: AsRef<[u8]>>,
{
    let mut bytes = Vec::new();
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(&mut bytes);
    for row in rows {
        writer.write_record(row)?;
    }
    writer.flush()?;
    drop(writer);
    Ok(bytes.into())
}

/// A cell that no spreadsheet runs.
fn defused(cell: String) -> String {
    match cell.trim_start_matches('\'').starts_with(FORMULA) {
        true => format!("'{cell}"),
        false => cell,
    }
}

/// What [`defused`] was given.
pub(super) fn original(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if rest.trim_start_matches('\'').starts_with(FORMULA) => rest,
        Some(_) | None => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_defused_and_read_back() {
        for (cell, written) in [
            ("ada@example.com", "ada@example.com"),
            ("=1+1@example.com", "'=1+1@example.com"),
            ("+a@example.com", "'+a@example.com"),
            ("-a", "'-a"),
            ("@a", "'@a"),
            ("\ta", "'\ta"),
            ("\ra", "'\ra"),
            ("'=a@example.com", "''=a@example.com"),
            ("''+a", "'''+a"),
            ("'o@example.com", "'o@example.com"),
            ("'", "'"),
            ("", ""),
        ] {
            let defused = defused(cell.to_owned());
            assert_eq!(defused, written);
            assert_eq!(original(&defused), cell);
        }
    }
}
