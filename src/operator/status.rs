//! State of the whole service.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::app::App;
use crate::domain::{
    Channel, ChannelPause, Counted, Counts, Hour, HourlyCounts, QueueStanding, Timestamp,
};
use crate::metrics::process::{DiskSpace, ProcessUsage, process_usage};
use crate::metrics::{CertificateOrder, LIMITS_ENGINE, LastError, StatusClass};
use crate::ports::{LimiterStats, StoreError};

use super::operation::{Answer, OperatorError, OperatorRequest};
use super::queue::QueueRow;

pub const SHOW: &str = "status";
pub const FLAGS: &str = "flags show";

/// Maximum wait for the disk. The space of a hanging disk is unknown.
const DISK_DEADLINE: Duration = Duration::from_secs(2);

/// Maximum wait for the numbers of contacts and nodes: a database takes a while to count many.
const COUNT_DEADLINE: Duration = Duration::from_secs(2);

/// Hours shown by `status`.
const HOURS: u64 = 24;

/// A snapshot of a service. `status`, the overview and `/metrics` read it.
#[derive(Debug)]
pub(super) struct Status {
    pub(super) app: Arc<App>,
    pub(super) now: Timestamp,
    /// True if the stores are writable, and the limiter can decide.
    pub(super) takes_writes: bool,
    pub(super) limiter: Option<LimiterStats>,
    pub(super) process: Option<ProcessUsage>,
    pub(super) disk: Option<DiskSpace>,
    /// State of the channels' queues, as far as the store reports it in time.
    pub(super) queues: Vec<(Channel, QueueStanding)>,
}

impl Status {
    pub(super) async fn of(app: &Arc<App>) -> Self {
        let metrics = Arc::clone(&app.metrics);
        let disk = timeout(DISK_DEADLINE, spawn_blocking(move || metrics.disk_space())).await;
        let mut queues = Vec::new();
        for channel in Channel::ALL {
            let standing = app.deliveries.standing(channel).await;
            queues.extend(standing.ok().map(|queue| (channel, queue)));
        }
        Self {
            now: app.clock.now(),
            takes_writes: app.takes_writes(),
            limiter: app.limiter.stats(),
            process: process_usage(),
            disk: disk.ok().and_then(Result::ok).flatten(),
            queues,
            app: Arc::clone(app),
        }
    }

    fn service(&self) -> ServiceStatus {
        let metrics = &self.app.metrics;
        let requests = StatusClass::ALL.map(|class| {
            let endpoints = metrics.endpoints().iter();
            let count = endpoints.map(|endpoint| endpoint.requests(class)).sum();
            CountRow::new(class.as_str(), count)
        });
        let policies = metrics.policies().map(|(policy, decided)| DecisionRow {
            policy: policy.as_str().to_owned(),
            admitted: decided.admitted.get(),
            refused: decided.refused.get(),
            refunded: decided.refunded.get(),
        });
        let policies: Vec<_> = policies.collect();
        let refusals = policies.iter().filter(|row| row.refused > 0);
        let turns = metrics.model.by_outcome();
        let (process, disk, limiter) = (&self.process, &self.disk, &self.limiter);
        ServiceStatus {
            started_at: process.map(|process| process.started_at.to_rfc3339()),
            uptime_s: process.map(|process| self.now.ms_since(process.started_at) / 1000),
            takes_writes: self.takes_writes,
            failing_workers: metrics
                .workers
                .failing()
                .map(|worker| worker.as_str().to_owned())
                .collect(),
            requests: requests.into(),
            refusals: refusals
                .map(|row| CountRow::new(&row.policy, row.refused))
                .collect(),
            windows: limiter.map(|limiter| limiter.windows),
            memory_bytes: process.map(|process| process.resident_bytes),
            last_error: metrics.last_error.get().map(LastErrorRow::from),
            certificate_expires_at: metrics
                .tls
                .validity
                .get()
                .map(|range| range.end.to_rfc3339()),
            certificate_order: metrics.tls.order.get().map(CertificateOrderRow::from),
            policies,
            chat_turns: turns
                .map(|(outcome, count)| CountRow::new(outcome, count))
                .collect(),
            model: self.app.model.name().to_owned(),
            is_model_paused: self.app.model.is_paused(),
            model_error: metrics.model.last_error.get().map(LastErrorRow::from),
            open_files: process.map(|process| process.open_files),
            open_files_max: process.and_then(|process| process.open_files_max),
            disk_free_bytes: disk.map(|disk| disk.free_bytes),
            disk_bytes: disk.map(|disk| disk.size_bytes),
            // A node whose records are elsewhere has none.
            ledger_bytes: metrics.ledger.bytes.get(),
            windows_max: limiter.map(|limiter| limiter.windows_max),
            windows_bytes: limiter.map(|limiter| limiter.disk_bytes),
            confirmations: self.app.settings.opt_in_ms.map(|_| ConfirmationsRow {
                mails_taken: metrics.deliveries.of(Channel::Mail).made.get(),
                pages_shown: metrics.confirmations.shown.get(),
                confirmed: metrics.confirmations.given.get(),
            }),
        }
    }

