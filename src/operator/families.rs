//! The families of `/metrics`, as tables. Names end in `_total` for counters, and in the unit otherwise.

#![allow(clippy::cast_precision_loss, reason = "the format has floats only")]

use crate::domain::{Channel, QueueStanding, Timestamp};
use crate::metrics::{Histogram, StatusClass};

use super::status::Status;

/// A metric family: type, name, description and samples; none where the service lacks the thing counted.
type Family = (&'static str, &'static str, &'static str, Vec<Sample>);

/// The types of the format.
const COUNTER: &str = "counter";
const GAUGE: &str = "gauge";
const HISTOGRAM: &str = "histogram";

/// The rest of a sample's name with its labels, and its value.
type Sample = (String, f64);

/// All families in Prometheus's text format.
pub(super) fn text(status: &Status) -> String {
    let mut text = String::new();
    let families = [requests(status), stores(status), machine(status)];
    for (kind, name, help, samples) in families.into_iter().flatten() {
        text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (labels, value) in samples {
            text += &format!("{name}{labels} {value}\n");
        }
    }
    text
}

/// The work for visitors and agents.
#[rustfmt::skip]
fn requests(status: &Status) -> Vec<Family> {
    let (metrics, model) = (&status.app.metrics, &status.app.model);
    let endpoints = metrics.endpoints().iter();
    let requests = endpoints.clone().flat_map(|endpoint| {
        let label = format!("endpoint=\"{}\",status", endpoint.name);
        labelled(&label, StatusClass::ALL.map(|class| (class.as_str(), endpoint.requests(class))))
    });
    let durations = endpoints
        .flat_map(|endpoint| distribution(&format!("endpoint=\"{}\"", endpoint.name), &endpoint.durations));
    let charges = metrics.policies().flat_map(|(policy, charges)| {
        labelled(&format!("policy=\"{}\",decision", policy.as_str()), charges.by_outcome())
    });
    // One number: two would reveal if an address was known to whoever signs it up.
    let sign_ups = metrics.sign_ups.get() + metrics.renewals.get();
    vec![
        (GAUGE, "landing_api_build_info", "Version of the service.", labelled("version", [(env!("CARGO_PKG_VERSION"), 1)])),
        (COUNTER, "landing_api_requests_total", "Requests by endpoint and status class, which is none if the client hung up.", requests.collect()),
        (HISTOGRAM, "landing_api_request_duration_seconds", "From a request's head to the head of its response.", durations.collect()),
        (COUNTER, "landing_api_charges_total", "Charges to rate-limit policies by decision.", charges.collect()),
        (COUNTER, "landing_api_sign_ups_total", "Newsletter sign-ups stored.", one(sign_ups)),
        (COUNTER, "landing_api_leavings_total", "Unsubscribes by link.", one(metrics.leavings.get())),
        (COUNTER, "landing_api_forms_stopped_total", "Plain newsletter forms rejected.", labelled("check", [("honeypot", metrics.trapped_forms.get())])),
        (COUNTER, "landing_api_keys_issued_total", "API keys issued.", one(metrics.keys.get())),
        (COUNTER, "landing_api_agents_registered_total", "Agents registered.", one(metrics.agents.get())),
        (COUNTER, "landing_api_chat_turns_total", "Chat turns by outcome.", labelled("outcome", metrics.model.by_outcome())),
        (GAUGE, "landing_api_model_available", "1 if the model is available, 0 while it is paused after failures.", one(!model.is_paused())),
        (COUNTER, "landing_api_webhook_posts_total", "Sign-ups passed on to the newsletter's provider while visitors waited.", labelled("outcome", metrics.webhook.by_outcome())),
        (COUNTER, "landing_api_confirmations_total", "Confirmations by step.", labelled("step", metrics.confirmations.by_outcome())),
    ]
}

/// The stores, and the deliveries in them.
#[rustfmt::skip]
fn stores(status: &Status) -> Vec<Family> {
    let (metrics, limiter) = (&status.app.metrics, status.limiter);
    let attempts = Channel::ALL.into_iter().flat_map(|channel| {
        let label = format!("channel=\"{}\",outcome", channel.as_str());
        labelled(&label, metrics.deliveries.of(channel).by_outcome())
    });
    let paused = Channel::ALL.map(|channel| {
        let pause = metrics.deliveries.of(channel).pause_at(status.now);
        (channel.as_str(), pause.is_some().into())
    });
    let available = metrics.engines().map(|(name, health)| (name, (!health.is_away()).into()));
    let losses = metrics.engines().map(|(name, health)| (name, health.losses.get()));
    let restarts = metrics.workers.all().map(|(worker, health)| (worker.as_str(), health.restarts.get()));
    // A size to the byte would also reveal if a sign-up was of a known address.
    let ledger_bytes = metrics.ledger.bytes.get().unwrap_or_default().next_multiple_of(1024 * 1024);
    vec![
        (GAUGE, "landing_api_store_available", "1 if the stores are writable.", one(status.takes_writes)),
        (HISTOGRAM, "landing_api_ledger_commit_duration_seconds", "From the start of a batch until it is durable.", distribution("", &metrics.ledger.durations)),
        (COUNTER, "landing_api_ledger_changes_total", "Changes in all batches.", one(metrics.ledger.changes.get())),
        (COUNTER, "landing_api_ledger_commit_failures_total", "Failed ledger commits.", one(metrics.ledger.failed.get())),
        (GAUGE, "landing_api_ledger_bytes", "Size of the ledger, in whole MiB.", one(ledger_bytes)),
        (COUNTER, "landing_api_delivery_attempts_total", "Delivery attempts by outcome.", attempts.collect()),
        (GAUGE, "landing_api_deliveries_waiting", "Pending deliveries.", by_channel(status, |queue, _| queue.waiting)),
        (GAUGE, "landing_api_deliveries_oldest_age_seconds", "Age of the oldest pending delivery.",
            by_channel(status, |queue, now| queue.oldest.map_or(0, |at| now.ms_since(at) / 1000))),
        (GAUGE, "landing_api_deliveries_given_up", "Failed deliveries that are still stored.", by_channel(status, |queue, _| queue.dead)),
        (GAUGE, "landing_api_deliveries_held", "1 if the operator has paused the channel.", by_channel(status, |queue, _| queue.is_held.into())),
        (GAUGE, "landing_api_deliveries_paused", "1 if the channel is paused because its server is unusable.", labelled("channel", paused)),
        (COUNTER, "landing_api_worker_restarts_total", "Restarts of background workers.", labelled("worker", restarts)),
        (GAUGE, "landing_api_engine_available", "1 if the engine shared by all nodes is available.", labelled("engine", available)),
        (COUNTER, "landing_api_engine_losses_total", "Losses of the connection to the engine.", labelled("engine", losses)),
        (COUNTER, "landing_api_local_decisions_total", "Decisions on limits made without the engine.", one(metrics.local_decisions.get())),
        (GAUGE, "landing_api_limiter_windows", "Rate-limit windows in memory.", perhaps(limiter.map(|limiter| limiter.windows as u64))),
        (GAUGE, "landing_api_limiter_windows_max", "Number of windows above which new clients share one.", perhaps(limiter.map(|limiter| limiter.windows_max as u64))),
        (GAUGE, "landing_api_limiter_disk_bytes", "Size of the rate-limit windows on disk.", perhaps(limiter.map(|limiter| limiter.disk_bytes))),
        (GAUGE, "landing_api_limiter_store_failing", "1 if rate-limit windows cannot be stored.", perhaps(limiter.map(|limiter| limiter.is_store_failing))),
    ]
}

/// The process, its machine, and its certificate.
#[rustfmt::skip]
fn machine(status: &Status) -> Vec<Family> {
    let (tls, disk, process) = (&status.app.metrics.tls, status.disk, status.process);
    let (validity, order) = (tls.validity.get(), tls.order.get());
    // A proxy that terminates TLS for the service leaves these without samples.
    let handshakes = tls.by_outcome().filter(|_| validity.is_some() || order.is_some());
    let expires = validity.as_ref().map(|valid| valid.end.as_ms() / 1000);
    let lifetime = validity.as_ref().map(|valid| valid.end.ms_since(valid.start) / 1000);
    let cpu = process.map(|process| (String::new(), process.cpu_s));
    vec![
        (COUNTER, "landing_api_tls_handshakes_total", "TLS handshakes by outcome.", labelled("outcome", handshakes)),
        (GAUGE, "landing_api_tls_certificate_expires_seconds", "When the certificate in use expires, since the Unix epoch.", perhaps(expires)),
        (GAUGE, "landing_api_tls_certificate_lifetime_seconds", "Lifetime of the certificate in use.", perhaps(lifetime)),
        (GAUGE, "landing_api_tls_order_failures", "Failed orders of the service's own certificate in a row.", perhaps(order.map(|order| order.failures))),
        (GAUGE, "landing_api_disk_free_bytes", "Free space for the service on the data directory's disk.", perhaps(disk.map(|disk| disk.free_bytes))),
        (GAUGE, "landing_api_disk_size_bytes", "Size of the data directory's disk.", perhaps(disk.map(|disk| disk.size_bytes))),
        // Names common to all Prometheus clients.
        (COUNTER, "process_cpu_seconds_total", "CPU time.", cpu.into_iter().collect()),
        (GAUGE, "process_resident_memory_bytes", "Resident memory.", perhaps(process.map(|process| process.resident_bytes))),
        (GAUGE, "process_open_fds", "Open files.", perhaps(process.map(|process| process.open_files))),
        (GAUGE, "process_max_fds", "Maximum number of open files.", perhaps(process.and_then(|process| process.open_files_max))),
        (GAUGE, "process_start_time_seconds", "When the process started, since the Unix epoch.", perhaps(process.map(|process| process.started_at.as_ms() / 1000))),
    ]
}

fn one(value: impl Into<u64>) -> Vec<Sample> {
    perhaps(Some(value))
}

fn perhaps(value: Option<impl Into<u64>>) -> Vec<Sample> {
    let value = value.map(|value| (String::new(), value.into() as f64));
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

/// The samples of `histogram`, in seconds. Buckets of the format are cumulative.
fn distribution(label: &str, histogram: &Histogram) -> Vec<Sample> {
    let comma = if label.is_empty() { "" } else { "," };
    let mut samples = Vec::new();
    let mut count = 0;
    for (bound_us, counted) in histogram.buckets() {
        count += counted;
        let bound = bound_us.map_or_else(|| "+Inf".to_owned(), |us| (us as f64 / 1e6).to_string());
        let labels = format!("_bucket{{{label}{comma}le=\"{bound}\"}}");
        samples.push((labels, count as f64));
    }
    let labels = if label.is_empty() {
        String::new()
    } else {
        format!("{{{label}}}")
    };
    samples.push((format!("_sum{labels}"), histogram.sum_us() as f64 / 1e6));
    samples.push((format!("_count{labels}"), count as f64));
    samples
}
