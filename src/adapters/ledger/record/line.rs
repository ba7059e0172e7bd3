//! A line of the ledger, as bytes.
//!
//! ```text
//! {"crc":"2ba8f468","format":7,"generation":1,"base":0,"secret":"df014e887a4e46dc"   }
//! {"crc":"ad89dd7b","seq":1,"batch":1,"left":0,"event":{"created":{"contact":{...}}}}
//! ```
//!
//! The first line is the head. Every other line is an event with its sequence number, the number of its batch,
//! and the number of further lines in that batch (`left`).
//!
//! A line is JSON for people and tools. The service verifies it without parsing JSON: the first fields have
//! a fixed order, and `crc` is the CRC-32 of every byte after its closing quote. A million lines are
//! verified in a fraction of a second.

use std::io;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

/// The only supported format.
pub(crate) const FORMAT: u64 = 7;

/// Length of a head, in bytes.
pub(super) const HEAD_BYTES: usize = 128;

/// Longest line including its newline, in bytes. Readers reject longer ones, so none are written.
pub(super) const LINE_BYTES_MAX: usize = 16 * 1024;

/// Longest event, as JSON. A compaction may write it with longer numbers and a longer name.
pub(crate) const EVENT_BYTES_MAX: usize = LINE_BYTES_MAX - 256;

/// Start of every line.
const CRC_OPEN: &[u8] = b"{\"crc\":\"";
const CRC_DIGITS: usize = 8;

const SEQUENCE: &[u8] = b",\"seq\":";
const BATCH: &[u8] = b",\"batch\":";
const LEFT: &[u8] = b",\"left\":";
const EVENT: &[u8] = b",\"event\":";

/// Offset of a line in a ledger's file, in bytes.
pub(crate) type Place = u64;

/// The reason why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Flaw {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("format {0} is not supported")]
    Foreign(u64),
    #[error("line {line}: {reason}")]
    Damaged { line: u64, reason: String },
    #[error("the entry at byte {0} is corrupt, or unknown to this version")]
    Unreadable(Place),
}

/// The head of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The format of all lines.
    pub(crate) format: u64,
    /// Counts compactions, from 1.
    pub(crate) generation: u64,
    /// Number of lines synced before this generation was published. All of them are acknowledged, so none of
    /// them can be a torn end. Filled in when it is published, so the head has a fixed length.
    pub(crate) base: u64,
    /// Id of the secret with which the events' hashes were made.
    pub(crate) secret: String,
}

impl Head {
    /// Parses a head without its newline.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Flaw> {
        #[derive(Deserialize)]
        struct Format {
            format: u64,
        }
        let is_sealed = checked(line).is_some();
        // Another format may have another checksum. One that looks like ours must match.
        if let Ok(Format { format }) = serde_json::from_slice(line)
            && format != FORMAT
            && (is_sealed || !line.starts_with(CRC_OPEN))
        {
            return Err(Flaw::Foreign(format));
        }
        let head = serde_json::from_slice(line).ok();
        head.filter(|_| is_sealed).ok_or_else(|| Flaw::Damaged {
            line: 1,
            reason: "the head is corrupt".to_owned(),
        })
    }

    /// The head with its newline, padded with spaces before the last brace to 128 bytes.
    pub(super) fn to_line(&self) -> io::Result<Vec<u8>> {
        seal(self, HEAD_BYTES)
    }
}

/// The position of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineNumbers {
    /// Counts the events of a generation, from 1.
    pub(super) sequence: u64,
    /// Counts the batches of a generation, from 1.
    pub(super) batch: u64,
    /// Number of further lines in its batch.
    pub(super) left: u64,
}

impl LineNumbers {
    /// True if `next` comes next.
    pub(super) fn is_before(&self, next: &Self) -> bool {
        let (batch, is_continued) = match self.left {
            0 => (next.batch.checked_sub(1), true),
            left => (Some(next.batch), next.left == left - 1),
        };
        next.sequence.checked_sub(1) == Some(self.sequence)
            && batch == Some(self.batch)
            && is_continued
    }
}

/// A verified line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) numbers: LineNumbers,
    /// The event, as JSON.
    pub(super) event: &'a [u8],
}

