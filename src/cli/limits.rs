//! Commands about rate limits.

use serde_json::{Value, json};

use crate::config::{LimitsCommand, Whose};
use crate::operator::limits::{RESET, SHOW};

use super::client::Client;
use super::input::{obtain, read_lines};
use super::list::{Cell, ListColumn, show_members, table};
use super::outcome::{CommandError, Done};
use super::output::{Output, note, show};

const NO_SERVICE: &str = "no service is running: the limits are those of LANDING_LIMIT or the defaults, not \
                          those of the service's flags";
const ALL_NODES: &str = "the counts are those of all nodes; the limits are those of LANDING_LIMIT or the \
                         defaults, not those of the nodes' flags";

const POLICIES: [ListColumn; 3] = [
    ListColumn("Policy", "policy", 17, Cell::Text),
    ListColumn("Limit", "limit", 8, Cell::Limit),
    ListColumn("Counted", "counts", 0, Cell::Text),
];

/// The heaviest clients of one policy.
const CLIENTS: [ListColumn; 5] = [
    ListColumn("Used", "used", 6, Cell::Count),
    ListColumn("Left", "remaining", 6, Cell::Count),
    ListColumn("Reset in", "reset_s", 10, Cell::Span),
    ListColumn("Client", "client", 32, Cell::Text),
    ListColumn("Name in the log", "name", 0, Cell::Text),
];

/// One client under each policy.
const CLIENT: [ListColumn; 5] = [
    ListColumn("Policy", "policy", 17, Cell::Text),
    ListColumn("Used", "/clients/0/used", 6, Cell::Count),
    ListColumn("Left", "/clients/0/remaining", 6, Cell::Count),
    ListColumn("Reset in", "/clients/0/reset_s", 10, Cell::Span),
    ListColumn("Client", "/clients/0/client", 0, Cell::Text),
];

/// Runs one of them, on windows that may be shared by several nodes (`are_shared`).
#[allow(clippy::indexing_slicing, reason = "an object takes any field")]
pub(super) async fn run(
    command: LimitsCommand,
    are_shared: bool,
    client: &Client,
) -> Result<Done, CommandError> {
    match command {
        LimitsCommand::Show { top, whose } => {
            let whose = with_key(whose).await?;
            let is_about_one = whose.ip.is_some() || whose.email.is_some() || whose.key.is_some();
            let mut params = json!(whose);
            params["top"] = json!(top);
            let rows: Vec<Value> = client.one(SHOW, params).await?;
            if !client.is_running() {
                note(if are_shared { ALL_NODES } else { NO_SERVICE });
            }
            show(client.form, &rows, |output| match is_about_one {
                true => print_client(output, &rows),
                false => print_policies(output, &rows),
            })
        }
        LimitsCommand::Reset(mut args) => {
            args.whose = with_key(args.whose).await?;
            obtain(args.consent, "reset these counts").await?;
            let members = [("Windows reset", "windows")];
            show_members(RESET, json!(args), &members, client).await
        }
    }
}

/// Reads the key from standard input if it is `-`.
async fn with_key(mut whose: Whose) -> Result<Whose, CommandError> {
    if whose.key.as_deref() == Some("-") {
        let first = read_lines("-".as_ref()).await?.into_iter().next();
        let (_, key) = first.ok_or_else(|| CommandError::Input("no key was given".to_owned()))?;
        whose.key = Some(key);
    }
    Ok(whose)
}

fn print_policies(output: &mut Output, rows: &[Value]) -> Result<(), CommandError> {
    table(output, &POLICIES, rows)?;
    for row in rows {
        let Some(clients) = row["clients"].as_array().filter(|rows| !rows.is_empty()) else {
            continue;
        };
        output.line("")?;
        let policy = row["policy"].as_str().unwrap_or_default();
        output.heading(&format!("Heaviest clients of {policy}"))?;
        table(output, &CLIENTS, clients)?;
    }
    Ok(())
}

fn print_client(output: &mut Output, rows: &[Value]) -> Result<(), CommandError> {
    if rows.is_empty() {
        return output.line("Every limit that counts this client or address is off.");
    }
    table(output, &CLIENT, rows)?;
    let mut names = rows.iter().map(|row| row.pointer("/clients/0/name"));
    match names.find_map(|name| name?.as_str()) {
        Some(name) => {
            output.line("")?;
            output.fields(&[("Name in the log", name)])
        }
        None => Ok(()),
    }
}
