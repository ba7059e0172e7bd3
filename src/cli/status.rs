//! The status of the service.

use indicatif::HumanBytes;

use crate::adapters::files::data_dir::sizes;
use crate::adapters::system::SystemClock;
use crate::config::{Args, OutputForm};
use crate::domain::{DAY_MS, Timestamp, in_words};
use crate::operator::queue::QueueRow;
use crate::operator::status::{
    CertificateOrderRow, ConfirmationsRow, ContactsRow, CountRow, EngineRow, FileSize, HourRow,
    SHOW, ServiceStatus, StatusReport,
};
use crate::ports::Clock as _;

use super::client::Client;
use super::outcome::{CommandError, Done};
use super::output::{Output, grouped, plural, short_minute, short_time, show, span};

/// Shows the status of the service of `args`.
pub(super) async fn run(
    form: OutputForm,
    args: &Args,
    client: &Client,
) -> Result<Done, CommandError> {
    let report: StatusReport = client.one(SHOW, serde_json::json!({})).await?;
    let sizes = args.data_dir.as_deref().map(sizes).transpose()?;
    let sizes = sizes.unwrap_or_default().into_iter();
    let is_running = client.is_running();
    let report = StatusReport {
        is_running,
        service: report.service.filter(|_| is_running),
        files: sizes
            .map(|(name, bytes)| FileSize { name, bytes })
            .collect(),
        ..report
    };
    show(form, &report, |output| {
        print(output, &report, no_service(args))
    })
}

/// The message if no service answers. Others may run on a store shared by several nodes.
fn no_service(args: &Args) -> &'static str {
    match (&args.engines.store, &args.data_dir) {
        (None, _) => "not running",
        (Some(_), Some(_)) => "not running on this data directory; below: all nodes",
        (Some(_), None) => "not checked, without a --data-dir; below: all nodes",
    }
}

fn print(output: &mut Output, report: &StatusReport, no_service: &str) -> Result<(), CommandError> {
    let mut fields = match &report.service {
        Some(service) => fields(&report.version, service),
        None => vec![
            ("Service", no_service.to_owned()),
            ("Version", format!("{} (this program)", report.version)),
        ],
    };
    if let Some(nodes) = report.nodes {
        fields.push(("Nodes", grouped(nodes)));
    }
    let engines = report.engines.iter();
    fields.extend(engines.map(|row| ("Engine", engine(row, report.is_running))));
    let used = |q: &&QueueRow| q.waiting + q.given_up > 0 || q.is_held || q.paused_until.is_some();
    let queues = report.queues.iter().filter(used);
    fields.extend(queues.map(|queue| ("Deliveries", deliveries(queue))));
    if let Some(contacts) = &report.contacts {
        fields.push(("Contacts", in_statuses(contacts)));
    }
    fields.push(("Last 24 h", in_all(&report.hours)));
    let files = report.files.iter();
    let files: Vec<_> = files
        .map(|file| format!("{} {}", file.name, size(file.bytes)))
        .collect();
    if !files.is_empty() {
        fields.push(("On disk", files.join(", ")));
    }
    output.fields(&fields)
}

fn fields(version: &str, service: &ServiceStatus) -> Vec<(&'static str, String)> {
    let since = service.started_at.as_deref().map(short_minute);
    let uptime = span(service.uptime_s.unwrap_or_default());
    let runs = match since {
        Some(since) => format!("running for {uptime}, since {since} UTC"),
        None => "running".to_owned(),
    };
    let stores = match service.takes_writes {
        true => "writable",
        false => "read-only: see the log",
    };
    let paused = match service.is_model_paused {
        true => ", paused after failures",
        false => "",
    };
    let turns = counts(&service.chat_turns).replace('_', " ");
    let unknown = || "unknown".to_owned();
    let windows = service.windows.map(|windows| grouped(windows as u64));
    let memory = service.memory_bytes.map(size);
    let mut fields = vec![
        ("Service", runs),
        ("Version", version.to_owned()),
        ("Storage", stores.to_owned()),
        (
            "Model",
            format!("{}{paused}; chat turns: {turns}", service.model),
        ),
    ];
    if !service.failing_workers.is_empty() {
        let failing = service.failing_workers.join(", ");
        fields.push(("Failing", format!("{failing}: restarting; see the log")));
    }
    if let Some(until) = &service.certificate_expires_at {
        let days = Timestamp::parse(until).map(|end| end.ms_since(SystemClock.now()) / DAY_MS);
        let days = plural(days.unwrap_or_default(), "day");
        let until = format!("valid until {} UTC ({days})", short_minute(until));
        fields.push(("Certificate", until));
    }
    if let Some(order) = &service.certificate_order {
        fields.push(("Order", certificate_order(order)));
    }
    if let Some(confirmations) = &service.confirmations {
        fields.push(("Opt-in", opt_in(confirmations)));
    }
    let error = service.last_error.as_ref().map(|error| {
        let ago = Timestamp::parse(&error.at).map(|at| SystemClock.now().ms_since(at));
        let ago = span(ago.unwrap_or_default() / 1000);
        format!(
            "{}, {ago} ago: {}",
            short_time(&error.at),
            in_words(&error.text)
        )
    });
    fields.extend([
        ("Requests", counts(&service.requests)),
        ("Refusals", counts(&service.refusals)),
        ("Windows", windows.unwrap_or_else(unknown)),
        ("Memory", memory.unwrap_or_else(unknown)),
        ("Last error", error.unwrap_or_else(|| "none".to_owned())),
    ]);
    fields
}

