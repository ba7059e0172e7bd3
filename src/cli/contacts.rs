//! Commands about contacts.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use tokio::task::spawn_blocking;

use crate::adapters::part_file::PartFile;
use crate::config::{ContactsCommand, ExportArgs, ForgetArgs, ImportArgs, Period};
use crate::domain::email::EmailAddress;
use crate::http::admin::{ContactRow, ContactsCounted, ErasureReport, ForgetRequest, ImportReport};

use super::client::{AdminClient, json, query};
use super::list::list;
use super::outcome::{CommandError, Done};
use super::output::{Output, grouped, note, short_time, text};
use super::progress::Progress;
use super::source::{read_lines, upload};

/// Runs one of them.
pub(super) async fn run(
    command: ContactsCommand,
    client: &mut AdminClient,
) -> Result<Done, CommandError> {
    match command {
        ContactsCommand::List(args) => {
            let path = with_period("/v1/contacts/list", args.period, &[("format", "jsonl")]);
            let heading = "Signed up (UTC)      Last seen            Address";
            list(&path, heading, contact_line, args.form, client).await
        }
        ContactsCommand::Count(args) => {
            let path = with_period("/v1/contacts/count", args.period, &[]);
            let counted: ContactsCounted = client.get(&path).await?;
            let number = counted.contacts.to_string();
            let mut output = Output::new(args.form);
            match output.is_json {
                true => output.json(&counted)?,
                false => output.line(&number)?,
            }
            output.flush()?;
            Ok(Done::Whole)
        }
        ContactsCommand::Export(args) => export(&args, client).await,
        ContactsCommand::Import(args) => import(&args, client).await,
        ContactsCommand::Show(args) => {
            let path = query("/v1/contacts/show", &[("email", args.email.as_str())]);
            let contact: ContactRow = client.get(&path).await?;
            Output::new(args.form).record(
                &contact,
                &[
                    ("Address", &contact.email),
                    ("Signed up", &contact.subscribed_at),
                    ("Last seen", &contact.last_seen_at),
                ],
            )?;
            Ok(Done::Whole)
        }
        ContactsCommand::Forget(args) => forget(args, client).await,
    }
}

fn contact_line(contact: &ContactRow) -> String {
    let since = short_time(&contact.subscribed_at);
    let seen = short_time(&contact.last_seen_at);
    format!("{since}  {seen}  {}", contact.email)
}

async fn export(args: &ExportArgs, client: &mut AdminClient) -> Result<Done, CommandError> {
    let is_file = args.output != Path::new("-");
    let mut file = match is_file {
        true => Some(PartFile::create(&args.output, args.force).await?),
        false => None,
    };
    let format = format_of(args.format.as_deref(), &args.output);
    let path = with_period("/v1/contacts/list", args.period, &[("format", format)]);
    let mut rows = client.pieces(&path).await?;
    let mut output = Output::new(crate::config::OutputForm { json: false });
    let progress = Progress::of_things("Exporting contacts");
    let mut contacts = 0;
    while let Some(bytes) = rows.next().await? {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        progress.advance(lines);
        contacts += lines as u64;
        match &mut file {
            Some(file) => file.write(&bytes).await?,
            None => output.bytes(&bytes)?,
        }
    }
    drop(progress);
    output.flush()?;
    if let Some(file) = file {
        file.finish().await?;
        let contacts = grouped(contacts - u64::from(format == "csv"));
        let path = args.output.display();
        note(&format!("{contacts} contacts are in {path}"));
    }
    Ok(Done::Whole)
}

async fn import(args: &ImportArgs, client: &mut AdminClient) -> Result<Done, CommandError> {
    let format = format_of(args.format.as_deref(), &args.file);
    let mut params = vec![("format", format)];
    if args.unforget {
        params.push(("unforget", "1"));
    }
    let body = upload(&args.file, "Importing").await?;
    let path = query("/v1/contacts/import", &params);
    let report: ImportReport = client.post(&path, body).await?;
    for name in &report.ignored_columns {
        note(&format!("not read: {}", name.escape_debug()));
    }
    let mut output = Output::new(args.form);
    match output.is_json {
        true => output.json(&report)?,
        false => print_import(&mut output, &report)?,
    }
    output.flush()?;
    Ok(match report.bad {
        0 => Done::Whole,
        _ => Done::InPart,
    })
}

