//! Printing answers of operations, in columns or fields declared as data: lists as they arrive, and single
//! values.

use std::io::{self, IsTerminal as _};

use futures_util::StreamExt as _;
use serde_json::Value;

use crate::config::OutputForm;
use crate::operator::operation::Lines;

use super::client::{self, Client};
use super::outcome::{CommandError, Done};
use super::output::{Output, grouped, short_minute, short_time, show};

/// A column: its heading, the field of a row that it shows, its width, and its format.
pub(super) struct ListColumn(
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) usize,
    pub(super) Cell,
);

/// Format of a text.
#[derive(Clone, Copy)]
pub(super) enum Cell {
    Text,
    /// A time to the second.
    Time,
    /// A time to the minute.
    Minute,
}

impl ListColumn {
    fn cell(&self, row: &Value) -> String {
        let Self(_, member, width, cell) = self;
        let text = row.get(member).and_then(Value::as_str).unwrap_or_default();
        let shown = match cell {
            Cell::Text => text.to_owned(),
            Cell::Time => short_time(text),
            Cell::Minute => short_minute(text),
        };
        format!("{shown:width$}")
    }
}

/// Prints the rows that `operation` answers: unchanged, or in `columns`.
pub(super) async fn list(
    operation: &str,
    params: Value,
    columns: &[ListColumn],
    form: OutputForm,
    client: &Client,
) -> Result<Done, CommandError> {
    print_rows(client.rows(operation, params).await?, columns, form).await
}

/// Prints rows: unchanged, or in `columns`.
pub(super) async fn print_rows(
    mut rows: Lines<CommandError>,
    columns: &[ListColumn],
    form: OutputForm,
) -> Result<Done, CommandError> {
    let mut output = Output::new(form);
    if !output.is_json {
        let headings = columns.iter();
        let headings = headings.map(|ListColumn(heading, _, width, _)| format!("{heading:width$}"));
        let headings: Vec<_> = headings.collect();
        output.heading(headings.join("  ").trim_end())?;
    }
    let mut is_empty = true;
    while let Some(lines) = rows.next().await {
        let lines = lines?;
        is_empty &= lines.is_empty();
        if output.is_json {
            output.bytes(&lines)?;
            continue;
        }
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let row = serde_json::from_slice(line).map_err(io::Error::from)?;
            let cells: Vec<_> = columns.iter().map(|column| column.cell(&row)).collect();
            output.line(cells.join("  ").trim_end())?;
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
    form: OutputForm,
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
    show(form, &value, |output| output.fields(&fields))
}
