//! Commands about API keys and agents.

use std::collections::BTreeSet;

use crate::config::{AgentsCommand, KeysCommand, NamedKeys};
use crate::http::admin::{AgentRevoked, AgentRow, KeyAnswer, KeyNames, KeyRow};

use super::client::{AdminClient, json};
use super::list::list;
use super::outcome::{CommandError, Done};
use super::output::{Output, short_minute, text};
use super::source::read_lines;

/// Runs a command about keys.
pub(super) async fn run(
    command: KeysCommand,
    client: &mut AdminClient,
) -> Result<Done, CommandError> {
    match command {
        KeysCommand::List(form) => {
            let heading = "Id               State    Issued (UTC)      Expires           Label";
            list("/v1/keys/list", heading, key_line, form, client).await
        }
        KeysCommand::Revoke(args) => name(args, "/v1/keys/revoke", client).await,
        KeysCommand::Check(args) => name(args, "/v1/keys/check", client).await,
    }
}

fn key_line(key: &KeyRow) -> String {
    let (issued, expires) = (short_minute(&key.issued_at), short_minute(&key.expires_at));
    let (id, state) = (&key.id, &key.state);
    let label = key.label.as_deref().unwrap_or_default();
    format!("{id:15}  {state:7}  {issued}  {expires}  {label}")
}

fn agent_line(agent: &AgentRow) -> String {
    let revoked = short_minute(&agent.revoked_at);
    let expires = short_minute(&agent.expires_at);
    format!("{revoked}  {expires}  {}", agent.client_id)
}

/// Sends names of keys to `path`, and prints what it says about each.
async fn name(args: NamedKeys, path: &str, client: &mut AdminClient) -> Result<Done, CommandError> {
    let mut names = Vec::new();
    for name in args.names {
        if name == "-" {
            let lines = read_lines("-".as_ref()).await?;
            names.extend(lines.into_iter().map(|(_, line)| line));
        } else {
            names.push(name);
        }
    }
    // One that is given twice would be revoked before.
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    if names.is_empty() {
        return Err(CommandError::Input("no key was given".to_owned()));
    }
    let answers: Vec<KeyAnswer> = client.post(path, json(&KeyNames { names })?).await?;
    let mut output = Output::new(args.form);
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
    let unknown = answers.iter().filter(|answer| answer.key.is_none()).count();
    if unknown == answers.len() {
        return Err(CommandError::Failed(
            "no key has this name: keys list shows the ids of all".to_owned(),
        ));
    }
    Ok(match unknown {
        0 => Done::Whole,
        _ => Done::InPart,
    })
}

fn row(answer: &KeyAnswer) -> Vec<String> {
    let key = answer.key.as_ref();
    let expires = key.map(|key| short_minute(&key.expires_at));
    let label = key.and_then(|key| key.label.clone());
    vec![
        answer.id.clone(),
        answer.result.clone(),
        expires.unwrap_or_default(),
        label.unwrap_or_default(),
    ]
}

/// Runs a command about agents.
pub(super) async fn run_agents(
    command: AgentsCommand,
    client: &mut AdminClient,
) -> Result<Done, CommandError> {
    match command {
        AgentsCommand::ListRevoked(form) => {
            let heading = "Revoked (UTC)     Expires           Client id";
            list("/v1/agents/list-revoked", heading, agent_line, form, client).await
        }
        AgentsCommand::Revoke { client_id, form } => {
            let request = json(&AgentRevoked {
                client_id,
                result: String::new(),
            })?;
            let revoked: AgentRevoked = client.post("/v1/agents/revoke", request).await?;
            let fields = [
                ("Client id", &*revoked.client_id),
                ("Result", &*revoked.result),
            ];
            Output::new(form).record(&revoked, &fields)?;
            Ok(Done::Whole)
        }
    }
}