/// Number of contacts, and of those that get no newsletter.
fn in_statuses(contacts: &ContactsRow) -> String {
    let mut words = vec![grouped(contacts.total)];
    if contacts.pending > 0 {
        words.push(format!("{} unconfirmed", grouped(contacts.pending)));
    }
    if contacts.unsubscribed > 0 {
        words.push(format!("{} unsubscribed", grouped(contacts.unsubscribed)));
    }
    words.join(", ")
}

/// State of an engine. A command has not watched it.
fn engine(engine: &EngineRow, is_watched: bool) -> String {
    let state = if engine.is_away { "down" } else { "up" };
    let (name, losses) = (&engine.name, plural(engine.losses, "outage"));
    match is_watched {
        true => format!("{name} {state}; {losses} since the start"),
        false => format!("{name} {state}"),
    }
}

/// Confirmation rates of double opt-in.
fn opt_in(confirmations: &ConfirmationsRow) -> String {
    let ConfirmationsRow {
        mails_taken,
        pages_shown,
        confirmed,
    } = confirmations;
    let [mails, pages, confirmed] = [mails_taken, pages_shown, confirmed].map(|n| grouped(*n));
    format!("confirmation emails sent {mails}, opened {pages}, confirmed {confirmed}")
}

/// State of a channel's queue.
fn deliveries(queue: &QueueRow) -> String {
    let oldest = queue.oldest_at.as_deref().map(short_minute);
    let oldest = oldest.map_or_else(String::new, |time| format!(" since {time} UTC"));
    let held = match queue.is_held {
        true => "; on hold until `queue release`",
        false => "",
    };
    let (waiting, given_up) = (grouped(queue.waiting), grouped(queue.given_up));
    let channel = &queue.channel;
    let paused = queue
        .paused_until
        .as_deref()
        .zip(queue.pause_reason.as_deref());
    let paused = paused.map_or_else(String::new, |(until, reason)| {
        let (until, reason) = (short_minute(until), in_words(reason));
        format!("; paused until {until} UTC: {reason}")
    });
    format!("{channel}: {waiting} pending{oldest}, {given_up} failed{held}{paused}")
}

/// Outcome of the last order of a certificate.
fn certificate_order(order: &CertificateOrderRow) -> String {
    let next = short_minute(&order.next_at);
    let last = order.at.as_deref().map(short_minute);
    match (last, &order.error) {
        (None, _) => "no certificate has been ordered yet".to_owned(),
        (Some(last), None) => {
            format!("certificate issued at {last} UTC; next order at {next}")
        }
        (Some(last), Some(error)) => {
            let failures = plural(order.failures.into(), "time");
            let error = in_words(error);
            format!("failed {failures} in a row, last at {last} UTC: {error}; next order at {next}")
        }
    }
}

/// Total activity of `hours`.
fn in_all(hours: &[HourRow]) -> String {
    if hours.is_empty() {
        return "unknown: the counts are unreadable".to_owned();
    }
    let sum = |value: fn(&HourRow) -> u64, noun: &str| plural(hours.iter().map(value).sum(), noun);
    let sign_ups = sum(|hour| hour.sign_ups, "sign-up");
    let chats = sum(|hour| hour.chats, "chat");
    let requests = sum(|hour| hour.requests, "request");
    format!("{sign_ups}, {chats}, {requests}")
}

fn counts(rows: &[CountRow]) -> String {
    let rows = rows.iter().filter(|row| row.count > 0);
    let rows: Vec<_> = rows
        .map(|row| format!("{} {}", row.name, grouped(row.count)))
        .collect();
    if rows.is_empty() {
        return "none".to_owned();
    }
    rows.join(", ")
}

/// A size for people.
fn size(bytes: u64) -> String {
    HumanBytes(bytes).to_string()
}
