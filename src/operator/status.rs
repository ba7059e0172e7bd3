//! State of the whole service.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::app::App;
use crate::domain::{Channel, Counts, Hour, KEPT_HOURS, QueueStanding, Timestamp};
use crate::metrics::process::{DiskSpace, ProcessUsage, process_usage};
use crate::metrics::{LIMITS_ENGINE, LastError, StatusClass};
use crate::ports::{LimiterStats, StoreError};

use super::operation::{Answer, OperatorError, OperatorRequest};
use super::queue::Halt;

pub const SHOW: &str = "status";
pub const FLAGS: &str = "flags show";

/// Maximum wait for the disk. The space of a hanging disk is unknown.
const DISK_DEADLINE: Duration = Duration::from_secs(2);

/// Maximum wait for the numbers of contacts: a database takes a while to count many.
const COUNT_DEADLINE: Duration = Duration::from_secs(2);

/// A unit that activity is shown by.
struct Unit {
    by: &'static str,
    /// Units shown. The hours of all of them are stored.
    number: usize,
    /// The start of an hour's name that is the unit's name.
    name_len: usize,
}

#[rustfmt::skip]
const UNITS: [Unit; 3] = [
    Unit { by: "hour", number: 24, name_len: 13 },
    Unit { by: "day", number: 31, name_len: 10 },
    Unit { by: "month", number: 13, name_len: 7 },
];

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

    /// Details of a running service. Counts are since the start; null is unknown, or not in use.
    fn service(&self) -> Value {
        let (metrics, model) = (&self.app.metrics, &self.app.model);
        let (process, disk, limiter) = (self.process, self.disk, self.limiter);
        let requests = StatusClass::ALL.map(|class| {
            let endpoints = metrics.endpoints().iter();
            let count = endpoints.map(|endpoint| endpoint.requests(class)).sum();
            (class.as_str(), count)
        });
        let policies = metrics.policies().map(|(policy, decided)| {
            json!({
                "policy": policy.as_str(),
                "admitted": decided.admitted.get(),
                "refused": decided.refused.get(),
                "refunded": decided.refunded.get(),
            })
        });
        let refusals = metrics
            .policies()
            .map(|(policy, decided)| (policy.as_str(), decided.refused.get()))
            .filter(|(_, count)| *count > 0);
        let failing = metrics.workers.failing().map(|worker| worker.as_str());
        let certificate = metrics.tls.validity.get();
        json!({
            "started_at": process.map(|process| process.started_at.to_rfc3339()),
            "uptime_s": process.map(|process| self.now.ms_since(process.started_at) / 1000),
            "takes_writes": self.takes_writes,
            // Workers that have ended, and are being restarted.
            "failing_workers": failing.collect::<Vec<_>>(),
            "requests": counts(requests),
            "refusals": counts(refusals),
            "policies": policies.collect::<Vec<_>>(),
            "windows": limiter.map(|limiter| limiter.windows),
            "windows_max": limiter.map(|limiter| limiter.windows_max),
            "windows_bytes": limiter.map(|limiter| limiter.disk_bytes),
            "memory_bytes": process.map(|process| process.resident_bytes),
            "open_files": process.map(|process| process.open_files),
            "open_files_max": process.and_then(|process| process.open_files_max),
            "disk_free_bytes": disk.map(|disk| disk.free_bytes),
            "disk_bytes": disk.map(|disk| disk.size_bytes),
            // A node whose records are elsewhere has none.
            "ledger_bytes": metrics.ledger.bytes.get(),
            "certificate_expires_at": certificate.map(|range| range.end.to_rfc3339()),
            "certificate_order": metrics.tls.order.get().map(|order| json!({
                "at": order.at.map(Timestamp::to_rfc3339),
                "failures": order.failures,
                "error": order.error,
                "next_at": order.next_at.to_rfc3339(),
            })),
            "last_error": metrics.last_error.get().map(failure),
            "model": model.name(),
            "is_model_paused": model.is_paused(),
            "model_error": metrics.model.last_error.get().map(failure),
            "chat_turns": counts(metrics.model.by_outcome()),
            "confirmations": self.app.settings.opt_in_ms.map(|_| json!({
                "mails_taken": metrics.deliveries.of(Channel::Mail).made.get(),
                "pages_shown": metrics.confirmations.shown.get(),
                "confirmed": metrics.confirmations.given.get(),
            })),
        })
    }

    /// The channels' queues.
    fn queues(&self) -> Vec<Value> {
        let queues = self.queues.iter();
        let row = |(channel, queue): &(Channel, QueueStanding)| {
            let pause = self.app.metrics.deliveries.of(*channel).pause_at(self.now);
            let halt = Halt::of(&self.app, *channel, queue.is_held, self.now);
            json!({
                "channel": channel.as_str(),
                "waiting": queue.waiting,
                "oldest_at": queue.oldest.map(Timestamp::to_rfc3339),
                "given_up": queue.dead,
                "is_held": queue.is_held,
                "paused_until": pause.as_ref().map(|pause| pause.until.to_rfc3339()),
                "pause_reason": pause.map(|pause| pause.reason),
                "halt": halt.map(|halt| halt.words),
            })
        };
        queues.map(row).collect()
    }

    /// The engines that all nodes share.
    fn engines(&self) -> Vec<Value> {
        let engines = self.app.metrics.engines();
        // When the limits' engine is unavailable, a running service counts by itself. A command counts
        // nothing, and asks the engine.
        let is_limiter_away = self.app.limiter.check().is_err();
        let engines = engines.map(|(name, health)| {
            json!({
                "name": name,
                "is_away": health.is_away() || name == LIMITS_ENGINE && is_limiter_away,
                "losses": health.losses.get(),
            })
        });
        engines.collect()
    }
}

