//! Commands about contacts.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::adapters::files::SystemFiles;
use crate::adapters::files::data_dir::DataDir;
use crate::adapters::files::part_file::PartFile;
use crate::config::{
    Args, ContactFilter, ContactsCommand, ExportArgs, ForgetArgs, ImportArgs, OutputForm,
};
use crate::domain::{ContactStatus, EmailAddress};
use crate::operator::contact_csv;
use crate::operator::contacts::{COUNT, ContactRow, ErasureReport, FORGET, LIST, SHOW};
use crate::operator::import::{IMPORT, ImportReport};

use super::client::{Client, member};
use super::contact_file;
use super::input::{obtain, read_lines, unreadable};
use super::list::{Cell, ListColumn, list, show_members, table};
use super::outcome::{CommandError, Done};
use super::output::{Output, grouped, note, plural, show};

/// Maximum number of columns reported.
const NAMED_MAX: usize = 100;

const COLUMNS: [ListColumn; 4] = [
    ListColumn("Signed up (UTC)", "subscribed_at", 16, Cell::Time),
    ListColumn("Last seen", "last_seen_at", 16, Cell::Time),
    ListColumn("Status", "status", 12, Cell::Text),
    ListColumn("Address", "email", 0, Cell::Text),
];

const ERASED_COLUMNS: [ListColumn; 2] = [
    ListColumn("Result", "result", 7, Cell::Text),
    ListColumn("Address", "email", 0, Cell::Text),
];

/// Proof of a consent: fields and headings.
const PROOF: [(&str, &str); 12] = [
    ("Consent", "consent_at"),
    ("Origin", "consent_by"),
    ("Language", "language"),
    ("Page", "source"),
    ("Wording", "consent_text"),
    ("IP address", "ip"),
    ("Unsubscribed", "left_at"),
    ("Email accepted", "mailed_at"),
    ("Email refused", "undeliverable_at"),
    ("Confirmed", "confirmed_at"),
    ("Confirmed from", "confirmed_ip"),
    ("Unsubscribe", "unsubscribe_url"),
];

/// Runs one of them.
pub(super) async fn run(command: ContactsCommand, client: &Client) -> Result<Done, CommandError> {
    match command {
        ContactsCommand::List { filter } => list(LIST, json!(filter), &COLUMNS, client).await,
        ContactsCommand::Count { filter } => {
            let counted: Value = client.one(COUNT, json!(filter)).await?;
            let contacts = member(&counted, "contacts")?;
            show(client.form, &counted, |output| {
                output.line(&contacts.to_string())
            })
        }
        ContactsCommand::Export(args) => export(&args, client).await,
        ContactsCommand::Import(args) => import(&args, client).await,
        ContactsCommand::Show { email, proof } => {
            let params = json!({"email": email, "proof": proof});
            let mut members = vec![
                ("Address", "email"),
                ("Signed up", "subscribed_at"),
                ("Last seen", "last_seen_at"),
                ("Status", "status"),
                ("Suppressed until", "suppressed_until"),
            ];
            if proof {
                members.extend(PROOF);
            }
            show_members(SHOW, params, &members, client).await
        }
        ContactsCommand::Forget(args) => forget(args, client).await,
    }
}

async fn export(args: &ExportArgs, client: &Client) -> Result<Done, CommandError> {
    let mut file = if args.output == Path::new("-") {
        None
    } else {
        Some(PartFile::create(&SystemFiles, &args.output, args.force)?)
    };
    let is_csv = !client.form.json && args.output.extension() != Some(OsStr::new("jsonl"));
    let mut filter = args.filter.clone();
    // The file's readers email everyone in it.
    filter
        .status
        .get_or_insert_with(|| ContactStatus::Subscribed.as_str().to_owned());
    let mut rows = client.rows(LIST, json!(filter)).await?;
    let mut output = Output::new(OutputForm { json: false });
    let mut write = |piece: &[u8]| match &mut file {
        Some(file) => file.append(piece).map_err(CommandError::from),
        None => output.bytes(piece),
    };
    if is_csv {
        write(contact_csv::HEADER.as_bytes())?;
    }
    let mut contacts = 0;
    while let Some(lines) = rows.next().await {
        let lines = lines?;
        contacts += lines.iter().filter(|byte| **byte == b'\n').count() as u64;
        if is_csv {
            write(&contact_csv::of_json_lines(&lines)?)?;
        } else {
            write(&lines)?;
        }
    }
    output.flush()?;
    if let Some(file) = file {
        file.finish()?;
        let (contacts, path) = (plural(contacts, "contact"), args.output.display());
        note(&format!("exported {contacts} to {path}"));
    }
    Ok(Done::Whole)
}

