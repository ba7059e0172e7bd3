//! Commands about rate limits.

use serde_json::{Map, Value, json};

use crate::config::{LimitsCommand, ResetLimits, ShowLimits, Whose};
use crate::operator::limits::{LimitsReset, PolicyRow, RESET, SHOW};

use super::client::Client;
use super::outcome::{CommandError, Done};
use super::output::{self, Output, grouped, note, number, text};
use super::source::read_lines;

/// Runs one of them.
pub(super) async fn run(command: LimitsCommand, client: &Client) -> Result<Done, CommandError> {
    match command {
        LimitsCommand::Show(args) => show(args, client).await,
        LimitsCommand::Reset(args) => reset(args, client).await,
    }
}

async fn show(args: ShowLimits, client: &Client) -> Result<Done, CommandError> {
    let is_about_one = args.whose.ip.is_some() || args.whose.key.is_some();
    let mut params = whose(args.whose).await?;
    params.insert("top".to_owned(), json!(args.top));
    let rows: Vec<PolicyRow> = client.one(&SHOW, params.into()).await?;
    if !client.is_running() {
        note(
            "no service runs: the limits are those of LANDING_LIMIT, or the defaults, and not those \
             of the service's flags",
        );
    }
    output::show(args.form, &rows, |output| {
        if is_about_one {
            print_clients(output, &rows, true)
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
        output.heading(&format!("Busiest of {}", row.policy))?;
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
    }
    let mut table = Vec::new();
    for row in rows {
        for client in &row.clients {
            let mut cells = vec![
                grouped(client.used.into()),
                grouped(client.remaining.into()),
                format!("{} s", grouped(client.reset_s)),
                client.client.clone(),
            ];
            if names_policy {
                cells.insert(0, row.policy.clone());
            }
            table.push(cells);
        }
    }
    output.table(&columns, &table)
}

async fn reset(args: ResetLimits, client: &Client) -> Result<Done, CommandError> {
    let mut params = whose(args.whose).await?;
    params.extend([
        (
            "policy".to_owned(),
            json!(args.policy.map(|policy| policy.as_str())),
        ),
        ("client".to_owned(), json!(args.client)),
        ("all".to_owned(), json!(args.all)),
    ]);
    let done: LimitsReset = client.one(&RESET, params.into()).await?;
    let windows = grouped(done.windows as u64);
    output::show(args.form, &done, |output| {
        output.fields(&[("Windows forgotten", &windows)])
    })
}

/// The parameters that name a client.
async fn whose(whose: Whose) -> Result<Map<String, Value>, CommandError> {
    let key = match whose.key {
        Some(key) if key == "-" => {
            let lines = read_lines("-".as_ref()).await?;
            let first = lines.into_iter().next().map(|(_, line)| line);
            Some(first.ok_or_else(|| CommandError::Input("no key was given".to_owned()))?)
        }
        key => key,
    };
    Ok(Map::from_iter([
        ("ip".to_owned(), json!(whose.ip)),
        ("key".to_owned(), json!(key)),
        (
            "email".to_owned(),
            json!(whose.email.as_ref().map(|email| email.as_str())),
        ),
    ]))
}
