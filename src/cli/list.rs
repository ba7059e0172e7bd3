//! Printing answers of operations, in columns or fields declared as data: lists as they arrive, and single
//! values.

use std::io::{self, IsTerminal as _};

use futures_util::StreamExt as _;
use serde_json::Value;

use super::client::{self, Client};
use super::outcome::{CommandError, Done};
use super::output::{Output, grouped, minute, show, span};

/// A column: its heading, the field of a row that it shows, its width, and its format. A field that begins with a
/// slash is a JSON pointer.
pub(super) struct ListColumn(
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) usize,
    pub(super) Cell,
);

/// Format of a cell.
#[derive(Clone, Copy)]
pub(super) enum Cell {
    Text,
    /// A limit, which may be off.
    Limit,
    /// A time to the minute.
    Time,
    Count,
    /// A number of seconds.
    Span,
}

impl ListColumn {
    fn heading(&self) -> String {
        self.padded(self.0)
    }

    fn cell(&self, row: &Value) -> String {
        let Self(_, member, _, cell) = self;
        let value = match member.starts_with('/') {
            true => row.pointer(member),
            false => row.get(member),
        };
        let text = value.and_then(Value::as_str);
        let number = value.and_then(Value::as_u64).unwrap_or_default();
        let shown = match cell {
            Cell::Text => return self.padded(text.unwrap_or_default()),
            Cell::Limit => text.unwrap_or("off").to_owned(),
            Cell::Time => minute(text.unwrap_or_default()),
            Cell::Count => grouped(number),
            Cell::Span => span(number),
        };
        self.padded(&shown)
    }

    fn padded(&self, text: &str) -> String {
        let Self(_, _, width, cell) = self;
        match cell {
            Cell::Count | Cell::Span => format!("{text:>width$}"),
            Cell::Text | Cell::Limit | Cell::Time => format!("{text:width$}"),
        }
    }
}

/// A line of a table.
fn line(columns: &[ListColumn], cell: impl Fn(&ListColumn) -> String) -> String {
    let cells: Vec<_> = columns.iter().map(cell).collect();
    cells.join("  ").trim_end().to_owned()
}

/// Prints rows in `columns`; only the headings if there are none.
pub(super) fn table(
    output: &mut Output,
    columns: &[ListColumn],
    rows: &[Value],
) -> Result<(), CommandError> {
    output.heading(&line(columns, ListColumn::heading))?;
    rows.iter()
        .try_for_each(|row| output.line(&line(columns, |column| column.cell(row))))
}

/// Prints the rows that `operation` answers: unchanged, or in `columns`.
pub(super) async fn list(
    operation: &str,
    params: Value,
    columns: &[ListColumn],
    client: &Client,
) -> Result<Done, CommandError> {
    let mut rows = client.rows(operation, params).await?;
    let mut output = Output::new(client.form);
    if !output.is_json {
        table(&mut output, columns, &[])?;
    }
    let mut is_empty = true;
    while let Some(lines) = rows.next().await {
        let lines = lines?;
        is_empty &= lines.is_empty();
        if output.is_json {
            output.bytes(&lines)?;
            continue;
        }
        for bytes in lines.split_inclusive(|byte| *byte == b'\n') {
            let row = serde_json::from_slice(bytes).map_err(io::Error::from)?;
            output.line(&line(columns, |column| column.cell(&row)))?;
        }
    }
    if is_empty && !output.is_json && io::stdout().is_terminal() {
        output.line("none")?;
    }
    output.flush()?;
    Ok(Done::Whole)
}

/// The field that is omitted for people if it has no value: few contacts have one.
const SHOWN_IF_SET: &str = "suppressed_until";

/// Prints the single value that `operation` answers: unchanged, or its fields under these headings.
pub(super) async fn show_members(
    operation: &str,
    params: Value,
    members: &[(&str, &str)],
    client: &Client,
) -> Result<Done, CommandError> {
    let value: Value = client.one(operation, params).await?;
    let mut fields = Vec::new();
    for (heading, member) in members {
        let found = client::member(&value, member)?;
        if found.is_null() && *member == SHOWN_IF_SET {
            continue;
        }
        let text = found.as_u64().map(grouped);
        let text = text.or_else(|| found.as_str().map(str::to_owned));
        fields.push((*heading, text.unwrap_or_default()));
    }
    show(client.form, &value, |output| output.fields(&fields))
}
