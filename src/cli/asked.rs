//! Commands that ask the service, or the stores that this process has opened.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::adapters::files::data_dir::sizes;
use crate::config::{
    AdminCommand, AgentsCommand, Args, AskingCommand, ContactsCommand, KeysCommand, LimitsCommand,
    QueueCommand, Whose,
};
use crate::operator::{keys, links, status};

use super::answers::{fields, print, table};
use super::client::{Client, member};
use super::contacts;
use super::input::{obtain, read_lines};
use super::outcome::{CommandError, Done};
use super::output::{Output, note, plural, show};

const NO_SERVICE: &str = "no service is running: the limits are those of LANDING_LIMIT or the defaults, not \
                          those of the service's flags";
const ALL_NODES: &str = "the counts are those of all nodes; the limits are those of LANDING_LIMIT or the \
                         defaults, not those of the nodes' flags";

/// Runs one of them.
pub(super) async fn run(
    mut command: AskingCommand,
    args: &Args,
    client: &Client,
) -> Result<Done, CommandError> {
    use AskingCommand::{
        Admin, Agents, Block, Contacts, Keys, Limits, Mail, Questions, Queue, Status,
    };
    match &mut command {
        Status => return show_status(args, client).await,
        Admin(AdminCommand::Link) => return link(client).await,
        Contacts(ContactsCommand::Count(filter)) => return contacts::count(filter, client).await,
        Contacts(ContactsCommand::Export(args)) => return contacts::export(args, client).await,
        Contacts(ContactsCommand::Import(args)) => return contacts::import(args, client).await,
        Contacts(ContactsCommand::Forget(args)) => return contacts::forget(args, client).await,
        Keys(KeysCommand::Check(named)) => {
            let ids = given(&named.names).await?;
            return show_keys(keys::CHECK, &ids, client).await;
        }
        Keys(KeysCommand::Revoke { named, consent }) => {
            let ids = given(&named.names).await?;
            let which = match ids.len() {
                1 => "this key".to_owned(),
                count => plural(count as u64, "key"),
            };
            obtain(*consent, &format!("revoke {which} for good")).await?;
            return show_keys(keys::REVOKE, &ids, client).await;
        }
        Limits(LimitsCommand::Show { whose, .. }) => {
            read_key(whose).await?;
            let is_of_one = whose.ip.is_some() || whose.email.is_some() || whose.key.is_some();
            return show_limits(&command, is_of_one, args, client).await;
        }
        Limits(LimitsCommand::Reset(reset)) => {
            read_key(&mut reset.whose).await?;
            obtain(reset.consent, "reset these counts").await?;
        }
        Agents(AgentsCommand::Revoke { consent, .. }) => {
            let what = "revoke this registration with all its tokens for good";
            obtain(*consent, what).await?;
        }
        Queue(QueueCommand::Drop { consent, .. }) => {
            obtain(*consent, "drop this delivery, which is then never sent").await?;
        }
        Contacts(ContactsCommand::List(_) | ContactsCommand::Show { .. })
        | Keys(KeysCommand::List)
        | Agents(AgentsCommand::ListRevoked)
        | Block(_)
        | Questions(_)
        | Queue(_)
        | Mail(_) => {}
    }
    print(&command, client).await
}

/// Shows the status of the service of `args`.
async fn show_status(args: &Args, client: &Client) -> Result<Done, CommandError> {
    let mut report: Map<String, Value> = client.one(status::SHOW, json!({})).await?;
    let sizes = args.data_dir.as_deref().map(sizes).unwrap_or_default();
    let files = sizes.into_iter();
    let files = files.map(|(name, bytes)| json!({ "name": name, "bytes": bytes }));
    report.insert("files".to_owned(), files.collect());
    if !client.is_running() {
        report.insert("is_running".to_owned(), false.into());
        report.insert("service".to_owned(), Value::Null);
    }
    show(client.form, &report, |output| {
        // Others may run on a store shared by several nodes.
        let not_running = match (&args.engines.store, &args.data_dir) {
            (None, _) => "not running",
            (Some(_), Some(_)) => "not running on this data directory; below: all nodes",
            (Some(_), None) => "not checked, without a --data-dir; below: all nodes",
        };
        let mut report = report.clone();
        report.insert("not_running".to_owned(), not_running.into());
        fields(output, status::SHOW, &report)
    })
}

/// Prints a link to the admin page.
async fn link(client: &Client) -> Result<Done, CommandError> {
    let link: Value = client.one(links::LINK, json!({})).await?;
    let text = |name| member(&link, name).map(|value| value.as_str().unwrap_or_default());
    let (url, until) = (text("url")?, text("expires_at")?);
    // Alone on its line, for terminals and scripts.
    show(client.form, &link, |output| output.line(url))?;
    if !client.form.json {
        note(&format!("The link works once and expires at {until}."));
    }
    Ok(Done::Whole)
}

/// The keys or ids, those on standard input in place of `-`, without duplicates: these would appear as revoked before.
async fn given(names: &[String]) -> Result<Vec<String>, CommandError> {
    let (mut keys, mut seen) = (Vec::new(), BTreeSet::new());
    for name in names {
        if name == "-" {
            let lines = read_lines("-".as_ref()).await?;
            keys.extend(lines.into_iter().map(|(_, line)| line));
        } else {
            keys.push(name.clone());
        }
    }
    keys.retain(|key| seen.insert(key.clone()));
    if keys.is_empty() {
        return Err(CommandError::Input("no key was given".to_owned()));
    }
    Ok(keys)
}

async fn read_key(whose: &mut Whose) -> Result<(), CommandError> {
    if let Some(key) = whose.key.take() {
        whose.key = given(&[key]).await?.into_iter().next();
    }
    Ok(())
}

/// Sends keys to `operation`, and prints each result.
async fn show_keys(operation: &str, ids: &[String], client: &Client) -> Result<Done, CommandError> {
    let answers: Vec<Value> = client.one(operation, json!({"key": ids})).await?;
    let mut output = Output::new(client.form);
    if output.is_json {
        answers.iter().try_for_each(|answer| output.json(answer))?;
    } else {
        table(&mut output, keys::CHECK, &answers)?;
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

/// Prints all policies, each with its heaviest clients, or one client under each.
async fn show_limits(
    command: &AskingCommand,
    is_of_one: bool,
    args: &Args,
    client: &Client,
) -> Result<Done, CommandError> {
    let (operation, params) = command.operation();
    let policies: Vec<Value> = client.one(&operation, params).await?;
    if !client.is_running() {
        let are_shared = args.engines.limits.is_some();
        note(if are_shared { ALL_NODES } else { NO_SERVICE });
    }
    show(client.form, &policies, |output| {
        if is_of_one && policies.is_empty() {
            return output.line("Every limit that counts this client or address is off.");
        }
        if is_of_one {
            table(output, "limits show: one client", &policies)?;
            let mut names = policies.iter().map(|row| row.pointer("/clients/0/name"));
            let Some(name) = names.find_map(|name| name?.as_str()) else {
                return Ok(());
            };
            output.line("")?;
            return output.fields(&[("Name in the log", name)]);
        }
        table(output, &operation, &policies)?;
        for row in &policies {
            let clients = row["clients"].as_array().filter(|rows| !rows.is_empty());
            if let (Some(clients), Some(policy)) = (clients, row["policy"].as_str()) {
                output.line("")?;
                output.heading(&format!("Heaviest clients of {policy}"))?;
                table(output, "limits show: clients", clients)?;
            }
        }
        Ok(())
    })
}