fn print_import(output: &mut Output, report: &ImportReport) -> Result<(), CommandError> {
    for row in &report.bad_rows {
        output.line(&format!("line {}: {}", row.line, row.reason))?;
    }
    let unnamed = report.bad - report.bad_rows.len() as u64;
    if unnamed > 0 {
        output.line(&format!("... and {} more", grouped(unnamed)))?;
    }
    output.fields(&[
        ("Added", &grouped(report.created)),
        ("Known before", &grouped(report.known)),
        ("Erased before", &grouped(report.forgotten)),
        ("Bad rows", &grouped(report.bad)),
    ])
}

async fn forget(args: ForgetArgs, client: &mut AdminClient) -> Result<Done, CommandError> {
    let mut emails = args.emails;
    if let Some(path) = &args.from {
        emails.extend(addresses(path).await?);
    }
    emails.sort_unstable();
    emails.dedup();
    if emails.is_empty() {
        return Err(CommandError::Input("the file has no address".to_owned()));
    }
    if !args.yes && io::stdin().is_terminal() && !confirm(emails.len()).await? {
        return Err(CommandError::Failed("nothing was erased".to_owned()));
    }
    let addresses = emails.iter().map(|email| email.as_str().to_owned());
    let request = ForgetRequest {
        addresses: addresses.collect(),
    };
    let report: ErasureReport = client.post("/v1/contacts/forget", json(&request)?).await?;
    let mut output = Output::new(args.form);
    match output.is_json {
        true => output.json(&report)?,
        false => print_erasure(&mut output, &report)?,
    }
    output.flush()?;
    let all_known = report.addresses.iter().all(|it| it.was_known);
    Ok(match all_known && report.is_complete {
        true => Done::Whole,
        false => Done::InPart,
    })
}

fn print_erasure(output: &mut Output, report: &ErasureReport) -> Result<(), CommandError> {
    let rows: Vec<_> = report
        .addresses
        .iter()
        .map(|it| {
            let result = if it.was_known { "erased" } else { "not known" };
            vec![result.to_owned(), it.email.clone()]
        })
        .collect();
    output.table(&[text("Result"), text("Address")], &rows)?;
    output.line("")?;
    let rewritten = match report.rewritten.as_slice() {
        [] => "no file".to_owned(),
        files => files.join(", "),
    };
    let complete = match report.is_complete {
        true => "in no file any more",
        false => "not complete",
    };
    output.fields(&[
        ("Erasure", complete),
        ("Written anew", &rewritten),
        ("Time", &report.at),
        ("Version", &report.version),
    ])?;
    for kept in &report.remaining {
        note(&format!(
            "{} may still hold an address: {}",
            kept.file, kept.reason
        ));
    }
    Ok(())
}

/// The addresses of a file, one a line.
async fn addresses(path: &Path) -> Result<Vec<EmailAddress>, CommandError> {
    let lines = read_lines(path).await?.into_iter();
    let path = path.display();
    lines
        .map(|(number, line)| {
            EmailAddress::parse(&line).map_err(|error| {
                CommandError::Input(format!(
                    "line {number} of {path} {error}; nothing was erased"
                ))
            })
        })
        .collect()
}

/// Asks on a thread of its own, so that a signal ends the command meanwhile.
async fn confirm(addresses: usize) -> io::Result<bool> {
    let asked = spawn_blocking(move || {
        let mut err = anstream::stderr();
        match addresses {
            1 => write!(err, "Erase this address for good? [y/N] ")?,
            _ => write!(err, "Erase {addresses} addresses for good? [y/N] ")?,
        }
        err.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    });
    asked.await?
}

/// The format that a flag names, or the ending of a file.
fn format_of<'a>(named: Option<&'a str>, file: &Path) -> &'a str {
    let ending = file.extension().and_then(|ending| ending.to_str());
    match (named, ending) {
        (Some(named), _) => named,
        (None, Some("jsonl" | "ndjson")) => "jsonl",
        (None, _) => "csv",
    }
}

fn with_period(path: &str, period: Period, params: &[(&str, &str)]) -> String {
    let times = [("since", period.since), ("until", period.until)];
    let times: Vec<_> = times
        .into_iter()
        .filter_map(|(name, time)| Some((name, time?.to_rfc3339())))
        .collect();
    let times = times.iter().map(|(name, time)| (*name, time.as_str()));
    let params: Vec<_> = params.iter().copied().chain(times).collect();
    query(path, &params)
}