    fn queue_rows(&self) -> Vec<QueueRow> {
        let queues = self.queues.iter();
        let row = |(channel, standing): &(Channel, QueueStanding)| {
            let pause = self.pause(*channel);
            QueueRow::new(*channel, standing, pause)
        };
        queues.map(row).collect()
    }

    /// Why this service attempts no delivery of a channel.
    pub(super) fn pause(&self, channel: Channel) -> Option<ChannelPause> {
        self.app.metrics.deliveries.of(channel).pause_at(self.now)
    }

    fn engine_rows(&self) -> Vec<EngineRow> {
        let engines = self.app.metrics.engines();
        // When the limits' engine is unavailable, a running service counts by itself. A command counts
        // nothing, and asks the engine.
        let is_limiter_away = self.app.limiter.check().is_err();
        let engines = engines.map(|(name, health)| EngineRow {
            name: name.to_owned(),
            is_away: health.is_away() || name == LIMITS_ENGINE && is_limiter_away,
            losses: health.losses.get(),
        });
        engines.collect()
    }
}

/// State of a service, as printed by `status --json`. Times are in RFC 3339.
#[derive(Debug, Serialize, Deserialize)]
pub struct StatusReport {
    /// True if a service answered. If not, the command has opened the stores itself.
    pub is_running: bool,
    /// The version of the service.
    pub version: String,
    /// Details of a running service.
    pub service: Option<ServiceStatus>,
    /// Number of nodes on the store. `None` if unknown, or if the store has a single node.
    pub nodes: Option<u64>,
    /// The engines that all nodes share.
    pub engines: Vec<EngineRow>,
    /// Queues by channel, as far as the store reports them in time.
    pub queues: Vec<QueueRow>,
    /// Number of contacts. `None` if the store doesn't report it in time.
    pub contacts: Option<ContactsRow>,
    /// The last 24 hours, oldest first; the last one isn't over. `None` if they can't be read.
    pub hours: Vec<HourRow>,
    /// Sizes of the data directory's contents.
    pub files: Vec<FileSize>,
}

/// State of a running service. Counts are since the start; `None` is unknown.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServiceStatus {
    pub started_at: Option<String>,
    pub uptime_s: Option<u64>,
    /// True if the stores are writable.
    pub takes_writes: bool,
    /// Workers that have ended, and are being restarted.
    pub failing_workers: Vec<String>,
    /// Requests by class of status; `none` if the client hung up.
    pub requests: Vec<CountRow>,
    /// Refusals by policy. Policies without any are left out.
    pub refusals: Vec<CountRow>,
    /// The limiter's windows in memory.
    pub windows: Option<usize>,
    /// Resident memory.
    pub memory_bytes: Option<u64>,
    /// When the certificate of the service's own TLS expires.
    pub certificate_expires_at: Option<String>,
    /// The last order of that certificate, if the service orders it.
    pub certificate_order: Option<CertificateOrderRow>,
    /// Newest warning or error in the log.
    pub last_error: Option<LastErrorRow>,
    pub policies: Vec<DecisionRow>,
    /// Chat turns by outcome.
    pub chat_turns: Vec<CountRow>,
    /// The model that answers visitors.
    pub model: String,
    /// True if the model is paused after failures.
    pub is_model_paused: bool,
    /// Its last failure.
    pub model_error: Option<LastErrorRow>,
    pub open_files: Option<u64>,
    pub open_files_max: Option<u64>,
    pub disk_free_bytes: Option<u64>,
    pub disk_bytes: Option<u64>,
    pub ledger_bytes: Option<u64>,
    pub windows_max: Option<usize>,
    /// Size of the windows on disk.
    pub windows_bytes: Option<u64>,
    /// `None` if contacts need not confirm.
    pub confirmations: Option<ConfirmationsRow>,
}

/// An engine shared by all nodes.
#[derive(Debug, Serialize, Deserialize)]
pub struct EngineRow {
    /// `store` or `limits`.
    pub name: String,
    /// True if it is unreachable.
    pub is_away: bool,
    /// Outages since the start.
    pub losses: u64,
}

/// A number and what it counts.
#[derive(Debug, Serialize, Deserialize)]
pub struct CountRow {
    pub name: String,
    pub count: u64,
}

impl CountRow {
    fn new(name: &str, count: u64) -> Self {
        let name = name.to_owned();
        Self { name, count }
    }
}

/// Decisions of a policy.
#[derive(Debug, Serialize, Deserialize)]
pub struct DecisionRow {
    pub policy: String,
    pub admitted: u64,
    pub refused: u64,
    pub refunded: u64,
}

