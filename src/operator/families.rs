//! The families of `/metrics`, as a table. Names end in `_total` for counters, and in the unit otherwise.

#![allow(clippy::cast_precision_loss, reason = "the format has floats only")]

use crate::domain::{Channel, QueueStanding, Timestamp};
use crate::metrics::{Histogram, StatusClass};

use super::status::Status;

/// A metric family: type, name, description and samples; none where the service lacks the thing counted.
type Family = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Status) -> Vec<Sample>,
);

/// The types of the format.
const COUNTER: &str = "counter";
const GAUGE: &str = "gauge";
const HISTOGRAM: &str = "histogram";

/// The rest of a sample's name with its labels, and its value.
type Sample = (String, f64);

#[rustfmt::skip]
const FAMILIES: &[Family] = &[
    (GAUGE, "landing_api_build_info", "Version of the service.",
        |_| labelled("version", [(env!("CARGO_PKG_VERSION"), 1)])),
    (COUNTER, "landing_api_requests_total", "Requests by endpoint and class of status; none if the client hung up.",
        |status| status.app.metrics.endpoints().iter()
            .flat_map(|endpoint| {
                let requests = StatusClass::ALL.map(|class| (class.as_str(), endpoint.requests(class)));
                labelled(&format!("endpoint=\"{}\",status", endpoint.name), requests)
            })
            .collect()),
    (HISTOGRAM, "landing_api_request_duration_seconds", "From a request's head to the head of its response.",
        |status| status.app.metrics.endpoints().iter()
            .flat_map(|endpoint| distribution(&format!("endpoint=\"{}\"", endpoint.name), &endpoint.durations, 1e6))
            .collect()),
    (COUNTER, "landing_api_charges_total", "Charges to rate-limit policies by decision.",
        |status| status.app.metrics.policies()
            .flat_map(|(policy, charges)| {
                labelled(&format!("policy=\"{}\",decision", policy.as_str()), [
                    ("admitted", charges.admitted.get()), ("refused", charges.refused.get()),
                    ("refunded", charges.refunded.get()),
                ])
            })
            .collect()),
    // One number: two would reveal if an address was known to whoever signs it up.
    (COUNTER, "landing_api_sign_ups_total", "Newsletter sign-ups stored.",
        |status| one(status.app.metrics.sign_ups.get() + status.app.metrics.renewals.get())),
    (COUNTER, "landing_api_leavings_total", "Unsubscribes by link.",
        |status| one(status.app.metrics.leavings.get())),
    (COUNTER, "landing_api_forms_stopped_total", "Plain newsletter forms rejected.",
        |status| labelled("check", [("honeypot", status.app.metrics.trapped_forms.get())])),
    (COUNTER, "landing_api_keys_issued_total", "API keys issued.",
        |status| one(status.app.metrics.keys.get())),
    (COUNTER, "landing_api_agents_registered_total", "Agents registered.",
        |status| one(status.app.metrics.agents.get())),
    (COUNTER, "landing_api_chat_turns_total", "Chat turns by outcome.",
        |status| labelled("outcome", status.app.metrics.model.by_outcome())),
    (COUNTER, "landing_api_webhook_posts_total", "Sign-ups passed on to the newsletter's provider while visitors waited.",
        |status| {
            let webhook = &status.app.metrics.webhook;
            labelled("outcome", [
                ("delivered", webhook.delivered.get()), ("failed", webhook.failed.get()),
                ("overloaded", webhook.overloaded.get()),
            ])
        }),
    (COUNTER, "landing_api_confirmations_total", "Confirmations by step.",
        |status| {
            let steps = &status.app.metrics.confirmations;
            labelled("step", [
                ("shown", steps.shown.get()), ("given", steps.given.get()), ("refused", steps.refused.get()),
                ("expired", steps.expired.get()),
            ])
        }),
    (COUNTER, "landing_api_delivery_attempts_total", "Delivery attempts by outcome.",
        |status| Channel::ALL.into_iter()
            .flat_map(|channel| {
                let attempts = status.app.metrics.deliveries.of(channel);
                labelled(&format!("channel=\"{}\",outcome", channel.as_str()), [
                    ("made", attempts.made.get()), ("failed", attempts.failed.get()),
                    ("given_up", attempts.given_up.get()),
                ])
            })
            .collect()),
    (GAUGE, "landing_api_model_available", "1 if the model is available, 0 while it is paused after failures.",
        |status| one(!status.app.model.is_paused())),
    // A proxy that terminates TLS for the service leaves these without samples.
    (COUNTER, "landing_api_tls_handshakes_total", "TLS handshakes by outcome.",
        |status| {
            let tls = &status.app.metrics.tls;
            let speaks_tls = tls.validity.get().is_some() || tls.order.get().is_some();
            labelled("outcome", tls.by_outcome().filter(|_| speaks_tls))
        }),
    (GAUGE, "landing_api_tls_certificate_expires_seconds", "When the certificate in use expires, since the Unix epoch.",
        |status| perhaps(status.app.metrics.tls.validity.get().map(|valid| valid.end.as_ms() / 1000))),
    (GAUGE, "landing_api_tls_certificate_lifetime_seconds", "Lifetime of the certificate in use.",
        |status| perhaps(status.app.metrics.tls.validity.get().map(|valid| valid.end.ms_since(valid.start) / 1000))),
    (GAUGE, "landing_api_tls_order_failures", "Failed orders of the service's own certificate in a row.",
        |status| perhaps(status.app.metrics.tls.order.get().map(|order| order.failures.into()))),
    (GAUGE, "landing_api_store_available", "1 if the stores are writable.",
        |status| one(status.takes_writes)),
    (HISTOGRAM, "landing_api_ledger_commit_duration_seconds", "From the start of a batch until it is durable.",
        |status| distribution("", &status.app.metrics.ledger.durations, 1e6)),
    (HISTOGRAM, "landing_api_ledger_batch_changes", "Changes in a batch.",
        |status| distribution("", &status.app.metrics.ledger.batches, 1.0)),
    (COUNTER, "landing_api_ledger_commit_failures_total", "Failed ledger commits.",
        |status| one(status.app.metrics.ledger.failed.get())),
    // A size to the byte would also reveal if a sign-up was of a known address.
    (GAUGE, "landing_api_ledger_bytes", "Size of the ledger, in whole MiB.",
        |status| one(status.app.metrics.ledger.bytes.get().unwrap_or_default().next_multiple_of(1024 * 1024))),
    (GAUGE, "landing_api_deliveries_waiting", "Pending deliveries.",
        |status| by_channel(status, |queue, _| queue.waiting)),
    (GAUGE, "landing_api_deliveries_oldest_age_seconds", "Age of the oldest pending delivery.",
        |status| by_channel(status, |queue, now| queue.oldest.map_or(0, |at| now.ms_since(at) / 1000))),
    (GAUGE, "landing_api_deliveries_given_up", "Failed deliveries that are still stored.",
        |status| by_channel(status, |queue, _| queue.dead)),
    (GAUGE, "landing_api_deliveries_held", "1 if the operator has paused the channel.",
        |status| by_channel(status, |queue, _| queue.is_held.into())),
    (GAUGE, "landing_api_deliveries_paused", "1 if the channel is paused because its server is unusable.",
        |status| labelled("channel", Channel::ALL
            .map(|channel| (channel.as_str(), status.pause(channel).is_some().into())))),
    (COUNTER, "landing_api_worker_restarts_total", "Restarts of background workers.",
        |status| labelled("worker", status.app.metrics.workers.all()
            .map(|(worker, health)| (worker.as_str(), health.restarts.get())))),
    (GAUGE, "landing_api_engine_available", "1 if the engine shared by all nodes is available.",
        |status| labelled("engine", status.app.metrics.engines()
            .map(|(name, health)| (name, (!health.is_away()).into())))),
    (COUNTER, "landing_api_engine_losses_total", "Losses of the connection to the engine.",
        |status| labelled("engine", status.app.metrics.engines().map(|(name, health)| (name, health.losses.get())))),
    (COUNTER, "landing_api_local_decisions_total", "Decisions on limits made without the engine.",
        |status| one(status.app.metrics.local_decisions.get())),
    (GAUGE, "landing_api_limiter_windows", "Rate-limit windows in memory.",
        |status| perhaps(status.limiter.map(|limiter| limiter.windows as u64))),
    (GAUGE, "landing_api_limiter_windows_max", "Number of windows above which new clients share one.",
        |status| perhaps(status.limiter.map(|limiter| limiter.windows_max as u64))),
    (GAUGE, "landing_api_limiter_disk_bytes", "Size of the rate-limit windows on disk.",
        |status| perhaps(status.limiter.map(|limiter| limiter.disk_bytes))),
    (GAUGE, "landing_api_limiter_store_failing", "1 if rate-limit windows cannot be stored.",
        |status| perhaps(status.limiter.map(|limiter| limiter.is_store_failing.into()))),
    (GAUGE, "landing_api_disk_free_bytes", "Free space for the service on the data directory's disk.",
        |status| perhaps(status.disk.map(|disk| disk.free_bytes))),
    (GAUGE, "landing_api_disk_size_bytes", "Size of the data directory's disk.",
        |status| perhaps(status.disk.map(|disk| disk.size_bytes))),
    // Names common to all Prometheus clients.
    (COUNTER, "process_cpu_seconds_total", "CPU time.",
        |status| status.process.map(|process| (String::new(), process.cpu_s)).into_iter().collect()),
    (GAUGE, "process_resident_memory_bytes", "Resident memory.",
        |status| perhaps(status.process.map(|process| process.resident_bytes))),
    (GAUGE, "process_open_fds", "Open files.",
        |status| perhaps(status.process.map(|process| process.open_files))),
    (GAUGE, "process_max_fds", "Maximum number of open files.",
        |status| perhaps(status.process.and_then(|process| process.open_files_max))),
    (GAUGE, "process_start_time_seconds", "When the process started, since the Unix epoch.",
        |status| perhaps(status.process.map(|process| process.started_at.as_ms() / 1000))),
];

