//! Commands about rate limits.

use serde_json::json;

use crate::config::{LimitsCommand, Whose};
use crate::operator::limits::{PolicyRow, RESET, SHOW};

use super::client::Client;
use super::input::{obtain, read_lines};
use super::list::show_members;
use super::outcome::{CommandError, Done};
use super::output::{self, Output, grouped, note, number, span, text};

const NO_SERVICE: &str = "no service is running: the limits are those of LANDING_LIMIT or the defaults, not \
                          those of the service's flags";
const ALL_NODES: &str = "the counts are those of all nodes; the limits are those of LANDING_LIMIT or the \
                         defaults, not those of the nodes' flags";

/// Runs one of them, on windows that may be shared by several nodes (`are_shared`).
pub(super) async fn run(
    command: LimitsCommand,
    are_shared: bool,
    client: &Client,
) -> Result<Done, CommandError> {
    match command {
        LimitsCommand::Show { top, whose, form } => {
            let whose = with_key(whose).await?;
            let mut params = json!(whose);
            if let Some(params) = params.as_object_mut() {
                params.insert("top".to_owned(), json!(top));
            }
            let rows: Vec<PolicyRow> = client.one(SHOW, params).await?;
            if !client.is_running() {
                note(if are_shared { ALL_NODES } else { NO_SERVICE });
            }
            let is_about_one = whose.ip.is_some() || whose.email.is_some() || whose.key.is_some();
            output::show(form, &rows, |output| {
                if !is_about_one {
                    return print_policies(output, &rows);
                }
                if rows.is_empty() {
                    return output.line("Every limit that counts this client or address is off.");
                }
                print_clients(output, &rows, true)?;
                // All rows are about the same client.
                let mut clients = rows.iter().flat_map(|row| &row.clients);
                let Some(name) = clients.find_map(|row| row.name.as_deref()) else {
                    return Ok(());
                };
                output.line("")?;
                output.fields(&[("Name in the log", name)])
            })
        }
        LimitsCommand::Reset(mut args) => {
            args.whose = with_key(args.whose).await?;
            obtain(args.consent, "reset these counts").await?;
            let members = [("Windows reset", "windows")];
            show_members(RESET, json!(args), &members, args.consent.form, client).await
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
fn print_policies(output: &mut Output, rows: &[PolicyRow]) -> Result<(), CommandError> {
    let columns = [text("Policy"), text("Limit"), text("Counted")];
    let table: Vec<_> = rows
        .iter()
        .map(|row| {
            let limit = row.limit.as_deref().unwrap_or("off");
            vec![row.policy.clone(), limit.to_owned(), row.counts.clone()]
        })
        .collect();
    output.table(&columns, &table)?;
    for row in rows.iter().filter(|row| !row.clients.is_empty()) {
        output.line("")?;
        output.heading(&format!("Heaviest clients of {}", row.policy))?;
        print_clients(output, std::slice::from_ref(row), false)?;
    }
    Ok(())
}

fn print_clients(
    output: &mut Output,
    rows: &[PolicyRow],
    names_policy: bool,
) -> Result<(), CommandError> {
    let mut columns = vec![
        number("Used"),
        number("Left"),
        number("Reset in"),
        text("Client"),
    ];
    if names_policy {
        columns.insert(0, text("Policy"));
    } else {
        columns.push(text("Name in the log"));
    }
    let mut table = Vec::new();
    for row in rows {
        for client in &row.clients {
            let mut cells = vec![
                grouped(client.used.into()),
                grouped(client.remaining.into()),
                span(client.reset_s),
                client.client.clone(),
            ];
            if names_policy {
                cells.insert(0, row.policy.clone());
            } else {
                cells.push(client.name.clone().unwrap_or_default());
            }
            table.push(cells);
        }
    }
    output.table(&columns, &table)
}
