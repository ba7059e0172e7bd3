//! Commands about contacts.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use futures_util::StreamExt as _;
use serde_json::{Deserializer, Value, json};

use crate::adapters::files::SystemFiles;
use crate::adapters::files::data_dir::DataDir;
use crate::adapters::files::part_file::PartFile;
use crate::config::{Args, ContactFilter, ExportArgs, ForgetArgs, ImportArgs, OutputForm};
use crate::domain::{ContactStatus, EmailAddress};
use crate::operator::contact_csv;
use crate::operator::contacts::{COUNT, FORGET, LIST};
use crate::operator::import::{IMPORT, ImportReport};

use super::answers::{fields, table};
use super::client::{Client, member};
use super::contact_file;
use super::input::{obtain, read_lines, unreadable};
use super::outcome::{CommandError, Done};
use super::output::{Output, grouped, note, plural, show};

/// Maximum number of columns reported.
const NAMED_MAX: usize = 100;

/// Prints the number of contacts, alone for scripts.
pub(super) async fn count(filter: &ContactFilter, client: &Client) -> Result<Done, CommandError> {
    let counted: Value = client.one(COUNT, json!(filter)).await?;
    let contacts = member(&counted, "contacts")?;
    show(client.form, &counted, |output| {
        output.line(&contacts.to_string())
    })
}

pub(super) async fn export(args: &ExportArgs, client: &Client) -> Result<Done, CommandError> {
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

pub(super) async fn import(args: &ImportArgs, client: &Client) -> Result<Done, CommandError> {
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
    show(client.form, &report, |output| {
        for row in &report.bad_rows {
            output.line(&format!("line {}: {}", row.line, row.reason))?;
        }
        let unnamed = report.bad - report.bad_rows.len() as u64;
        if unnamed > 0 {
            output.line(&format!("... and {} more", grouped(unnamed)))?;
        }
        fields(output, IMPORT, &report)
    })?;
    Ok(match report.bad {
        0 => Done::Whole,
        _ => Done::InPart,
    })
}

pub(super) async fn forget(args: &ForgetArgs, client: &Client) -> Result<Done, CommandError> {
    let mut emails = args.emails.clone();
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
    let report: Value = client.one(FORGET, json!({"email": emails})).await?;
    let addresses = member(&report, "addresses")?.as_array();
    let addresses = addresses.map(Vec::as_slice).unwrap_or_default();
    show(client.form, &report, |output| {
        table(output, "contacts forget: addresses", addresses)?;
        output.line("")?;
        fields(output, FORGET, &report)
    })?;
    let remaining = member(&report, "remaining")?.as_str();
    if let (Some(remaining), false) = (remaining, client.form.json) {
        note(remaining);
    }
    let all_known = addresses.iter().all(|row| row["was_known"] == true);
    Ok(if all_known && remaining.is_none() {
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
        for row in Deserializer::from_slice(&lines?).into_iter::<Value>() {
            let row = row.map_err(io::Error::from)?;
            emails.extend(member(&row, "email")?.as_str().map(str::to_owned));
        }
    }
    Ok(emails)
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
