//! Commands about rate limits.

use crate::config::{LimitsCommand, ResetLimits, ShowLimits, Whose};
use crate::http::admin::{LimitsQuery, LimitsReset, PolicyRow};

use super::client::{AdminClient, json};
use super::outcome::{CommandError, Done};
use super::output::{Output, grouped, note, number, text};
use super::source::read_lines;

/// Runs one of them.
pub(super) async fn run(
    command: LimitsCommand,
    client: &mut AdminClient,
) -> Result<Done, CommandError> {
    match command {
        LimitsCommand::Show(args) => show(args, client).await,
        LimitsCommand::Reset(args) => reset(args, client).await,
    }
}

async fn show(args: ShowLimits, client: &mut AdminClient) -> Result<Done, CommandError> {
    let query = LimitsQuery {
        top: args.top.into(),
        ..query(args.whose).await?
    };
    let is_about_one = query.ip.is_some() || query.key.is_some();
    let rows: Vec<PolicyRow> = client.post("/v1/limits/show", json(&query)?).await?;
    if !client.is_running() {
        note(
            "no service runs: the limits are those of LANDING_LIMIT, or the defaults, and not those \
             of the service's flags",
        );
    }
    let mut output = Output::new(args.form);
    match output.is_json {
        true => output.json(&rows)?,
        false if is_about_one => print_clients(&mut output, &rows, true)?,
        false => print_policies(&mut output, &rows)?,
    }
    output.flush()?;
    Ok(Done::Whole)
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

async fn reset(args: ResetLimits, client: &mut AdminClient) -> Result<Done, CommandError> {
    let query = LimitsQuery {
        policy: args.policy.map(|policy| policy.as_str().to_owned()),
        client: args.client,
        all: args.all,
        ..query(args.whose).await?
    };
    let done: LimitsReset = client.post("/v1/limits/reset", json(&query)?).await?;
    let windows = grouped(done.windows as u64);
    Output::new(args.form).record(&done, &[("Windows forgotten", &windows)])?;
    Ok(Done::Whole)
}

async fn query(whose: Whose) -> Result<LimitsQuery, CommandError> {
    let key = match whose.key {
        Some(key) if key == "-" => {
            let lines = read_lines("-".as_ref()).await?;
            let first = lines.into_iter().next().map(|(_, line)| line);
            Some(first.ok_or_else(|| CommandError::Input("no key was given".to_owned()))?)
        }
        key => key,
    };
    Ok(LimitsQuery {
        ip: whose.ip,
        key,
        email: whose.email.map(|email| email.as_str().to_owned()),
        ..LimitsQuery::default()
    })
}
