//! The service as a whole.

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
use crate::metrics::{CertificateOrder, Counter, LIMITS_ENGINE, LastError, Metrics, StatusClass};
use crate::ports::{LimiterStats, StoreError};

use super::operation::{Answer, Operation, OperatorError, OperatorRequest};
use super::queue::QueueRow;

pub static SHOW: Operation = Operation::new("status", |request| Box::pin(show(request)));
pub static FLAGS: Operation = Operation::new("flags show", |request| Box::pin(flags(request)));

/// How long to wait for the disk. One that hangs is not known.
const DISK_DEADLINE: Duration = Duration::from_secs(2);

/// How long to wait for the numbers of contacts and nodes: a database counts many for a while.
const COUNT_DEADLINE: Duration = Duration::from_secs(2);

/// How many hours `status` shows.
const HOURS: u64 = 24;

/// What is known of a service at one instant. `status`, the overview and `/metrics` read it.
#[derive(Debug)]
pub(super) struct Status {
    pub(super) app: Arc<App>,
    pub(super) now: Timestamp,
    /// Whether the stores take changes, and the limiter can decide.
    pub(super) takes_writes: bool,
    pub(super) limiter: Option<LimiterStats>,
    pub(super) process: Option<ProcessUsage>,
    pub(super) disk: Option<DiskSpace>,
    /// How the channels of deliveries stand, as far as the store says soon.
    pub(super) queues: Vec<(Channel, QueueStanding)>,
}

impl Status {
    pub(super) async fn of(app: &Arc<App>) -> Self {
        Self {
            now: app.clock.now(),
            takes_writes: app.takes_writes(),
            limiter: app.limiter.stats(),
            process: process_usage(),
            disk: disk_space(&app.metrics).await,
            queues: queues(app).await,
            app: Arc::clone(app),
        }
    }

    fn service(&self) -> ServiceStatus {
        let metrics = &self.app.metrics;
        let requests = StatusClass::ALL.map(|class| {
            let endpoints = metrics.endpoints().iter();
            let count = endpoints.map(|it| it.requests(class)).sum();
            CountRow::new(class.as_str(), count)
        });
        let policies = metrics.policies().map(|(policy, it)| DecisionRow {
            policy: policy.as_str().to_owned(),
            admitted: it.admitted.get(),
            refused: it.refused.get(),
            refunded: it.refunded.get(),
        });
        let policies: Vec<_> = policies.collect();
        let refusals = policies.iter().filter(|row| row.refused > 0);
        let turns = metrics.model.by_outcome();
        let (process, disk, limiter) = (&self.process, &self.disk, &self.limiter);
        ServiceStatus {
            started_at: process.map(|it| it.started_at.to_rfc3339()),
            uptime_s: process.map(|it| self.now.ms_since(it.started_at) / 1000),
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
            windows: limiter.map(|it| it.windows),
            memory_bytes: process.map(|it| it.resident_bytes),
            last_error: metrics.last_error().map(LastErrorRow::from),
            certificate_expires_at: metrics.tls.validity().map(|it| it.end.to_rfc3339()),
            certificate_order: metrics.tls.order().map(CertificateOrderRow::from),
            policies,
            chat_turns: turns.map(CountRow::of).collect(),
            model: self.app.model.name().to_owned(),
            is_model_paused: self.app.model.is_paused(),
            model_error: metrics.model.last_error().map(LastErrorRow::from),
            open_files: process.map(|it| it.open_files),
            open_files_max: process.and_then(|it| it.open_files_max),
            disk_free_bytes: disk.map(|it| it.free_bytes),
            disk_bytes: disk.map(|it| it.size_bytes),
            // A node whose record is elsewhere has none.
            ledger_bytes: Some(metrics.ledger.bytes()).filter(|bytes| *bytes > 0),
            windows_max: limiter.map(|it| it.windows_max),
            windows_bytes: limiter.map(|it| it.disk_bytes),
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
        self.app.metrics.deliveries.of(channel).pause(self.now)
    }

    fn engine_rows(&self) -> Vec<EngineRow> {
        let engines = self.app.metrics.engines();
        // A service counts when the engine of the limits is away. A command counts nothing, and asks it.
        let is_limiter_away = self.app.limiter.check().is_err();
        let engines = engines.map(|(name, health)| EngineRow {
            name: name.to_owned(),
            is_away: health.is_away() || name == LIMITS_ENGINE && is_limiter_away,
            losses: health.losses.get(),
        });
        engines.collect()
    }
}

/// How the channels of deliveries stand.
async fn queues(app: &App) -> Vec<(Channel, QueueStanding)> {
    let mut queues = Vec::new();
    for channel in Channel::ALL {
        let standing = app.deliveries.standing(channel).await;
        queues.extend(standing.ok().map(|it| (channel, it)));
    }
    queues
}

/// What the disk of a service says soon.
async fn disk_space(metrics: &Arc<Metrics>) -> Option<DiskSpace> {
    let metrics = Arc::clone(metrics);
    let looked = timeout(DISK_DEADLINE, spawn_blocking(move || metrics.disk_space())).await;
    looked.ok()?.ok()?
}

/// The state of a service, as `status --json` prints it. Times are in RFC 3339.
#[derive(Debug, Serialize, Deserialize)]
pub struct StatusReport {
    /// Whether a service was asked. If not, the command has opened the stores itself.
    pub is_running: bool,
    /// The version of the service.
    pub version: String,
    /// What of a running service is known.
    pub service: Option<ServiceStatus>,
    /// How many nodes of the service work on the store. None if it is unknown, or the store is of one node.
    pub nodes: Option<u64>,
    /// The engines that all nodes share.
    pub engines: Vec<EngineRow>,
    /// What is to be delivered, by channel, as far as the store says soon.
    pub queues: Vec<QueueRow>,
    /// How many contacts there are. None if the store does not say soon.
    pub contacts: Option<ContactsRow>,
    /// The last 24 hours, oldest first. The last one is not over. None if they cannot be read.
    pub hours: Vec<HourRow>,
    /// The sizes of what the data directory holds.
    pub files: Vec<FileSize>,
}

/// The state of a running service. Counts are since the start; what is `None` is unknown.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServiceStatus {
    pub started_at: Option<String>,
    pub uptime_s: Option<u64>,
    /// Whether the stores take changes.
    pub takes_writes: bool,
    /// Workers that have ended, and are started again.
    pub failing_workers: Vec<String>,
    /// Requests by class of status; `none` if the client hung up.
    pub requests: Vec<CountRow>,
    /// Refusals by policy. Policies without any are left out.
    pub refusals: Vec<CountRow>,
    /// The limiter's windows in memory.
    pub windows: Option<usize>,
    /// Memory in RAM.
    pub memory_bytes: Option<u64>,
    /// When the certificate of the service's own TLS expires.
    pub certificate_expires_at: Option<String>,
    /// The last order of that certificate, if the service orders it.
    pub certificate_order: Option<CertificateOrderRow>,
    /// The newest warning or error in the log.
    pub last_error: Option<LastErrorRow>,
    pub policies: Vec<DecisionRow>,
    /// Chat turns by how they ended.
    pub chat_turns: Vec<CountRow>,
    /// What answers visitors.
    pub model: String,
    /// Whether the model is left alone after failures.
    pub is_model_paused: bool,
    /// Why it failed last.
    pub model_error: Option<LastErrorRow>,
    pub open_files: Option<u64>,
    pub open_files_max: Option<u64>,
    pub disk_free_bytes: Option<u64>,
    pub disk_bytes: Option<u64>,
    pub ledger_bytes: Option<u64>,
    pub windows_max: Option<usize>,
    /// What the windows take on disk.
    pub windows_bytes: Option<u64>,
    /// None if contacts need not confirm.
    pub confirmations: Option<ConfirmationsRow>,
}

