//! The status of the service.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;

use indicatif::{HumanBytes, HumanDuration};
use tokio::time::sleep;

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
use super::output::{Output, grouped, short_minute, short_time};

/// Refresh interval of the status.
const PAUSE: Duration = Duration::from_secs(2);
/// Switches a terminal to an empty second screen, and back to the first one, unchanged.
const SCREENS: [&str; 2] = ["\x1b[?1049h\x1b[H\x1b[2J", "\x1b[?1049l"];

/// Shows the status of the service of `args`, with `watch` until the command is stopped.
pub(super) async fn run(
    watch: bool,
    form: OutputForm,
    args: &Args,
    client: &Client,
) -> Result<Done, CommandError> {
    let dir = args.data_dir.as_deref();
    // A stopped directory is locked while it is watched: no service could start on it. Shared engines are
    // not.
    let watch = watch && (client.is_running() || dir.is_none());
    let mut output = Output::new(form);
    let has_screen = watch && !form.json && io::stdout().is_terminal();
    let _screen = has_screen.then(|| SecondScreen);
    loop {
        let report = report(dir, client).await?;
        if has_screen {
            output.control(SCREENS[0])?;
        }
        match form.json {
            true => output.json(&report)?,
            false => print(&mut output, &report, no_service(args))?,
        }
        output.flush()?;
        if !watch {
            return Ok(Done::Whole);
        }
        sleep(PAUSE).await;
    }
}

/// The terminal's second screen. Dropping it switches back to the first one.
struct SecondScreen;

impl Drop for SecondScreen {
    fn drop(&mut self) {
        let mut stdout = io::stdout();
        // Fails only if nobody sees it.
        let _ = stdout.write_all(SCREENS[1].as_bytes());
        let _ = stdout.flush();
    }
}

async fn report(data_dir: Option<&Path>, client: &Client) -> Result<StatusReport, CommandError> {
    let report: StatusReport = client.one(&SHOW, serde_json::json!({})).await?;
    let sizes = data_dir.map(sizes).transpose()?.unwrap_or_default();
    let is_running = client.is_running();
    Ok(StatusReport {
        is_running,
        service: report.service.filter(|_| is_running),
        files: sizes
            .into_iter()
            .map(|(name, bytes)| FileSize { name, bytes })
            .collect(),
        ..report
    })
}

/// The message if no service answers. Others may run on a store shared by several nodes.
fn no_service(args: &Args) -> &'static str {
    match (&args.engines.store, &args.data_dir) {
        (None, _) => "does not run",
        (Some(_), Some(_)) => "does not run on this data directory; below: all nodes",
        (Some(_), None) => "not asked, without a --data-dir; below: all nodes",
    }
}

fn print(output: &mut Output, report: &StatusReport, no_service: &str) -> Result<(), CommandError> {
    let mut fields = match &report.service {
        Some(service) => fields(&report.version, service),
        None => vec![
            ("Service", no_service.to_owned()),
            ("Version", format!("{} of this program", report.version)),
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
    let uptime = service.uptime_s.unwrap_or_default();
    let (days, hours, minutes) = (uptime / 86_400, uptime / 3600 % 24, uptime / 60 % 60);
    let runs = match since {
        Some(since) => format!("runs since {since} UTC: {days} d {hours} h {minutes} min"),
        None => "runs".to_owned(),
    };
    let stores = match service.takes_writes {
        true => "take changes",
        false => "take no changes: the log says why",
    };
    let paused = match service.is_model_paused {
        true => ", left alone for a while after failures",
        false => "",
    };
    let turns = counts(&service.chat_turns).replace('_', " ");
    let unknown = || "unknown".to_owned();
    let windows = service.windows.map(|windows| grouped(windows as u64));
    let memory = service.memory_bytes.map(size);
    let mut fields = vec![
        ("Service", runs),
        ("Version", version.to_owned()),
        ("Stores", stores.to_owned()),
        (
            "Model",
            format!("{}{paused}; chat turns: {turns}", service.model),
        ),
    ];
    if !service.failing_workers.is_empty() {
        let failing = service.failing_workers.join(", ");
        fields.push(("Failing", format!("{failing}: restarted; see the log")));
    }
    if let Some(until) = &service.certificate_expires_at {
        let days = Timestamp::parse(until).map(|end| end.ms_since(SystemClock.now()) / DAY_MS);
        let days = days.unwrap_or_default();
        let until = format!("valid until {} UTC: {days} days", short_minute(until));
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
        let ago = HumanDuration(Duration::from_millis(ago.unwrap_or_default()));
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
        words.push(format!(
            "{} of them to be confirmed",
            grouped(contacts.pending)
        ));
    }
    if contacts.unsubscribed > 0 {
        words.push(format!(
            "{} of them unsubscribed",
            grouped(contacts.unsubscribed)
        ));
    }
    words.join(", ")
}

/// State of an engine. A command has not watched it.
fn engine(engine: &EngineRow, is_watched: bool) -> String {
    let state = if engine.is_away { "away" } else { "answers" };
    let (name, losses) = (&engine.name, engine.losses);
    match is_watched {
        true => format!("{name} {state}; lost {losses} times since the start"),
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
    format!("{mails} mails taken, {pages} pages shown, {confirmed} confirmed")
}

/// State of a channel's queue.
fn deliveries(queue: &QueueRow) -> String {
    let oldest = queue.oldest_at.as_deref().map(short_minute);
    let oldest = oldest.map_or_else(String::new, |time| format!(", the oldest since {time} UTC"));
    let held = match queue.is_held {
        true => "; held: `queue release` lets them leave",
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
    format!("{channel}: {waiting} waiting{oldest}, {given_up} given up{held}{paused}")
}

/// Outcome of the last order of a certificate.
fn certificate_order(order: &CertificateOrderRow) -> String {
    let next = short_minute(&order.next_at);
    let last = order.at.as_deref().map(short_minute);
    match (last, &order.error) {
        (None, _) => "no certificate was ordered yet".to_owned(),
        (Some(last), None) => {
            format!("a certificate was given at {last} UTC; the next order is at {next}")
        }
        (Some(last), Some(error)) => {
            let failures = order.failures;
            let error = in_words(error);
            format!(
                "no certificate was given at {last} UTC, {failures} times in a row: {error}; the next order is at {next}"
            )
        }
    }
}

/// Total activity of `hours`.
fn in_all(hours: &[HourRow]) -> String {
    if hours.is_empty() {
        return "unknown: the counts cannot be read".to_owned();
    }
    let sum = |value: fn(&HourRow) -> u64| grouped(hours.iter().map(value).sum());
    let (sign_ups, chats) = (sum(|hour| hour.sign_ups), sum(|hour| hour.chats));
    let requests = sum(|hour| hour.requests);
    format!("{sign_ups} sign-ups, {chats} chats, {requests} requests")
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
