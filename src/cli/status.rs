//! The status of the service.

use std::path::Path;
use std::time::Duration;

use indicatif::HumanBytes;
use tokio::time::sleep;

use crate::adapters::data_dir::sizes;
use crate::config::OutputForm;
use crate::operator::status::{CountRow, FileSize, HourRow, SHOW, ServiceStatus, StatusReport};

use super::client::Client;
use super::outcome::{CommandError, Done};
use super::output::{Output, grouped, number, short_minute, short_time, text};

/// How often the status is shown anew.
const PAUSE: Duration = Duration::from_secs(2);
/// The longest bar of a chart.
const BAR_CHARS: u64 = 24;
/// Erases a terminal.
const ERASE: &str = "\x1b[H\x1b[2J";

/// Shows the status of the service, `watch` until the command is stopped, and what there is in `data_dir`.
pub(super) async fn run(
    watch: bool,
    form: OutputForm,
    data_dir: Option<&Path>,
    client: &Client,
) -> Result<Done, CommandError> {
    let mut output = Output::new(form);
    loop {
        let report = report(data_dir, client).await?;
        if output.is_json {
            output.json(&report)?;
        } else {
            if watch {
                output.bytes(ERASE.as_bytes())?;
            }
            print(&mut output, &report)?;
        }
        output.flush()?;
        // While the command itself has a stopped directory open, no service could start on it.
        if !watch || !report.is_running {
            return Ok(Done::Whole);
        }
        sleep(PAUSE).await;
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

fn print(output: &mut Output, report: &StatusReport) -> Result<(), CommandError> {
    match &report.service {
        Some(service) => print_service(output, &report.version, service)?,
        None => output.fields(&[
            ("Service", "does not run"),
            ("Version", &format!("{} of this program", report.version)),
        ])?,
    }
    output.line("")?;
    output.heading("Last 24 hours (UTC)")?;
    print_hours(output, &report.hours)?;
    if report.files.is_empty() {
        return Ok(());
    }
    output.line("")?;
    let files = report.files.iter();
    let files: Vec<_> = files
        .map(|file| vec![file.name.clone(), size(file.bytes)])
        .collect();
    output.table(&[text("On disk"), number("Size")], &files)
}

fn print_service(
    output: &mut Output,
    version: &str,
    service: &ServiceStatus,
) -> Result<(), CommandError> {
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
    let windows = service.windows.map(|windows| grouped(windows as u64));
    let memory = service.memory_bytes.map(size);
    let error = service.last_error.as_ref();
    let error = error.map(|it| format!("{} {}", short_time(&it.at), it.text));
    output.fields(&[
        ("Service", &*runs),
        ("Version", version),
        ("Stores", stores),
        ("Requests", &counts(&service.requests)),
        ("Refusals", &counts(&service.refusals)),
        ("Windows", &windows.unwrap_or_else(|| "unknown".to_owned())),
        ("Memory", &memory.unwrap_or_else(|| "unknown".to_owned())),
        ("Last error", &error.unwrap_or_else(|| "none".to_owned())),
    ])?;
    for engine in &service.engines {
        let state = if engine.is_away { "away" } else { "answers" };
        let state = format!("{state}; lost {} times since the start", engine.losses);
        output.fields(&[(&*format!("Engine: {}", engine.name), &*state)])?;
    }
    Ok(())
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

/// Prints a bar chart of sign-ups and chats.
fn print_hours(output: &mut Output, hours: &[HourRow]) -> Result<(), CommandError> {
    if hours.is_empty() {
        return output.line("unknown: the counts cannot be read");
    }
    let most = |value: fn(&HourRow) -> u64| hours.iter().map(value).max().unwrap_or_default();
    let (sign_ups, chats) = (most(|hour| hour.sign_ups), most(|hour| hour.chats));
    if (sign_ups, chats) == (0, 0) {
        return output.line("no sign-ups and no chats");
    }
    output.heading("Hour   Sign-ups                        Chats")?;
    for hour in hours {
        let name = hour.hour.rsplit('T').next().unwrap_or_default();
        let left = format!(
            "{:>5} {}",
            grouped(hour.sign_ups),
            bar(hour.sign_ups, sign_ups)
        );
        let right = format!("{:>5} {}", grouped(hour.chats), bar(hour.chats, chats));
        let line = format!("{name}:00  {left:30}  {right}");
        output.line(line.trim_end())?;
    }
    Ok(())
}

/// A bar, the longest for `most`. What is not nothing has one.
fn bar(value: u64, most: u64) -> String {
    let chars = value.saturating_mul(BAR_CHARS).div_ceil(most.max(1));
    "#".repeat(usize::try_from(chars).unwrap_or_default())
}

/// A size for people.
fn size(bytes: u64) -> String {
    HumanBytes(bytes).to_string()
}
