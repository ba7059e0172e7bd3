//! Commands about API keys.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::config::{Consent, KeysCommand, NamedKeys, OutputForm};
use crate::operator::keys;

use super::client::Client;
use super::input::{obtain, read_lines};
use super::list::{Cell, ListColumn, list};
use super::outcome::{CommandError, Done};
use super::output::{Output, grouped, short_minute, text};

const KEY_COLUMNS: [ListColumn; 5] = [
    ListColumn("Id", "id", 15, Cell::Text),
    ListColumn("State", "state", 7, Cell::Text),
    ListColumn("Issued (UTC)", "issued_at", 16, Cell::Minute),
    ListColumn("Expires", "expires_at", 16, Cell::Minute),
    ListColumn("Label", "label", 0, Cell::Text),
];

/// Runs a command about keys.
pub(super) async fn run(command: KeysCommand, client: &Client) -> Result<Done, CommandError> {
    match command {
        KeysCommand::List(form) => list(keys::LIST, json!({}), &KEY_COLUMNS, form, client).await,
        KeysCommand::Revoke { named, consent } => {
            name(named, consent.form, Some(consent), keys::REVOKE, client).await
        }
        KeysCommand::Check { named, form } => name(named, form, None, keys::CHECK, client).await,
    }
}

/// Sends key ids to `operation`, which may need consent, and prints each result.
async fn name(
    args: NamedKeys,
    form: OutputForm,
    consent: Option<Consent>,
    operation: &str,
    client: &Client,
) -> Result<Done, CommandError> {
    let mut names = Vec::new();
    for name in args.names {
        if name == "-" {
            let lines = read_lines("-".as_ref()).await?;
            names.extend(lines.into_iter().map(|(_, line)| line));
        } else {
            names.push(name);
        }
    }
    // A duplicate would appear as revoked before.
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    if names.is_empty() {
        return Err(CommandError::Input("no key was given".to_owned()));
    }
    if let Some(consent) = consent {
        let keys = match names.len() {
            1 => "this key".to_owned(),
            count => format!("{} keys", grouped(count as u64)),
        };
        obtain(consent, &format!("revoke {keys} for good")).await?;
    }
    let answers: Vec<Value> = client.one(operation, json!({"key": names})).await?;
    let mut output = Output::new(form);
    if output.is_json {
        for answer in &answers {
            output.json(answer)?;
        }
    } else {
        let rows: Vec<_> = answers.iter().map(row).collect();
        let columns = [
            text("Id"),
            text("Result"),
            text("Expires (UTC)"),
            text("Label"),
        ];
        output.table(&columns, &rows)?;
    }
    output.flush()?;
    let unknown = answers
        .iter()
        .filter(|answer| answer.get("key").is_none_or(Value::is_null))
        .count();
    if unknown == answers.len() {
        return Err(CommandError::Failed(
            "no such key: `keys list` shows all ids".to_owned(),
        ));
    }
    Ok(match unknown {
        0 => Done::Whole,
        _ => Done::InPart,
    })
}

fn row(answer: &Value) -> Vec<String> {
    let text = |pointer| {
        answer
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    vec![
        text("/id").to_owned(),
        text("/result").to_owned(),
        short_minute(text("/key/expires_at")),
        text("/key/label").to_owned(),
    ]
}
