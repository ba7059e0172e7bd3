//! Contacts as CSV (RFC 4180).
//!
//! A spreadsheet runs a cell that begins with one of `=+-@`, a tab or a carriage return as a formula. Such a
//! cell gets an apostrophe prefix, which reading removes again. So that the round trip is exact, a cell that
//! already looks prefixed gets another one.

use std::io;

use bytes::Bytes;
use csv::{Terminator, WriterBuilder};

use super::contacts::ContactRow;

/// The header of a file: the fields of a [`ContactRow`].
pub const HEADER: &str =
    "email,subscribed_at,last_seen_at,status,confirmed_at,source,consent_text,unsubscribe_url\r\n";

/// Characters that begin a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// Contacts in JSON Lines as rows of CSV.
///
/// # Errors
/// When a line is not a contact.
pub fn of_json_lines(lines: &[u8]) -> io::Result<Bytes> {
    let mut writer = WriterBuilder::new()
        .has_headers(false)
        .terminator(Terminator::CRLF)
        .from_writer(Vec::new());
    for row in serde_json::Deserializer::from_slice(lines).into_iter() {
        let row: ContactRow = row?;
        writer.serialize(ContactRow {
            email: defused(row.email),
            source: row.source.map(defused),
            consent_text: row.consent_text.map(defused),
            unsubscribe_url: row.unsubscribe_url.map(defused),
            ..row
        })?;
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
