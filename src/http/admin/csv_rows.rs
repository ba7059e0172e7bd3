//! Reads contacts from CSV as it arrives.

use csv_core::{ReadRecordResult, Reader};

use crate::domain::time::Timestamp;

use super::contact_rows::{EMAIL, HeaderError, Row, SUBSCRIBED_AT, original};

/// The longest row, in bytes without quotes.
const ROW_BYTES_MAX: usize = 64 * 1024;
/// The most columns.
const COLUMNS_MAX: usize = 1024;
/// Names of the address's column, without what is no letter.
const EMAIL_NAMES: [&str; 3] = [EMAIL, "emailaddress", "mail"];

/// Splits CSV into rows.
pub(super) struct CsvRows {
    now: Timestamp,
    core: Reader,
    /// The content of the row that is being read, and where each cell ends in it.
    content: Box<[u8]>,
    content_len: usize,
    ends: Box<[usize]>,
    ends_len: usize,
    /// The line that is being read, and the one that the row began in.
    line: u64,
    first_line: u64,
    is_in_row: bool,
    is_too_long: bool,
    columns: Option<Columns>,
}

/// Which columns are read.
#[derive(Debug, Default)]
struct Columns {
    email: usize,
    subscribed_at: Option<usize>,
    count: usize,
    /// The names of all others.
    ignored: Vec<String>,
}

impl CsvRows {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            now,
            core: Reader::new(),
            content: vec![0; ROW_BYTES_MAX].into(),
            content_len: 0,
            ends: vec![0; COLUMNS_MAX].into(),
            ends_len: 0,
            line: 1,
            first_line: 1,
            is_in_row: false,
            is_too_long: false,
            columns: None,
        }
    }

    /// The names of the columns that are not read.
    pub(super) fn ignored(&self) -> &[String] {
        self.columns.as_ref().map_or(&[], |it| &it.ignored)
    }

    /// Adds the rows that end in `bytes`, which follow those of the call before. No bytes are the end.
    pub(super) fn read(
        &mut self,
        mut bytes: &[u8],
        rows: &mut Vec<Row>,
    ) -> Result<(), HeaderError> {
        let is_end = bytes.is_empty();
        loop {
            if !self.is_in_row {
                while let [end @ (b'\r' | b'\n'), rest @ ..] = bytes {
                    self.line += u64::from(*end == b'\n');
                    bytes = rest;
                }
                if bytes.is_empty() {
                    return Ok(());
                }
                self.is_in_row = true;
                self.first_line = self.line;
            }
            if bytes.is_empty() && !is_end {
                return Ok(());
            }
            let (result, read, written, ended) = self.core.read_record(
                bytes,
                self.content.get_mut(self.content_len..).unwrap_or_default(),
                self.ends.get_mut(self.ends_len..).unwrap_or_default(),
            );
            let (taken, rest) = bytes.split_at(read);
            bytes = rest;
            self.line += taken
                .iter()
                .map(|byte| u64::from(*byte == b'\n'))
                .sum::<u64>();
            self.content_len += written;
            self.ends_len += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    self.is_too_long = true;
                    (self.content_len, self.ends_len) = (0, 0);
                }
                ReadRecordResult::Record => self.end_row(rows)?,
                ReadRecordResult::End => return Ok(()),
            }
        }
    }

    fn end_row(&mut self, rows: &mut Vec<Row>) -> Result<(), HeaderError> {
        let is_too_long = std::mem::take(&mut self.is_too_long);
        let ends = self.ends.get(..self.ends_len).unwrap_or_default();
        let content = self.content.get(..self.content_len).unwrap_or_default();
        (self.content_len, self.ends_len) = (0, 0);
        self.is_in_row = false;
        let line = self.first_line;
        if is_too_long && self.columns.is_some() {
            rows.push(Row::bad(
                line,
                "the row is longer than 64 KiB or has more than 1024 columns",
            ));
            return Ok(());
        }
        let starts = [0].into_iter().chain(ends.iter().copied());
        let cells = starts
            .zip(ends)
            .map(|(start, end)| content.get(start..*end));
        let cells = cells.map(|cell| str::from_utf8(cell.unwrap_or_default()).map(str::trim));
        let cells = cells.collect::<Result<Vec<&str>, _>>();
        let (cells, columns) = match (cells, &mut self.columns) {
            (Ok(cells), Some(columns)) => (cells, columns),
            (Err(_), Some(_)) => {
                rows.push(Row::bad(line, "the row is not UTF-8"));
                return Ok(());
            }
            (Ok(cells), none @ None) if !is_too_long => {
                let (columns, is_header) = Columns::parse(&cells).ok_or(HeaderError { line })?;
                let columns = none.insert(columns);
                if is_header {
                    return Ok(());
                }
                (cells, columns)
            }
            (Ok(_) | Err(_), None) => return Err(HeaderError { line }),
        };
        rows.push(columns.row(line, &cells, self.now));
        Ok(())
    }
}

impl Columns {
    /// Reads the header. A row of one column that is an address is no header, and the column is that of
    /// addresses. Returns whether it is one.
    fn parse(cells: &[&str]) -> Option<(Self, bool)> {
        let name = |cell: &&str| {
            let letters = cell.chars().filter(char::is_ascii_alphabetic);
            letters.collect::<String>().to_ascii_lowercase()
        };
        let names: Vec<String> = cells.iter().map(name).collect();
        let email = names.iter().position(|name| EMAIL_NAMES.contains(&&**name));
        let Some(email) = email else {
            let [cell] = cells else { return None };
            let is_address = cell.contains('@');
            let count = 1;
            return is_address.then(|| {
                (
                    Self {
                        count,
                        ..Self::default()
                    },
                    false,
                )
            });
        };
        let is_time = |cell: &&str| cell.eq_ignore_ascii_case(SUBSCRIBED_AT);
        let subscribed_at = cells.iter().position(is_time);
        let others = cells.iter().enumerate();
        let others = others.filter(|(index, _)| *index != email && Some(*index) != subscribed_at);
        let columns = Self {
            email,
            subscribed_at,
            count: cells.len(),
            ignored: others.map(|(_, cell)| (*cell).to_owned()).collect(),
        };
        Some((columns, true))
    }

    fn row(&self, line: u64, cells: &[&str], now: Timestamp) -> Row {
        if cells.len() > self.count {
            let (found, count) = (cells.len(), self.count);
            let reason = format!("the row has {found} cells, and the header {count}");
            return Row::bad(line, reason);
        }
        let cell = |index: usize| cells.get(index).map(|cell| original(cell));
        let email = cell(self.email).unwrap_or_default();
        Row::parse(line, email, self.subscribed_at.and_then(cell), now)
    }
}
