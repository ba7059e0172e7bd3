//! Contacts as CSV (RFC 4180).
//!
//! A spreadsheet runs a cell that begins with one of `=+-@`, a tab or a carriage return as a formula. Such a
//! cell gets an apostrophe prefix, which reading removes again. So that the round trip is exact, a cell that
//! already looks prefixed gets another one.

use std::io;

use csv::{Terminator, WriterBuilder};
use serde_json::{Deserializer, Value};
use tokio_util::bytes::Bytes;

/// The header of a file: fields of a contact in the answer of `contacts list`.
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
        .terminator(Terminator::CRLF)
        .from_writer(Vec::new());
    for row in Deserializer::from_slice(lines).into_iter::<Value>() {
        let row = row?;
        for name in HEADER.trim_end().split(',') {
            let cell = row.get(name).ok_or(io::ErrorKind::InvalidData)?;
            writer.write_field(defused(cell.as_str().unwrap_or_default()))?;
        }
        // Ends the row.
        writer.write_record(None::<&[u8]>)?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(bytes.into())
}

/// A cell that no spreadsheet runs.
fn defused(cell: &str) -> String {
    let is_formula = cell.trim_start_matches('\'').starts_with(FORMULA);
    [if is_formula { "'" } else { "" }, cell].concat()
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
            let defused = defused(cell);
            assert_eq!(defused, written);
            assert_eq!(original(&defused), cell);
        }
    }
}
