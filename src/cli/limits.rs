//! Commands about rate limits.

use serde_json::{Value, json};

use crate::config::{LimitsCommand, OutputForm, ResetLimits, Whose};
use crate::domain::{EmailAddress, PolicyName};
use crate::operator::limits::{PolicyRow, RESET, SHOW};

use super::client::Client;
use super::consent::obtain;
use super::list::show_members;
use super::outcome::{CommandError, Done};
use super::output::{self, Output, grouped, note, number, span, text};
use super::source::read_lines;

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
            let no_service = if are_shared { ALL_NODES } else { NO_SERVICE };
            show(top, whose, no_service, form, client).await
        }
        LimitsCommand::Reset(args) => reset(args, client).await,
    }
}

async fn show(
    top: u16,
    whose: Whose,
    no_service: &str,
    form: OutputForm,
    client: &Client,
) -> Result<Done, CommandError> {
    let is_about_one = whose.ip.is_some() || whose.key.is_some();
    let params = params_of(whose, [("top", json!(top))]).await?;
    let rows: Vec<PolicyRow> = client.one(&SHOW, params).await?;
    if !client.is_running() {
        note(no_service);
    }
    output::show(form, &rows, |output| {
        if is_about_one {
            print_clients(output, &rows, true)?;
            // All rows are about the same client.
            let name = rows
                .iter()
                .flat_map(|row| &row.clients)
                .find_map(|row| row.name.as_deref());
            let Some(name) = name else { return Ok(()) };
            output.line("")?;
            output.fields(&[("Name in the log", name)])
        } else {
            print_policies(output, &rows)
        }
    })
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

async fn reset(args: ResetLimits, client: &Client) -> Result<Done, CommandError> {
    let others = [
        ("policy", json!(args.policy.map(PolicyName::as_str))),
        ("client", json!(args.client)),
        ("all", json!(args.all)),
    ];
    let params = params_of(args.whose, others).await?;
    let members = [("Windows reset", "windows")];
    obtain(args.consent, "reset these counts").await?;
    show_members(&RESET, params, &members, args.consent.form, client).await
}

/// The parameters that identify a client, and `others`.
async fn params_of<const N: usize>(
    whose: Whose,
    others: [(&str, Value); N],
) -> Result<Value, CommandError> {
    let key = match whose.key {
        Some(key) if key == "-" => {
            let lines = read_lines("-".as_ref()).await?;
            let first = lines.into_iter().next().map(|(_, line)| line);
            Some(first.ok_or_else(|| CommandError::Input("no key was given".to_owned()))?)
        }
        key => key,
    };
    let email = whose.email.as_ref().map(EmailAddress::as_str);
    let of_client = [
        ("ip", json!(whose.ip)),
        ("key", json!(key)),
        ("email", json!(email)),
    ];
    Ok(of_client.into_iter().chain(others).collect())
}
