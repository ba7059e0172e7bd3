//! State of the whole service, for `status`, the admin page and `/metrics`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::app::App;
use crate::domain::{Channel, Hour, KEPT_HOURS, PolicyName, Timestamp};
use crate::metrics::process::process_usage;
use crate::metrics::{EndpointMetrics, LastError, Metrics, PolicyMetrics};
use crate::ports::StoreError;

use super::operation::{Answer, OperatorError, OperatorRequest};
use super::queue::Queue;

pub const SHOW: &str = "status";
pub const FLAGS: &str = "flags show";

/// Maximum wait for the disk. The space of a hanging disk is unknown.
const DISK_DEADLINE: Duration = Duration::from_secs(2);

/// Maximum wait for the numbers of contacts: a database takes a while to count many.
const COUNT_DEADLINE: Duration = Duration::from_secs(2);

/// Details of a running service. Counts are since the start; null is unknown, or not in use.
pub(super) async fn service(app: &App, now: Timestamp) -> Value {
    let (metrics, model, limiter) = (&app.metrics, &app.model, app.limiter.stats());
    let looking = Arc::clone(metrics);
    let disk = timeout(DISK_DEADLINE, spawn_blocking(move || looking.disk())).await;
    let disk = disk.ok().and_then(Result::ok).flatten();
    let process = process_usage();
    let endpoints = metrics.endpoints.values();
    let mut requests = BTreeMap::new();
    for (class, count) in endpoints.flat_map(EndpointMetrics::by_outcome) {
        *requests.entry(class).or_default() += count;
    }
    let failing = metrics.workers.failing().map(|worker| worker.as_str());
    let certificate = metrics.tls.validity.lock().clone();
    json!({
        "started_at": process.map(|process| process.started_at.to_rfc3339()),
        "uptime_s": process.map(|process| now.ms_since(process.started_at) / 1000),
        "takes_writes": app.takes_writes(),
        // Workers that have ended, and are being restarted.
        "failing_workers": failing.collect::<Vec<_>>(),
        "requests": counts(requests),
        "refusals": refusals(metrics),
        "policies": policies(metrics),
        "windows": limiter.map(|limiter| limiter.windows),
        "windows_max": limiter.map(|limiter| limiter.windows_max),
        "windows_bytes": limiter.map(|limiter| limiter.disk_bytes),
        "are_windows_unstored": limiter.map(|limiter| limiter.is_store_failing),
        "cpu_s": process.map(|process| process.cpu_s),
        "memory_bytes": process.map(|process| process.resident_bytes),
        "open_files": process.map(|process| process.open_files),
        "open_files_max": process.and_then(|process| process.open_files_max),
        "disk_free_bytes": disk.as_ref().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)),
        "disk_bytes": disk.map(|disk| disk.f_blocks.saturating_mul(disk.f_frsize)),
        // A node whose records are elsewhere has none.
        "ledger_bytes": *metrics.ledger.bytes.lock(),
        "certificate_valid_from": certificate.as_ref().map(|range| range.start.to_rfc3339()),
        "certificate_expires_at": certificate.map(|range| range.end.to_rfc3339()),
        "certificate_order": metrics.tls.order.lock().as_ref().map(|order| json!({
            "at": order.at.map(Timestamp::to_rfc3339),
            "failures": order.failures,
            "error": order.error,
            "next_at": order.next_at.to_rfc3339(),
        })),
        "last_error": metrics.last_error.lock().as_ref().map(failure),
        "model": model.name(),
        "is_model_paused": model.is_paused(),
        "model_error": metrics.model.last_error.lock().as_ref().map(failure),
        "chat_turns": counts(metrics.model.by_outcome()),
        "confirmations": app.settings.opt_in_ms.map(|_| json!({
            "mails_taken": metrics.deliveries(Channel::Mail).made.get(),
            "pages_shown": metrics.confirmations.shown.get(),
            "confirmed": metrics.confirmations.given.get(),
        })),
    })
}

fn refusals(metrics: &Metrics) -> Vec<Value> {
    let policies = metrics.policies();
    let refusals = policies.map(|(policy, decided)| (policy.as_str(), decided.refused.get()));
    counts(refusals.filter(|(_, count)| *count > 0))
}

fn policies(metrics: &Metrics) -> Vec<Value> {
    let row = |(policy, decided): (PolicyName, &PolicyMetrics)| {
        json!({
            "policy": policy.as_str(),
            "admitted": decided.admitted.get(),
            "refused": decided.refused.get(),
            "refunded": decided.refunded.get(),
        })
    };
    metrics.policies().map(row).collect()
}

