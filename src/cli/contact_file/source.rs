//! A file of contacts as its bytes arrive, and the destination of its rows.

use std::io::{self, BufRead as _, BufReader, Read};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::cli::import_columns::meaning_of;
use crate::config::ColumnMeaning;
use crate::domain::quoted;
use crate::operator::import::ImportRow;
use crate::operator::operation::json_lines;

/// Part of a file read at a time, in bytes.
pub(super) const PIECE_BYTES: usize = 64 * 1024;
/// Maximum length of a row in bytes, which is also the part read of a longer one.
pub(super) const ROW_BYTES_MAX: usize = 64 * 1024;
const SKIPPED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The delimiters between the cells of a row.
const DELIMITERS: [u8; 4] = *b",;\t|";

/// Why the rest of a file is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(
        "line {line}: no column is named email. The first row must contain the names of the columns, separated by \
         commas, semicolons or tabs, such as email,subscribed_at; for another name give --column NAME=email"
    )]
    Header { line: u64 },
    #[error(
        "line {line}: the meaning of {} is unknown, and it may mark people who must not be emailed. This row and \
         those after it were not imported. Give the meaning of a yes in each: --column NAME=unsubscribed, \
         NAME=subscribed or NAME=confirmed; NAME=status if it holds words, NAME=ignore if none of these",
        quoted(names.as_bytes(), None)
    )]
    Consent { line: u64, names: String },
    #[error("the file has no column {0}, given with --column")]
    Missing(String),
    #[error("line {0}: the file is not UTF-8: save it as CSV UTF-8 and import it again")]
    Encoding(u64),
}

impl From<csv::Error> for FileError {
    fn from(error: csv::Error) -> Self {
        Self::Io(error.into())
    }
}

/// A file, and the destination of its rows. They are sent before it is read on, which may wait for the file's
/// writer.
///
/// Every line of it ends with a single line feed, including the last one, so that lines can be counted.
pub(super) struct Source<R> {
    inner: R,
    pending: Vec<u8>,
    sender: mpsc::Sender<io::Result<Bytes>>,
    /// Bytes read since the last row, and the line in which that began.
    row_bytes: usize,
    row_line: u64,
    last: u8,
    /// Nothing follows.
    pub(super) is_ended: bool,
}

impl<R: Read> Source<R> {
    pub(super) fn new(inner: R, sender: mpsc::Sender<io::Result<Bytes>>) -> Self {
        Self {
            inner,
            pending: Vec::new(),
            sender,
            row_bytes: 0,
            row_line: 1,
            last: b'\n',
            is_ended: false,
        }
    }

    pub(super) fn push(&mut self, row: ImportRow<'_>) -> io::Result<()> {
        (self.row_bytes, self.row_line) = (0, row.line);
        self.pending.extend_from_slice(&json_lines([row])?);
        if self.pending.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.pending).into();
        let sent = self.sender.blocking_send(Ok(rows));
        sent.map_err(|_nobody_reads| io::ErrorKind::BrokenPipe.into())
    }
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.flush()?;
        let mut bytes = vec![0; buffer.len()];
        let length = self.inner.read(&mut bytes)?;
        bytes.truncate(length);
        self.row_bytes += length;
        if self.row_bytes > SKIPPED_BYTES_MAX {
            return Err(io::Error::other(format!(
                "a row after line {} does not end within 16 MiB: is a quote open?",
                self.row_line
            )));
        }
        if bytes.is_empty() {
            self.is_ended = matches!(self.last, b'\r' | b'\n');
            bytes.extend((!self.is_ended).then_some(b'\n'));
        }
        bytes.retain_mut(|byte| {
            let before = std::mem::replace(&mut self.last, *byte);
            let is_kept = (before, *byte) != (b'\r', b'\n');
            *byte = if *byte == b'\r' { b'\n' } else { *byte };
            is_kept
        });
        match bytes.len() {
            0 if length > 0 => self.read(buffer),
            _ => bytes.as_slice().read(buffer),
        }
    }
}

/// The file without the byte order mark that spreadsheets put before UTF-8, and the delimiter of its first
/// row.
pub(super) fn begin(file: impl Read) -> Result<(impl Read, u8), FileError> {
    let mut file = BufReader::with_capacity(PIECE_BYTES, file);
    let mut head = Vec::new();
    let mut is_more = true;
    while is_more && head.trim_ascii().is_empty() && head.len() < ROW_BYTES_MAX {
        let mut line = file.by_ref().take(ROW_BYTES_MAX as u64);
        is_more = line.read_until(b'\n', &mut head)? > 0;
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") || head.contains(&0) {
        return Err(FileError::Encoding(1));
    }
    if head.starts_with(b"\xef\xbb\xbf") {
        head.drain(..3);
    }
    let mut lines = head.trim_ascii().split(|byte| *byte == b'\r');
    let first = lines.next().unwrap_or_default();
    let names_email = |delimiter: &u8| {
        let names = first.split(|byte| byte == delimiter);
        let mut names = names.map(String::from_utf8_lossy);
        names.any(|name| meaning_of(&name, &[]) == Some(ColumnMeaning::Email))
    };
    let count = |delimiter: &u8| first.iter().filter(|byte| *byte == delimiter).count();
    let named = DELIMITERS.into_iter().find(names_email);
    let delimiter = named.or_else(|| DELIMITERS.into_iter().rev().max_by_key(count));
    let delimiter = delimiter.unwrap_or(b',');
    Ok((io::Cursor::new(head).chain(file), delimiter))
}