/// Numbers of contacts.
#[derive(Debug, Serialize, Deserialize)]
pub struct ContactsRow {
    pub total: u64,
    /// Unconfirmed contacts.
    pub pending: u64,
    /// Unsubscribed contacts.
    pub unsubscribed: u64,
}

/// Confirmation rates of double opt-in, since the start.
#[derive(Debug, Serialize, Deserialize)]
pub struct ConfirmationsRow {
    /// Emails accepted by the relay.
    pub mails_taken: u64,
    /// Views of the confirmation page.
    pub pages_shown: u64,
    pub confirmed: u64,
}

/// Activity of an hour.
#[derive(Debug, Serialize, Deserialize)]
pub struct HourRow {
    /// The hour of UTC, such as `2026-11-23T01`.
    pub hour: String,
    /// Sign-ups of new addresses.
    pub sign_ups: u64,
    /// Chat turns answered.
    pub chats: u64,
    pub requests: u64,
}

/// The size of a file or a directory.
#[derive(Debug, Serialize, Deserialize)]
pub struct FileSize {
    /// Its name in the data directory.
    pub name: String,
    pub bytes: u64,
}

/// The last order of the service's own certificate, and the next one.
#[derive(Debug, Serialize, Deserialize)]
pub struct CertificateOrderRow {
    pub at: Option<String>,
    /// Failures in a row.
    pub failures: u32,
    /// Error of the last failure.
    pub error: Option<String>,
    pub next_at: String,
}

impl From<CertificateOrder> for CertificateOrderRow {
    fn from(order: CertificateOrder) -> Self {
        Self {
            at: order.at.map(Timestamp::to_rfc3339),
            failures: order.failures,
            error: order.error,
            next_at: order.next_at.to_rfc3339(),
        }
    }
}

/// A failure in the log.
#[derive(Debug, Serialize, Deserialize)]
pub struct LastErrorRow {
    pub at: String,
    pub text: String,
}

impl From<LastError> for LastErrorRow {
    fn from(error: LastError) -> Self {
        Self {
            at: error.at.to_rfc3339(),
            text: error.text,
        }
    }
}

/// Returns the flags, for commands that check them.
pub(super) async fn flags(request: OperatorRequest) -> Result<Answer, OperatorError> {
    Answer::one(&*request.flags)
}

/// Returns the status. The command adds `files` and `is_running`.
pub(super) async fn show(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let status = Status::of(&request.app).await;
    let this_hour = Hour::of(status.now);
    let counted = hours(&request.app, this_hour.minus(HOURS - 1), status.now);
    let nodes = timeout(COUNT_DEADLINE, request.app.maintenance.nodes());
    let (counted, contacts, nodes) = tokio::join!(counted, contacts(&request.app), nodes);
    // When the store is unavailable, everything else is still worth knowing.
    let rows = counted.map(|counted| {
        let hours = (0..HOURS).rev().map(|ago| this_hour.minus(ago));
        let row = |hour: Hour| {
            let found = counted.iter().find(|count| count.hour == hour);
            let counts = found.map(|count| count.counts).unwrap_or_default();
            HourRow {
                hour: hour.name(),
                sign_ups: counts.get(Counted::SignUps),
                chats: counts.get(Counted::Chats),
                requests: counts.get(Counted::Requests),
            }
        };
        hours.map(row).collect()
    });
    Answer::one(&StatusReport {
        is_running: true,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        service: Some(status.service()),
        nodes: nodes.ok().and_then(Result::ok).flatten(),
        engines: status.engine_rows(),
        queues: status.queue_rows(),
        contacts,
        hours: rows.unwrap_or_default(),
        files: Vec::new(),
    })
}

/// Numbers of contacts, unless the store takes long to count.
async fn contacts(app: &App) -> Option<ContactsRow> {
    let counts =
        async { tokio::try_join!(app.contacts.count(None, None), app.contacts.status_counts()) };
    let (total, statuses) = timeout(COUNT_DEADLINE, counts).await.ok()?.ok()?;
    Some(ContactsRow {
        total,
        pending: statuses.pending,
        unsubscribed: statuses.unsubscribed,
    })
}

/// The hours from `since` to `now` with any activity, oldest first, including the last minute, which isn't
/// stored yet.
pub(super) async fn hours(
    app: &App,
    since: Hour,
    now: Timestamp,
) -> Result<Vec<HourlyCounts>, StoreError> {
    let hour = Hour::of(now);
    let mut hours = app.counts.list(since, hour.next()).await?;
    let new = app.metrics.not_yet_counted();
    match hours.last_mut() {
        Some(last) if last.hour == hour => last.counts.add_all(&new),
        Some(_) | None if new == Counts::default() => {}
        Some(_) | None => hours.push(HourlyCounts { hour, counts: new }),
    }
    Ok(hours)
}