impl<'a> Line<'a> {
    /// Parses a line without its newline. `None` if any byte was changed.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let rest = checked(line)?;
        let (sequence, rest) = number(rest, SEQUENCE)?;
        let (batch, rest) = number(rest, BATCH)?;
        let (left, rest) = number(rest, LEFT)?;
        let event = rest.strip_prefix(EVENT)?.strip_suffix(b"}")?;
        let numbers = LineNumbers {
            sequence,
            batch,
            left,
        };
        Some(Self { numbers, event })
    }

    /// Appends the line with its newline to `out`.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let numbers = [
            (SEQUENCE, self.numbers.sequence),
            (BATCH, self.numbers.batch),
            (LEFT, self.numbers.left),
        ];
        seal_members(out, |out| {
            for (name, number) in numbers {
                out.extend_from_slice(name);
                out.extend_from_slice(number.to_string().as_bytes());
            }
            out.extend_from_slice(EVENT);
            out.extend_from_slice(self.event);
            out.push(b'}');
        });
    }
}

/// A line with its newline and the fields of `object`. Spaces before the last brace make it at least
/// `length_min` bytes long.
pub(crate) fn seal(object: &impl Serialize, length_min: usize) -> io::Result<Vec<u8>> {
    let object = serde_json::to_vec(object)?;
    let members = object.strip_prefix(b"{").unwrap_or(&object);
    let members = members.strip_suffix(b"}").unwrap_or(members);
    let mut line = Vec::with_capacity(length_min);
    seal_members(&mut line, |line| {
        line.push(b',');
        line.extend_from_slice(members);
        line.resize(line.len().max(length_min.saturating_sub(2)), b' ');
        line.push(b'}');
    });
    Ok(line)
}

/// Appends a line with its newline: `crc`, then the output of `write`, including the closing brace.
fn seal_members(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(CRC_OPEN);
    let crc_at = out.len();
    // Filled in below.
    out.extend_from_slice(&[b'0'; CRC_DIGITS]);
    out.push(b'"');
    let begin = out.len();
    write(out);
    let (before, members) = out.split_at_mut(begin);
    let crc = crc32fast::hash(members).to_be_bytes();
    // The digits are followed by a quote.
    let (_, digits) = before.split_at_mut(crc_at);
    let (digits, _) = digits.split_at_mut(CRC_DIGITS);
    HEXLOWER.encode_mut(&crc, digits);
    out.push(b'\n');
}

/// The rest of the line after the checksum, if the checksum matches.
pub(crate) fn checked(line: &[u8]) -> Option<&[u8]> {
    let (digits, rest) = line.strip_prefix(CRC_OPEN)?.split_first_chunk()?;
    let rest = rest.strip_prefix(b"\"")?;
    // Compared as text: decoding the digits would take longer than the checksum.
    let mut expected = [0; CRC_DIGITS];
    HEXLOWER.encode_mut(&crc32fast::hash(rest).to_be_bytes(), &mut expected);
    (expected == *digits).then_some(rest)
}

/// The batches of the lines in `bytes`, good or bad.
pub(super) fn batches_in(bytes: &[u8]) -> impl Iterator<Item = u64> {
    // Quotes in an event are escaped, so only a line has these numbers.
    let numbered = (0..bytes.len()).filter_map(|at| number(bytes.get(at..)?, SEQUENCE));
    numbered.filter_map(|(_sequence, rest)| Some(number(rest, BATCH)?.0))
}

/// The decimal number after `name`, and the rest.
fn number<'a>(line: &'a [u8], name: &[u8]) -> Option<(u64, &'a [u8])> {
    let rest = line.strip_prefix(name)?;
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at_checked(count)?;
    Some((str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &[u8] = br#"{"crc":"ea16b0a6","seq":1,"batch":1,"left":311,"event":{"contact_subscribed":{"email":"visitor0@example.com","network":"07070707070707070707070707070707","at":1700000000000}}}"#;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let line = Line::parse(WRITTEN).unwrap();
        let numbers = LineNumbers {
            sequence: 1,
            batch: 1,
            left: 311,
        };
        assert_eq!(line.numbers, numbers);
        let mut again = Vec::new();
        line.write(&mut again);
        assert_eq!(again.strip_suffix(b"\n"), Some(WRITTEN));
    }

    #[test]
    fn a_line_that_differs_in_any_byte_is_none() {
        for place in 0..WRITTEN.len() {
            for byte in 0..=u8::MAX {
                let mut other = WRITTEN.to_vec();
                other[place] = byte;
                assert_eq!(Line::parse(&other).is_some(), other == WRITTEN);
            }
        }
        for length in 0..WRITTEN.len() {
            assert_eq!(Line::parse(&WRITTEN[..length]), None);
        }
    }

    #[test]
    fn the_handbook_tells_the_format() {
        let handbook = include_str!("../../../../data/handbook/operate.md");
        assert!(handbook.contains(&format!("format, which is {FORMAT}.")));
    }
}
