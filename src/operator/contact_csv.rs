//! Contacts as CSV (RFC 4180).
//!
//! A spreadsheet runs a cell that begins with one of `=+-@`, a tab or a carriage return as a formula. Such a
//! cell gets an apostrophe prefix, which reading removes again. So that the round trip is exact, a cell that
//! already looks prefixed gets another one.

use std::io;

use bytes::Bytes;
use csv::{Terminator, WriterBuilder};

use super::contacts::ContactRow;

/// Columns of CSV, and fields of JSON Lines.
pub const EMAIL: &str = "email";
pub const SUBSCRIBED_AT: &str = "subscribed_at";
pub const STATUS: &str = "status";
/// All columns, in order.
const COLUMNS: [&str; 8] = [
    EMAIL,
    SUBSCRIBED_AT,
    "last_seen_at",
    STATUS,
    "confirmed_at",
    "source",
    "consent_text",
    "unsubscribe_url",
];

/// Characters that begin a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// The header of a file.
///
/// # Errors
/// Never, because it is written to memory.
pub fn header() -> io::Result<Bytes> {
    records([COLUMNS])
}

/// Contacts in JSON Lines as rows of CSV.
///
/// # Errors
/// When a line is not a contact.
pub fn of_json_lines(lines: &[u8]) -> io::Result<Bytes> {
    let lines = lines.split_inclusive(|byte| *byte == b'\n');
    let rows = lines.map(|line| {
        let row: ContactRow = serde_json::from_slice(line)?;
        let cell = |text: Option<String>| defused(text.unwrap_or_default());
        Ok([
            defused(row.email),
            row.subscribed_at,
            row.last_seen_at,
            row.status,
            row.confirmed_at.unwrap_or_default(),
            cell(row.source),
            cell(row.consent_text),
            cell(row.unsubscribe_url),
        ])
    });
    records(rows.collect::<io::Result<Vec<_>>>()?)
}

fn records<R>(rows: impl IntoIterator<Item = R>) -> io::Result<Bytes>
where
    R: IntoIterator<Item: AsRef<[u8]>>,
{
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(Vec::new());
    for row in rows {
        writer.write_record(row)?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(bytes.into())
}

/// A cell that no spreadsheet runs.
fn defused(cell: String) -> String {
    if cell.trim_start_matches('\'').starts_with(FORMULA) {
        format!("'{cell}")
    } else {
        cell
    }
}

/// The cell before `defused`.
pub fn original(cell: &str) -> &str {
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
