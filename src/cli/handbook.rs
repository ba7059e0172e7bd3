//! Prints the handbook, which is part of the program.

use crate::config::TOPICS;

use super::outcome::{CommandError, Done};
use super::output;

const README: &str = include_str!("../../README.md");

/// Prints the file of `topic` unchanged, or the list of topics.
pub(super) fn print(topic: Option<&str>) -> Result<Done, CommandError> {
    let found = TOPICS.iter().find(|(name, _)| topic == Some(name));
    match found {
        Some((_, text)) => output::print(text.as_bytes()),
        None => output::print(contents().as_bytes()),
    }
}

/// The rows of README's table, such as `| [install](data/handbook/install.md) | packages |`.
fn contents() -> String {
    let rows = README.lines().filter_map(|line| {
        let (_, row) = line.split_once("](data/handbook/")?;
        let (name, about) = row.strip_suffix(" |")?.split_once(".md) | ")?;
        Some(format!("{name:13}  {about}\n"))
    });
    rows.chain(["\nlanding-api handbook TOPIC prints one.\n".to_owned()])
        .collect()
}
