//! Prints the handbook, which is part of the program.

use crate::config::Topic;

use super::outcome::{CommandError, Done};
use super::output;

const fn text(topic: Topic) -> &'static str {
    match topic {
        Topic::Install => include_str!("../../data/handbook/install.md"),
        Topic::Operate => include_str!("../../data/handbook/operate.md"),
        Topic::Contacts => include_str!("../../data/handbook/contacts.md"),
        Topic::Consent => include_str!("../../data/handbook/consent.md"),
        Topic::Limits => include_str!("../../data/handbook/limits.md"),
        Topic::Abuse => include_str!("../../data/handbook/abuse.md"),
        Topic::Model => include_str!("../../data/handbook/model.md"),
        Topic::Site => include_str!("../../data/handbook/site.md"),
        Topic::Agents => include_str!("../../data/handbook/agents.md"),
        Topic::SeveralNodes => include_str!("../../data/handbook/several-nodes.md"),
        Topic::Scale => include_str!("../../data/handbook/scale.md"),
        Topic::Benchmarks => include_str!("../../data/handbook/benchmarks.md"),
        Topic::Architecture => include_str!("../../data/handbook/architecture.md"),
        Topic::Changes => include_str!("../../data/handbook/changes.md"),
        Topic::HowToAdd => include_str!("../../data/handbook/how-to-add.md"),
    }
}

/// Prints the file of `topic` unchanged, or the list of topics.
pub(super) fn print(topic: Option<Topic>) -> Result<Done, CommandError> {
    match topic {
        Some(topic) => output::print(text(topic).as_bytes()),
        None => output::print(contents().as_bytes()),
    }
}

fn contents() -> String {
    let topics: Vec<_> = Topic::list().collect();
    let width = topics.iter().map(|(name, _)| name.len()).max();
    let width = width.unwrap_or_default();
    let rows = topics.iter();
    let rows = rows.map(|(name, about)| format!("{name:width$}  {about}\n"));
    rows.chain(["\nlanding-api handbook TOPIC prints one.\n".to_owned()])
        .collect()
}
