//! A file of contacts as its bytes arrive, and where its rows go.

use std::io::{self, BufReader, Read};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::cli::import_columns::meaning_of;
use crate::cli::output::Progress;
use crate::config::ColumnMeaning;
use crate::operator::import::ImportRow;
use crate::operator::operation::json_lines;

use super::{FileError, PIECE_BYTES, ROW_BYTES_MAX};

/// How much is read of a row that is too long.
const SKIPPED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// What parts the cells of a row.
const DELIMITERS: [u8; 4] = *b",;\t|";

/// A file, and where its rows go. They are sent before it is read on, which may wait for whoever writes it.
pub(super) struct Source<R> {
    inner: R,
    progress: Progress,
    pending: Vec<u8>,
    sender: mpsc::Sender<io::Result<Bytes>>,
    /// How much has been read since the last row.
    row_bytes: usize,
    last: u8,
    /// Whether nothing follows.
    pub(super) is_ended: bool,
}

impl<R: Read> Source<R> {
    pub(super) fn new(
        inner: R,
        progress: Progress,
        sender: mpsc::Sender<io::Result<Bytes>>,
    ) -> Self {
        Self {
            inner,
            progress,
            pending: Vec::new(),
            sender,
            row_bytes: 0,
            last: b'\n',
            is_ended: false,
        }
    }

    pub(super) fn push(&mut self, row: ImportRow<'_>) -> io::Result<()> {
        self.row_bytes = 0;
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

    /// Why reading failed in the row that begins in `line`.
    pub(super) fn failure(&self, error: io::Error, line: u64) -> FileError {
        match self.row_bytes {
            ..=SKIPPED_BYTES_MAX => FileError::Io(error),
            _ => FileError::Endless(line),
        }
    }
}

/// Every line ends with a line feed alone, also the last one: lines are counted by them.
impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.flush()?;
        loop {
            let length = self.inner.read(buffer)?;
            self.progress.advance(length);
            self.row_bytes += length;
            if self.row_bytes > SKIPPED_BYTES_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let bytes = buffer.get(..length).unwrap_or_default().to_vec();
            let mut places = buffer.iter_mut();
            let mut kept = 0;
            for byte in bytes {
                let before = std::mem::replace(&mut self.last, byte);
                if (before, byte) == (b'\r', b'\n') {
                    continue;
                }
                let end = [byte, b'\n'][usize::from(byte == b'\r')];
                if let Some(place) = places.next() {
                    *place = end;
                }
                kept += 1;
            }
            if kept > 0 {
                return Ok(kept);
            }
            if length == 0 {
                self.is_ended |= matches!(self.last, b'\r' | b'\n');
                self.last = b'\n';
                return Ok(match places.next() {
                    Some(place) if !self.is_ended => {
                        *place = b'\n';
                        1
                    }
                    _ => 0,
                });
            }
        }
    }
}

/// The file without the byte order mark that spreadsheets begin UTF-8 with, and what parts the cells of its first
/// row.
pub(super) fn begin(file: impl Read) -> Result<(impl Read, u8), FileError> {
    let mut file = BufReader::with_capacity(PIECE_BYTES, file);
    let mut head = Vec::new();
    for byte in file.by_ref().bytes().take(ROW_BYTES_MAX) {
        let byte = byte?;
        let is_end = matches!(byte, b'\r' | b'\n') && !head.trim_ascii().is_empty();
        head.push(byte);
        if is_end {
            break;
        }
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") || head.contains(&0) {
        return Err(FileError::Encoding(1));
    }
    if head.starts_with(b"\xef\xbb\xbf") {
        head.drain(..3);
    }
    let names_email = |delimiter: &u8| {
        let mut cells = head.split(|byte| byte == delimiter);
        cells.any(|cell| {
            meaning_of(&String::from_utf8_lossy(cell), &[]) == Some(ColumnMeaning::Email)
        })
    };
    let most = |delimiter: &u8| head.iter().filter(|byte| *byte == delimiter).count();
    let named = DELIMITERS.into_iter().find(names_email);
    let delimiter = named.or_else(|| DELIMITERS.into_iter().rev().max_by_key(most));
    Ok((io::Cursor::new(head).chain(file), delimiter.unwrap_or(b',')))
}