/// An engine that all nodes share.
#[derive(Debug, Serialize, Deserialize)]
pub struct EngineRow {
    /// `store` or `limits`.
    pub name: String,
    /// Whether it does not answer.
    pub is_away: bool,
    /// How often it stopped to answer since the start.
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

    fn of((name, counter): (&str, &Counter)) -> Self {
        Self::new(name, counter.get())
    }
}

/// What was decided under a policy.
#[derive(Debug, Serialize, Deserialize)]
pub struct DecisionRow {
    pub policy: String,
    pub admitted: u64,
    pub refused: u64,
    pub refunded: u64,
}

/// How many contacts there are.
#[derive(Debug, Serialize, Deserialize)]
pub struct ContactsRow {
    pub total: u64,
    /// Those of them that are to be confirmed.
    pub pending: u64,
    /// Those of them that left.
    pub unsubscribed: u64,
}

/// What double opt-in costs, since the start.
#[derive(Debug, Serialize, Deserialize)]
pub struct ConfirmationsRow {
    /// Mails that the relay took.
    pub mails_taken: u64,
    /// How often the page with the button was shown.
    pub pages_shown: u64,
    pub confirmed: u64,
}

/// What happened in an hour.
#[derive(Debug, Serialize, Deserialize)]
pub struct HourRow {
    /// The hour of UTC, such as `2026-11-23T01`.
    pub hour: String,
    /// Sign-ups of new addresses.
    pub sign_ups: u64,
    /// Chat turns that were answered.
    pub chats: u64,
    pub requests: u64,
}

impl HourRow {
    fn new(hour: Hour, counts: &Counts) -> Self {
        Self {
            hour: hour.name(),
            sign_ups: counts.get(Counted::SignUps),
            chats: counts.get(Counted::Chats),
            requests: counts.get(Counted::Requests),
        }
    }
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
    /// How many have failed in a row.
    pub failures: u32,
    /// Why the last one failed.
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

/// What failed last.
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

/// Tells the flags, for commands that check them.
async fn flags(request: OperatorRequest) -> Result<Answer, OperatorError> {
    Answer::one(&*request.flags)
}

/// Tells the status. The command adds the sizes of files, and whether a service runs.
async fn show(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let status = Status::of(&request.app).await;
    let this_hour = Hour::of(status.now);
    let counted = hours(&request.app, this_hour.minus(HOURS - 1), status.now);
    let nodes = timeout(COUNT_DEADLINE, request.app.maintenance.nodes());
    let (counted, contacts, nodes) = tokio::join!(counted, contacts(&request.app), nodes);
    // While the store is away, all else is worth knowing.
    let rows = counted.map(|counted| {
        let hours = (0..HOURS).rev().map(|ago| this_hour.minus(ago));
        let row = |hour| {
            let found = counted.iter().find(|it| it.hour == hour);
            HourRow::new(hour, &found.map(|it| it.counts).unwrap_or_default())
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

/// How many contacts there are, unless the store takes long to count.
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

/// The hours from `since` to `now` in which something was counted, oldest first, with what happened in the
/// last minute, which is not kept yet.
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
