//! Commands about API keys.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::config::{KeysCommand, NamedKeys};
use crate::operator::keys;

use super::client::Client;
use super::input::{obtain, read_lines};
use super::list::{Cell, ListColumn, list, table};
use super::outcome::{CommandError, Done};
use super::output::{Output, plural};

const COLUMNS: [ListColumn; 5] = [
    ListColumn("Id", "id", 15, Cell::Text),
    ListColumn("State", "state", 7, Cell::Text),
    ListColumn("Issued (UTC)", "issued_at", 16, Cell::Time),
    ListColumn("Expires", "expires_at", 16, Cell::Time),
    ListColumn("Label", "label", 0, Cell::Text),
];

const RESULT_COLUMNS: [ListColumn; 4] = [
    ListColumn("Id", "id", 15, Cell::Text),
    ListColumn("Result", "result", 14, Cell::Text),
    ListColumn("Expires (UTC)", "/key/expires_at", 16, Cell::Time),
    ListColumn("Label", "/key/label", 0, Cell::Text),
];

/// Runs a command about keys.
pub(super) async fn run(command: KeysCommand, client: &Client) -> Result<Done, CommandError> {
    match command {
        KeysCommand::List => list(keys::LIST, json!({}), &COLUMNS, client).await,
        KeysCommand::Revoke { named, consent } => {
            let ids = ids(named).await?;
            let keys = match ids.len() {
                1 => "this key".to_owned(),
                count => plural(count as u64, "key"),
            };
            obtain(consent, &format!("revoke {keys} for good")).await?;
            send(keys::REVOKE, &ids, client).await
        }
        KeysCommand::Check { named } => {
            let ids = ids(named).await?;
            send(keys::CHECK, &ids, client).await
        }
    }
}

/// The keys or their ids, without duplicates: those would appear as revoked before.
async fn ids(named: NamedKeys) -> Result<Vec<String>, CommandError> {
    let (mut ids, mut seen) = (Vec::new(), BTreeSet::new());
    for name in named.names {
        if name == "-" {
            let lines = read_lines("-".as_ref()).await?;
            ids.extend(lines.into_iter().map(|(_, line)| line));
        } else {
            ids.push(name);
        }
    }
    ids.retain(|id| seen.insert(id.clone()));
    if ids.is_empty() {
        return Err(CommandError::Input("no key was given".to_owned()));
    }
    Ok(ids)
}

/// Sends keys to `operation`, and prints each result.
async fn send(operation: &str, ids: &[String], client: &Client) -> Result<Done, CommandError> {
    let answers: Vec<Value> = client.one(operation, json!({"key": ids})).await?;
    let mut output = Output::new(client.form);
    if output.is_json {
        answers.iter().try_for_each(|answer| output.json(answer))?;
    } else {
        table(&mut output, &RESULT_COLUMNS, &answers)?;
    }
    output.flush()?;
    let unknown = answers.iter().filter(|answer| answer["key"].is_null());
    match unknown.count() {
        0 => Ok(Done::Whole),
        count if count == answers.len() => Err(CommandError::Failed(
            "no such key: `keys list` shows all IDs".to_owned(),
        )),
        _ => Ok(Done::InPart),
    }
}