/// All families in Prometheus's text format.
pub(super) fn text(status: &Status) -> String {
    let mut text = String::new();
    for &(kind, name, help, samples) in FAMILIES {
        text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (labels, value) in samples(status) {
            text += &format!("{name}{labels} {value}\n");
        }
    }
    text
}

fn one(value: impl Into<u64>) -> Vec<Sample> {
    perhaps(Some(value.into()))
}

fn perhaps(value: Option<u64>) -> Vec<Sample> {
    let value = value.map(|value| (String::new(), value as f64));
    value.into_iter().collect()
}

/// Each number under its value of `label`. The values are names in the code, and need no escaping.
fn labelled<'a>(label: &str, numbers: impl IntoIterator<Item = (&'a str, u64)>) -> Vec<Sample> {
    let numbers = numbers.into_iter();
    numbers
        .map(|(value, number)| (format!("{{{label}=\"{value}\"}}"), number as f64))
        .collect()
}

fn by_channel(status: &Status, value: fn(&QueueStanding, Timestamp) -> u64) -> Vec<Sample> {
    let queues = status.queues.iter();
    let numbers = queues.map(|(channel, queue)| (channel.as_str(), value(queue, status.now)));
    labelled("channel", numbers)
}

/// The samples of `histogram`, in units of this many of its own. Buckets of the format are cumulative.
fn distribution(labels: &str, histogram: &Histogram, unit: f64) -> Vec<Sample> {
    let comma = if labels.is_empty() { "" } else { "," };
    let mut samples = Vec::new();
    let mut count = 0;
    for (bound, counted) in histogram.buckets() {
        count += counted;
        let bound = bound.map_or_else(
            || "+Inf".to_owned(),
            |bound| (bound as f64 / unit).to_string(),
        );
        samples.push((
            format!("_bucket{{{labels}{comma}le=\"{bound}\"}}"),
            count as f64,
        ));
    }
    let labels = if labels.is_empty() {
        String::new()
    } else {
        format!("{{{labels}}}")
    };
    samples.push((format!("_sum{labels}"), histogram.sum() as f64 / unit));
    samples.push((format!("_count{labels}"), count as f64));
    samples
}