/// The channels' queues; none if the store does not report them.
pub(super) async fn queues(app: &App, now: Timestamp) -> Vec<Value> {
    let queues = Queue::all(app, now).await.unwrap_or_default().into_iter();
    let rows = queues.map(|queue| {
        json!({
            "channel": queue.channel.as_str(),
            "is_configured": app.is_configured(queue.channel),
            "waiting": queue.standing.waiting,
            "oldest_at": queue.standing.oldest.map(Timestamp::to_rfc3339),
            "given_up": queue.standing.dead,
            "is_held": queue.standing.is_held,
            "paused_until": queue.pause.as_ref().map(|pause| pause.until.to_rfc3339()),
            "pause_reason": queue.pause.as_ref().map(|pause| &pause.reason),
            "halt": queue.halt(),
        })
    });
    rows.collect()
}

/// The engines that all nodes share.
pub(super) fn engines(app: &App) -> Vec<Value> {
    // When the limits' engine is unavailable, a running service counts by itself. A command counts nothing, and
    // asks the engine.
    let is_limiter_away = app.limiter.check().is_err();
    let metrics = &app.metrics;
    let engines = [
        ("store", &metrics.store_engine, false),
        ("limits", &metrics.limits_engine, is_limiter_away),
    ];
    let engines = engines.into_iter().filter_map(|(name, health, is_away)| {
        let is_away = (*health.is_away.lock())? || is_away;
        Some(json!({ "name": name, "is_away": is_away, "losses": health.losses.get() }))
    });
    engines.collect()
}

pub(super) fn counts<'a>(counts: impl IntoIterator<Item = (&'a str, u64)>) -> Vec<Value> {
    let rows = counts.into_iter();
    rows.map(|(name, count)| json!({ "name": name, "count": count }))
        .collect()
}

fn failure(error: &LastError) -> Value {
    json!({ "at": error.at.to_rfc3339(), "text": error.text })
}

/// Returns the flags, for commands that check them.
pub(super) async fn flags(request: OperatorRequest) -> Result<Answer, OperatorError> {
    Answer::one(&*request.flags)
}

/// Returns the status, with activity by the `hour`, which is the default, `day` or `month`. Times are in RFC
/// 3339. The command adds `files`, and corrects `is_running` and `service` if it has opened the stores itself.
pub(super) async fn show(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let app = &request.app;
    let now = app.clock.now();
    // The unit, the number of units shown, and the length of its name, with which those of its hours begin.
    let (by, number, name_len) = match request.params.text("by") {
        Some("day") => ("day", 31, 10),
        Some("month") => ("month", 13, 7),
        Some(_) | None => ("hour", 24, 13),
    };
    let activity = activity(app, by, number, name_len, now);
    let (activity, contacts) = tokio::join!(activity, contacts(app));
    // When the store is unavailable, everything else is still worth knowing.
    Answer::one(&json!({
        "is_running": true,
        "version": env!("CARGO_PKG_VERSION"),
        "now": now.to_rfc3339(),
        "service": service(app, now).await,
        "engines": engines(app),
        "queues": queues(app, now).await,
        "contacts": contacts,
        "by": by,
        (format!("{by}s")): activity.unwrap_or_default(),
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

/// The counts of the last units of time (`by`), oldest first, including the last minute, which isn't stored yet. The
/// last unit isn't over.
async fn activity(
    app: &App,
    by: &str,
    number: usize,
    name_len: usize,
    now: Timestamp,
) -> Result<Vec<Value>, StoreError> {
    let this_hour = Hour::of(now);
    let unit_of = |hour: Hour| hour.name().chars().take(name_len).collect::<String>();
    let mut since = this_hour;
    let mut units = BTreeMap::from([(unit_of(this_hour), app.metrics.not_yet_counted())]);
    for hour in (1..=KEPT_HOURS).map(|ago| this_hour.minus(ago)) {
        let unit = unit_of(hour);
        if units.len() == number && !units.contains_key(&unit) {
            break;
        }
        units.entry(unit).or_default();
        since = hour;
    }
    for (hour, of_hour) in app.counts.list(since, this_hour.next()).await? {
        let counts = units.entry(unit_of(hour)).or_default();
        counts.add_all(&of_hour);
    }
    let rows = units.into_iter().map(|(unit, counts)| {
        let numbers = counts.iter();
        let numbers = numbers.map(|(counted, number)| (counted.as_str().to_owned(), number.into()));
        let unit = (by.to_owned(), Value::from(unit));
        Value::Object([unit].into_iter().chain(numbers).collect())
    });
    Ok(rows.collect())
}
