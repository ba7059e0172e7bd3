//! Commands about contacts.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::adapters::files::SystemFiles;
use crate::adapters::files::data_dir::DataDir;
use crate::adapters::files::part_file::PartFile;
use crate::config::{
    Args, ContactFilter, ContactOrder, ContactsCommand, ExportArgs, FileFormat, ForgetArgs,
    ImportArgs, OutputForm,
};
use crate::domain::{ContactStatus, EmailAddress};
use crate::operator::contact_csv;
use crate::operator::contacts::{COUNT, ContactRow, ErasureReport, FORGET, LIST, SHOW};
use crate::operator::import::{IMPORT, ImportReport};
use crate::operator::operation::Lines;

use super::client::{Client, member, other_version};
use super::contact_file;
use super::input::{obtain, read_lines, unreadable};
use super::list::{Cell, ListColumn, print_rows, show_members, table};
use super::outcome::{CommandError, Done};
use super::output::{Output, grouped, note, plural, show};

/// Maximum number of contacts that are sorted: they are in memory then, with their consents.
const SORTED_MAX: usize = 200_000;
/// Maximum number of columns reported.
const NAMED_MAX: usize = 100;

const COLUMNS: [ListColumn; 4] = [
    ListColumn("Signed up (UTC)", "subscribed_at", 19, Cell::Time),
    ListColumn("Last seen", "last_seen_at", 19, Cell::Time),
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
        ContactsCommand::List { filter, sort, form } => {
            let mut rows = client.rows(LIST, json!(filter)).await?;
            if let Some(order) = sort {
                rows = sorted(rows, order, SORTED_MAX).await?;
            }
            print_rows(rows, &COLUMNS, form).await
        }
        ContactsCommand::Count { filter, form } => {
            let counted: Value = client.one(COUNT, json!(filter)).await?;
            let contacts = member(&counted, "contacts")?;
            show(form, &counted, |output| output.line(&contacts.to_string()))
        }
        ContactsCommand::Export(args) => export(&args, client).await,
        ContactsCommand::Import(args) => import(&args, client).await,
        ContactsCommand::Show { email, proof, form } => {
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
            show_members(SHOW, params, &members, form, client).await
        }
        ContactsCommand::Forget(args) => forget(args, client).await,
    }
}

/// The rows in this order, which is the admin page's, at most `limit`.
async fn sorted(
    mut rows: Lines<CommandError>,
    order: ContactOrder,
    most: usize,
) -> Result<Lines<CommandError>, CommandError> {
    let mut keyed = Vec::new();
    while let Some(lines) = rows.next().await {
        let lines = lines?;
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let row: ContactRow = serde_json::from_slice(line).map_err(other_version)?;
            let key = match order {
                ContactOrder::Newest | ContactOrder::Oldest => [row.subscribed_at, row.email],
                ContactOrder::AToZ | ContactOrder::ZToA => [row.email, String::new()],
            };
            keyed.push((key, lines.slice_ref(line)));
        }
        if keyed.len() > most {
            let most = grouped(most as u64);
            return Err(CommandError::Failed(format!(
                "more than {most} contacts cannot be sorted: narrow them down with --since and \
                 --until, or sort the output without --sort"
            )));
        }
    }
    // Addresses differ, so lines are never compared.
    keyed.sort_unstable();
    if matches!(order, ContactOrder::Newest | ContactOrder::ZToA) {
        keyed.reverse();
    }
    Ok(stream::iter(keyed).map(|(_, line)| Ok(line)).boxed())
}

async fn export(args: &ExportArgs, client: &Client) -> Result<Done, CommandError> {
    let mut file = if args.output == Path::new("-") {
        None
    } else {
        Some(PartFile::create(&SystemFiles, &args.output, args.force)?)
    };
    let format = format_of(args.format, &args.output);
    let mut filter = args.filter.clone();
    // The file's readers email everyone in it.
    filter
        .status
        .get_or_insert_with(|| ContactStatus::Subscribed.as_str().to_owned());
    let rows = client.rows(LIST, json!(filter)).await?;
    let header = (format == FileFormat::Csv).then(contact_csv::header);
    let header = header.map(|header| header.map_err(CommandError::from));
    let mut pieces = stream::iter(header).chain(rows);
    let mut output = Output::new(OutputForm { json: false });
    let (mut contacts, mut is_header) = (0, format == FileFormat::Csv);
    while let Some(piece) = pieces.next().await {
        let mut piece = piece?;
        if !std::mem::take(&mut is_header) {
            contacts += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
            if format == FileFormat::Csv {
                piece = contact_csv::of_json_lines(&piece)?;
            }
        }
        match &mut file {
            Some(file) => file.append(&piece)?,
            None => output.bytes(&piece)?,
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
    let format = format_of(args.format, &args.file);
    let (rows, mut end) = contact_file::open(&args.file, format, args.columns.clone()).await?;
    let params = json!({"unforget": args.unforget});
    let answered: Result<ImportReport, _> = client.send(IMPORT, params, rows).await;
    // The file's error comes first: the service's may be a consequence of it.
    let ignored = end.try_recv().ok().transpose()?.unwrap_or_default();
    let mut report = answered?;
    report.ignored_columns = ignored.into_iter().take(NAMED_MAX).collect();
    for name in &report.ignored_columns {
        note(&format!("ignored: {}", name.escape_debug()));
    }
    show(args.form, &report, |output| print_import(output, &report))?;
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
    show(args.consent.form, &report, |output| {
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

/// The format given by a flag, or by the file's extension.
fn format_of(given: Option<FileFormat>, file: &Path) -> FileFormat {
    given.unwrap_or_else(|| match file.extension().and_then(OsStr::to_str) {
        Some("jsonl" | "ndjson") => FileFormat::Jsonl,
        _ => FileFormat::Csv,
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::TryStreamExt as _;

    use super::*;

    #[tokio::test]
    async fn as_many_contacts_are_sorted_as_may_be_in_memory_and_no_more() {
        let row = |name: &str| {
            let time = "2026-11-23T02:24:50Z";
            format!(
                r#"{{"email":"{name}","subscribed_at":"{time}","last_seen_at":"{time}","status":""}}"#
            )
        };
        let sort = async |most| {
            let pages = [["b", "d"], ["c", "a"]];
            let pages = pages.map(|names| Ok(names.map(|name| row(name) + "\n").concat().into()));
            let lines = sorted(stream::iter(pages).boxed(), ContactOrder::Newest, most).await?;
            let lines: Vec<Bytes> = lines.try_collect().await?;
            Ok::<_, CommandError>(lines)
        };
        let expected = ["d", "c", "b", "a"].map(|name| row(name) + "\n");
        assert_eq!(sort(4).await.unwrap(), expected);
        let refused = sort(3).await.unwrap_err().to_string();
        assert!(refused.contains("more than 3 contacts"), "{refused}");
    }
}
