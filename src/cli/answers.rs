//! Prints the answers of operations for people, by the templates of `data/help/answers.txt`, or as JSON.

use std::io::{self, IsTerminal as _};

use futures_util::StreamExt as _;
use minijinja::value::Serde;
use minijinja::{Environment, Error};
use serde::Serialize;
use serde_json::{Deserializer, Value};

use crate::config::{AskingCommand, OutputForm, under};
use crate::domain::printable;
use crate::operator::words::templates;

use super::client::{Client, other_version};
use super::outcome::{CommandError, Done};
use super::output::{Output, show};

/// A template under each name.
const ANSWERS: &str = include_str!("../../data/help/answers.txt");

/// The template of this name.
fn template(name: &str) -> &'static str {
    under(ANSWERS, &format!("# {name}"))
}

/// Renders templates. No value is longer than a line, and there are none in place of null.
fn environment() -> Result<Environment<'static>, Error> {
    let mut environment = templates(&[])?;
    // On the right, or on the left for negative widths.
    environment.add_filter("pad", |text: &str, width: isize| {
        let cells = width.unsigned_abs();
        match width {
            ..0 => format!("{text:>cells$}"),
            0.. => format!("{text:cells$}"),
        }
    });
    environment.set_formatter(|output, _state, value| match value.as_str() {
        Some(text) => Ok(output.write_str(&printable(text, &[]))?),
        None if value.is_none() => Ok(()),
        None => Ok(write!(output, "{value}")?),
    });
    Ok(environment)
}

/// An answer by the template `name`: names and values, with a colon between.
///
/// # Errors
/// When a field is missing.
pub fn in_words(name: &str, answer: &impl Serialize) -> Result<String, Error> {
    environment()?.render_str(template(name), Serde(answer))
}

/// Prints the names and values of the template `name`, without those that have no value.
pub(super) fn fields(
    output: &mut Output,
    name: &str,
    answer: &impl Serialize,
) -> Result<(), CommandError> {
    let text = in_words(name, answer).map_err(other_version)?;
    let fields = text.lines().filter_map(|line| line.split_once(": "));
    let fields: Vec<_> = fields.filter(|(_, value)| !value.is_empty()).collect();
    output.fields(&fields)
}

/// Prints the heading and the rows of the template `name`.
pub(super) fn table(
    output: &mut Output,
    name: &str,
    answers: &[impl Serialize],
) -> Result<(), CommandError> {
    output.heading(template(name).lines().next().unwrap_or_default())?;
    rows(output, name, answers)
}

fn rows(output: &mut Output, name: &str, answers: &[impl Serialize]) -> Result<(), CommandError> {
    let (_, row) = template(name).split_once('\n').unwrap_or_default();
    let environment = environment().map_err(other_version)?;
    let row = environment.template_from_str(row).map_err(other_version)?;
    for answer in answers {
        let line = row.render(Serde(answer)).map_err(other_version)?;
        output.line(line.trim_end())?;
    }
    Ok(())
}

/// Prints `answer` by the template `name`.
pub(super) fn show_fields(
    form: OutputForm,
    name: &str,
    answer: &impl Serialize,
) -> Result<Done, CommandError> {
    show(form, answer, |output| fields(output, name, answer))
}

/// Prints the answer of the operation of `command`: rows as they arrive, or one value.
pub(super) async fn print(command: &AskingCommand, client: &Client) -> Result<Done, CommandError> {
    let (operation, params) = command.operation();
    if !command.has_rows() {
        let answer: Value = client.one(&operation, params).await?;
        return show_fields(client.form, &operation, &answer);
    }
    let mut lists = client.rows(&operation, params).await?;
    let mut output = Output::new(client.form);
    if !output.is_json {
        table(&mut output, &operation, &[Value::Null; 0])?;
    }
    let mut is_empty = true;
    while let Some(lines) = lists.next().await {
        let lines = lines?;
        is_empty &= lines.is_empty();
        if output.is_json {
            output.bytes(&lines)?;
        } else {
            let answers: Result<Vec<Value>, _> =
                Deserializer::from_slice(&lines).into_iter().collect();
            rows(&mut output, &operation, &answers.map_err(io::Error::from)?)?;
        }
    }
    if is_empty && !output.is_json && io::stdout().is_terminal() {
        output.line("none")?;
    }
    output.flush()?;
    Ok(Done::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_can_be_rendered() {
        let environment = environment().unwrap();
        let names = ANSWERS.split("\n# ").skip(1);
        for name in names.filter_map(|section| section.lines().next()) {
            assert!(!template(name).is_empty(), "{name}");
            environment.template_from_str(template(name)).unwrap();
        }
    }
}
