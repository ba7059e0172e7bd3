//! The service as a whole.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::hourly_counts::{Counted, Counts, Hour};
use crate::domain::time::Timestamp;
use crate::http::admin::reply::{self, AdminAnswer};
use crate::http::admin::request::AdminRequest;
use crate::metrics::process::process_usage;
use crate::metrics::{EngineHealth, Metrics, StatusClass};
use crate::usecases::hourly_counts;

/// How many hours are told.
const HOURS: u64 = 24;

/// The state of a service, as commands print it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusReport {
    /// Whether a service runs. If not, the command has opened the data directory itself.
    pub is_running: bool,
    /// The version of the service.
    pub version: String,
    /// What of a running service is known.
    pub service: Option<ServiceStatus>,
    /// The last 24 hours, oldest first. The last one is not over. None if they cannot be read.
    pub hours: Vec<HourRow>,
    /// The sizes of what the data directory holds.
    pub files: Vec<FileSize>,
}

/// The state of a running service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceStatus {
    /// When it started, in RFC 3339.
    pub started_at: Option<String>,
    /// For how long it has run, in seconds.
    pub uptime_s: Option<u64>,
    /// Whether the stores take changes.
    pub takes_writes: bool,
    /// Requests since the start, by class of status; `none` if the client hung up.
    pub requests: Vec<CountRow>,
    /// Refusals since the start, by policy. Policies without any are left out.
    pub refusals: Vec<CountRow>,
    /// The limiter's windows in memory.
    pub windows: Option<usize>,
    /// The engines that all nodes share.
    #[serde(default)]
    pub engines: Vec<EngineRow>,
    /// Memory in RAM, in bytes.
    pub memory_bytes: Option<u64>,
    /// The newest warning or error in the log.
    pub last_error: Option<LastErrorRow>,
}

/// An engine that all nodes share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineRow {
    /// `store` or `limits`.
    pub name: String,
    /// Whether it does not answer.
    pub is_away: bool,
    /// How often it stopped to answer, since the start.
    pub losses: u64,
}

/// A number and what it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountRow {
    /// What it counts.
    pub name: String,
    /// The number.
    pub count: u64,
}

/// What happened in an hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourRow {
    /// The hour of UTC, such as `2026-11-23T01`.
    pub hour: String,
    /// Sign-ups of new addresses.
    pub sign_ups: u64,
    /// Chat turns that were answered.
    pub chats: u64,
    /// Requests.
    pub requests: u64,
}

/// The size of a file or a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSize {
    /// Its name in the data directory.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastErrorRow {
    /// When it was written, in RFC 3339.
    pub at: String,
    /// Its text.
    pub text: String,
}

/// Tells the status. The command adds the sizes of files, and whether a service runs.
pub(in crate::http::admin) async fn show(request: AdminRequest) -> AdminAnswer {
    let app = Arc::clone(&request.app);
    let now = app.clock.now();
    let takes_writes = app.takes_writes().await;
    let this_hour = Hour::of(now);
    let since = this_hour.minus(HOURS - 1);
    let counted = hourly_counts::list(&*app.counts, &app.metrics, since, now).await;
    // While the store is away, all else is worth knowing.
    let hours = counted.ok().map(|counted| {
        let hours = (0..HOURS).rev().map(|ago| {
            let hour = this_hour.minus(ago);
            let found = counted.iter().find(|it| it.hour == hour);
            hour_row(hour, found.map(|it| it.counts).unwrap_or_default())
        });
        hours.collect()
    });
    let service = ServiceStatus {
        windows: app.limiter.stats().map(|stats| stats.windows),
        ..service(&app.metrics, takes_writes, now)
    };
    reply::json(&StatusReport {
        is_running: true,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        service: Some(service),
        hours: hours.unwrap_or_default(),
        files: Vec::new(),
    })
}

fn hour_row(hour: Hour, counts: Counts) -> HourRow {
    HourRow {
        hour: hour.name(),
        sign_ups: counts.get(Counted::SignUps),
        chats: counts.get(Counted::Chats),
        requests: counts.get(Counted::Requests),
    }
}

fn engine_row((name, health): (&'static str, &EngineHealth)) -> EngineRow {
    EngineRow {
        name: name.to_owned(),
        is_away: health.is_away(),
        losses: health.losses.get(),
    }
}

fn service(metrics: &Metrics, takes_writes: bool, now: Timestamp) -> ServiceStatus {
    let usage = process_usage();
    let requests = StatusClass::ALL.map(|class| CountRow {
        name: class.as_str().to_owned(),
        count: metrics
            .endpoints()
            .iter()
            .map(|it| it.requests(class))
            .sum(),
    });
    let refusals = metrics.policies().map(|(policy, it)| CountRow {
        name: policy.as_str().to_owned(),
        count: it.refused.get(),
    });
    ServiceStatus {
        started_at: usage.map(|usage| usage.started_at.to_rfc3339()),
        uptime_s: usage.map(|usage| now.ms_since(usage.started_at) / 1000),
        takes_writes,
        requests: requests.into(),
        refusals: refusals.filter(|row| row.count > 0).collect(),
        windows: None,
        engines: metrics.engines().map(engine_row).collect(),
        memory_bytes: usage.map(|usage| usage.resident_bytes),
        last_error: metrics.last_error().map(|error| LastErrorRow {
            at: error.at.to_rfc3339(),
            text: error.text,
        }),
    }
}