fn counts<'a>(counts: impl IntoIterator<Item = (&'a str, u64)>) -> Vec<Value> {
    let rows = counts.into_iter();
    rows.map(|(name, count)| json!({ "name": name, "count": count }))
        .collect()
}

fn failure(error: LastError) -> Value {
    json!({ "at": error.at.to_rfc3339(), "text": error.text })
}

/// Returns the flags, for commands that check them.
pub(super) async fn flags(request: OperatorRequest) -> Result<Answer, OperatorError> {
    Answer::one(&*request.flags)
}

/// Returns the status, with activity by the `hour`, which is the default, `day` or `month`. Times are in RFC
/// 3339. The command adds `files`, and corrects `is_running` and `service` if it has opened the stores itself.
pub(super) async fn show(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let status = Status::of(&request.app).await;
    let by = request.params.text("by").unwrap_or_default();
    let unit = UNITS.iter().find(|unit| unit.by == by);
    let unit = unit.unwrap_or(&UNITS[0]);
    let (activity, contacts) = tokio::join!(
        activity(&request.app, unit, status.now),
        contacts(&request.app)
    );
    // When the store is unavailable, everything else is still worth knowing.
    Answer::one(&json!({
        "is_running": true,
        "version": env!("CARGO_PKG_VERSION"),
        "now": status.now.to_rfc3339(),
        "service": status.service(),
        "engines": status.engines(),
        "queues": status.queues(),
        "contacts": contacts,
        "by": unit.by,
        (format!("{}s", unit.by)): activity.unwrap_or_default(),
        "files": [],
    }))
}

/// Numbers of contacts, unless the store takes long to count.
async fn contacts(app: &App) -> Option<Value> {
    let counts =
        async { tokio::try_join!(app.contacts.count(None, None), app.contacts.status_counts()) };
    let (total, statuses) = timeout(COUNT_DEADLINE, counts).await.ok()?.ok()?;
    Some(json!({
        "total": total,
        "pending": statuses.pending,
        "unsubscribed": statuses.unsubscribed,
    }))
}

/// The counts by one of [`UNITS`], oldest first, including the last minute, which isn't stored yet. The last
/// unit isn't over.
async fn activity(app: &App, unit: &Unit, now: Timestamp) -> Result<Vec<Value>, StoreError> {
    let Unit {
        by,
        number,
        name_len,
    } = *unit;
    let this_hour = Hour::of(now);
    let unit_of = |hour: Hour| hour.name().chars().take(name_len).collect::<String>();
    let mut units = vec![(unit_of(this_hour), app.metrics.not_yet_counted())];
    let mut since = this_hour;
    for hour in (1..=KEPT_HOURS).map(|ago| this_hour.minus(ago)) {
        let unit = unit_of(hour);
        if units.last().is_some_and(|(earliest, _)| *earliest != unit) {
            if units.len() == number {
                break;
            }
            units.push((unit, Counts::default()));
        }
        since = hour;
    }
    units.reverse();
    for hour in app.counts.list(since, this_hour.next()).await? {
        let unit = unit_of(hour.hour);
        if let Some((_, counts)) = units.iter_mut().find(|(name, _)| *name == unit) {
            counts.add_all(&hour.counts);
        }
    }
    let rows = units.into_iter().map(|(unit, counts)| {
        let numbers = counts.iter();
        let numbers = numbers.map(|(counted, number)| (counted.as_str().to_owned(), number.into()));
        let unit = (by.to_owned(), Value::from(unit));
        Value::Object([unit].into_iter().chain(numbers).collect())
    });
    Ok(rows.collect())
}