/// Creates the data directory for an import, if there is none yet.
pub(super) async fn make_directory(file: &Path, args: &Args) -> Result<(), CommandError> {
    let (Some(dir), None) = (&args.data_dir, &args.engines.store) else {
        return Ok(());
    };
    if file != Path::new("-") {
        let found = tokio::fs::metadata(file).await;
        found.map_err(|error| unreadable(file, error))?;
    }
    if DataDir::make(dir)? {
        note(&format!("created the data directory {}", dir.display()));
    }
    Ok(())
}

async fn import(args: &ImportArgs, client: &Client) -> Result<Done, CommandError> {
    let (rows, reading) = contact_file::open(&args.file, args.columns.clone()).await?;
    let params = json!({"unforget": args.unforget});
    let answered: Result<ImportReport, _> = client.send(IMPORT, params, rows).await;
    // The file's error comes first: the service's may be a consequence of it.
    let ignored = reading.await.map_err(CommandError::failed)??;
    let mut report = answered?;
    report.ignored_columns = ignored.into_iter().take(NAMED_MAX).collect();
    for name in &report.ignored_columns {
        note(&format!("ignored: {}", name.escape_debug()));
    }
    show(client.form, &report, |output| print_import(output, &report))?;
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
        ("Existing", &grouped(report.known)),
        ("Unsubscribed", &grouped(report.unsubscribed)),
        ("Skipped (erased)", &grouped(report.forgotten)),
        ("Bad rows", &grouped(report.bad)),
    ])
}

async fn forget(args: ForgetArgs, client: &Client) -> Result<Done, CommandError> {
    let mut emails = args.emails;
    if let Some(path) = &args.from {
        emails.extend(addresses(path).await?);
        if emails.is_empty() {
            let none = "the file contains no addresses";
            return Err(CommandError::Input(none.to_owned()));
        }
    }
    if args.filter != ContactFilter::default() {
        emails = found(&args.filter, client).await?;
        if emails.is_empty() {
            let none = "no matching contacts: nothing was erased";
            return Err(CommandError::Failed(none.to_owned()));
        }
    }
    emails.sort_unstable();
    emails.dedup();
    let addresses = match emails.len() {
        1 => "this address".to_owned(),
        count => format!("{} addresses", grouped(count as u64)),
    };
    obtain(args.consent, &format!("erase {addresses} for good")).await?;
    let report: ErasureReport = client.one(FORGET, json!({"email": emails})).await?;
    show(client.form, &report, |output| {
        print_erasure(output, &report)
    })?;
    let all_known = report.addresses.iter().all(|row| row.was_known);
    Ok(if all_known && report.is_complete {
        Done::Whole
    } else {
        Done::InPart
    })
}

/// The addresses of the contacts listed. Only these are counted, shown and erased, regardless of sign-ups in
/// the meantime.
async fn found(filter: &ContactFilter, client: &Client) -> Result<Vec<String>, CommandError> {
    let mut rows = client.rows(LIST, json!(filter)).await?;
    let mut emails = Vec::new();
    while let Some(lines) = rows.next().await {
        for row in serde_json::Deserializer::from_slice(&lines?).into_iter::<ContactRow>() {
            emails.push(row.map_err(io::Error::from)?.email);
        }
    }
    Ok(emails)
}

fn print_erasure(output: &mut Output, report: &ErasureReport) -> Result<(), CommandError> {
    let rows: Vec<_> = report
        .addresses
        .iter()
        .map(|row| {
            let result = if row.was_known { "erased" } else { "unknown" };
            json!({"result": result, "email": row.email})
        })
        .collect();
    table(output, &ERASED_COLUMNS, &rows)?;
    output.line("")?;
    let rewritten = match report.rewritten.as_slice() {
        [] => "none".to_owned(),
        files => files.join(", "),
    };
    let complete = if report.is_complete {
        "complete"
    } else {
        "incomplete"
    };
    let in_flight = match report.in_flight {
        0 => "none".to_owned(),
        count => format!("{}: they may still contain the address", grouped(count)),
    };
    output.fields(&[
        ("Erasure", complete),
        ("Compacted", &rewritten),
        ("Deliveries in flight", &in_flight),
        ("Time", &report.at),
        ("Version", &report.version),
    ])?;
    for kept in &report.remaining {
        note(&format!(
            "{} may still contain an address: {}",
            kept.file, kept.reason
        ));
    }
    Ok(())
}

/// The addresses in a file, one per line.
async fn addresses(path: &Path) -> Result<Vec<String>, CommandError> {
    let lines = read_lines(path).await?.into_iter();
    let path = path.display();
    let addresses = lines.map(|(number, line)| match EmailAddress::parse(&line) {
        Ok(address) => Ok(address.as_str().to_owned()),
        Err(error) => Err(CommandError::Input(format!(
            "line {number} of {path} {error}; nothing was erased"
        ))),
    });
    addresses.collect()
}
