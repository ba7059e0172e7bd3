//! The families of `/metrics`, as a table. Names end in `_total` for counters, and in the unit otherwise.

use crate::domain::{Channel, QueueStanding, Timestamp};
use crate::metrics::{self, StatusClass};

use super::status::Status;

/// A metric family: type, name and description; without samples where the service lacks the thing counted.
pub(super) type Family = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Status) -> Vec<Sample<'_>>,
);

/// The types of the format.
const COUNTER: &str = "counter";
const GAUGE: &str = "gauge";
const HISTOGRAM: &str = "histogram";

/// A value with its labels.
pub(super) type Sample<'a> = (Vec<(&'static str, &'a str)>, Value<'a>);

pub(super) enum Value<'a> {
    Whole(u64),
    Seconds(f64),
    /// A distribution, and the number of its units in one unit of the samples.
    Distribution(&'a metrics::Histogram, f64),
}

#[rustfmt::skip]
pub(super) const FAMILIES: &[Family] = &[
    (GAUGE, "landing_api_build_info", "Version of the service.",
        |_| vec![(vec![("version", env!("CARGO_PKG_VERSION"))], Value::Whole(1))]),
    (COUNTER, "landing_api_requests_total", "Requests by endpoint and class of status; none if the client hung up.",
        requests),
    (HISTOGRAM, "landing_api_request_duration_seconds", "From a request's head to the head of its response.",
        |status| status.app.metrics.endpoints().iter()
            .map(|endpoint| (vec![("endpoint", endpoint.name)], Value::Distribution(&endpoint.durations, 1e6)))
            .collect()),
    (COUNTER, "landing_api_charges_total", "Charges to rate-limit policies by decision.",
        charges),
    // One number: two would reveal if an address was known to whoever signs it up.
    (COUNTER, "landing_api_sign_ups_total", "Newsletter sign-ups stored.",
        |status| one(status.app.metrics.sign_ups.get() + status.app.metrics.renewals.get())),
    (COUNTER, "landing_api_leavings_total", "Unsubscribes by link.",
        |status| one(status.app.metrics.leavings.get())),
    (COUNTER, "landing_api_forms_stopped_total", "Plain newsletter forms rejected.",
        |status| labelled("check", [("honeypot", &status.app.metrics.trapped_forms)])),
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
                ("delivered", &webhook.delivered), ("failed", &webhook.failed), ("overloaded", &webhook.overloaded),
            ])
        }),
    (COUNTER, "landing_api_confirmations_total", "Confirmations by step.",
        |status| {
            let steps = &status.app.metrics.confirmations;
            labelled("step", [
                ("shown", &steps.shown), ("given", &steps.given), ("refused", &steps.refused),
                ("expired", &steps.expired),
            ])
        }),
    (COUNTER, "landing_api_delivery_attempts_total", "Delivery attempts by outcome.",
        delivery_attempts),
    (GAUGE, "landing_api_model_available", "1 if the model is available, 0 while it is paused after failures.",
        |status| one(!status.app.model.is_paused())),
    // A proxy that terminates TLS for the service leaves these without samples.
    (COUNTER, "landing_api_tls_handshakes_total", "TLS handshakes by outcome.",
        |status| {
            let tls = &status.app.metrics.tls;
            let speaks_tls = tls.validity().is_some() || tls.order().is_some();
            labelled("outcome", tls.by_outcome().filter(|_| speaks_tls))
        }),
    (GAUGE, "landing_api_tls_certificate_expires_seconds", "When the certificate in use expires, since the Unix epoch.",
        |status| perhaps(status.app.metrics.tls.validity().map(|valid| valid.end.as_ms() / 1000))),
    (GAUGE, "landing_api_tls_certificate_lifetime_seconds", "Lifetime of the certificate in use.",
        |status| perhaps(status.app.metrics.tls.validity().map(|valid| valid.end.ms_since(valid.start) / 1000))),
    (GAUGE, "landing_api_tls_order_failures", "Failed orders of the service's own certificate in a row.",
        |status| perhaps(status.app.metrics.tls.order().map(|order| order.failures.into()))),
    (GAUGE, "landing_api_store_available", "1 if the stores are writable.",
        |status| one(status.takes_writes)),
    (HISTOGRAM, "landing_api_ledger_commit_duration_seconds", "From the start of a batch until it is durable.",
        |status| vec![(Vec::new(), Value::Distribution(&status.app.metrics.ledger.durations, 1e6))]),
    (HISTOGRAM, "landing_api_ledger_batch_changes", "Changes in a batch.",
        |status| vec![(Vec::new(), Value::Distribution(&status.app.metrics.ledger.batches, 1.0))]),
    (COUNTER, "landing_api_ledger_commit_failures_total", "Failed ledger commits.",
        |status| one(status.app.metrics.ledger.failed.get())),
    // A size to the byte would also reveal if a sign-up was of a known address.
    (GAUGE, "landing_api_ledger_bytes", "Size of the ledger, in whole MiB.",
        |status| one(status.app.metrics.ledger.bytes().next_multiple_of(1024 * 1024))),
    (GAUGE, "landing_api_deliveries_waiting", "Pending deliveries.",
        |status| by_channel(status, |queue, _| queue.waiting)),
    (GAUGE, "landing_api_deliveries_oldest_age_seconds", "Age of the oldest pending delivery.",
        |status| by_channel(status, |queue, now| queue.oldest.map_or(0, |at| now.ms_since(at) / 1000))),
    (GAUGE, "landing_api_deliveries_given_up", "Failed deliveries that are still stored.",
        |status| by_channel(status, |queue, _| queue.dead)),
    (GAUGE, "landing_api_deliveries_held", "1 if the operator has paused the channel.",
        |status| by_channel(status, |queue, _| queue.is_held.into())),
    (GAUGE, "landing_api_deliveries_paused", "1 if the channel is paused because its server is unusable.",
        |status| Channel::ALL.into_iter()
            .map(|channel| {
                let is_paused = status.pause(channel).is_some();
                (vec![("channel", channel.as_str())], Value::Whole(is_paused.into()))
            })
            .collect()),
    (COUNTER, "landing_api_worker_restarts_total", "Restarts of background workers.",
        |status| labelled("worker", status.app.metrics.workers.all()
            .map(|(worker, health)| (worker.as_str(), &health.restarts)))),
    (GAUGE, "landing_api_engine_available", "1 if the engine shared by all nodes is available.",
        |status| status.app.metrics.engines()
            .map(|(name, health)| (vec![("engine", name)], Value::Whole((!health.is_away()).into())))
            .collect()),
    (COUNTER, "landing_api_engine_losses_total", "Losses of the connection to the engine.",
        |status| labelled("engine", status.app.metrics.engines().map(|(name, health)| (name, &health.losses)))),
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
        |status| status.process.map(|process| (Vec::new(), Value::Seconds(process.cpu_s))).into_iter().collect()),
    (GAUGE, "process_resident_memory_bytes", "Resident memory.",
        |status| perhaps(status.process.map(|process| process.resident_bytes))),
    (GAUGE, "process_open_fds", "Open files.",
        |status| perhaps(status.process.map(|process| process.open_files))),
    (GAUGE, "process_max_fds", "Maximum number of open files.",
        |status| perhaps(status.process.and_then(|process| process.open_files_max))),
    (GAUGE, "process_start_time_seconds", "When the process started, since the Unix epoch.",
        |status| perhaps(status.process.map(|process| process.started_at.as_ms() / 1000))),
];

fn one<'a>(value: impl Into<u64>) -> Vec<Sample<'a>> {
    perhaps(Some(value.into()))
}

fn perhaps<'a>(value: Option<u64>) -> Vec<Sample<'a>> {
    let samples = value.into_iter();
    samples
        .map(|value| (Vec::new(), Value::Whole(value)))
        .collect()
}

/// Each counter under its value of `label`.
fn labelled<'a>(
    label: &'static str,
    counters: impl IntoIterator<Item = (&'static str, &'a metrics::Counter)>,
) -> Vec<Sample<'a>> {
    let counters = counters.into_iter();
    counters
        .map(|(value, counter)| (vec![(label, value)], Value::Whole(counter.get())))
        .collect()
}

fn by_channel(status: &Status, value: fn(&QueueStanding, Timestamp) -> u64) -> Vec<Sample<'_>> {
    let queues = status.queues.iter();
    queues
        .map(|(channel, queue)| {
            let labels = vec![("channel", channel.as_str())];
            (labels, Value::Whole(value(queue, status.now)))
        })
        .collect()
}

fn requests(status: &Status) -> Vec<Sample<'_>> {
    let endpoints = status.app.metrics.endpoints().iter();
    let by_class = endpoints.flat_map(|endpoint| {
        StatusClass::ALL.map(|class| {
            let labels = vec![("endpoint", endpoint.name), ("status", class.as_str())];
            (labels, Value::Whole(endpoint.requests(class)))
        })
    });
    by_class.collect()
}

fn charges(status: &Status) -> Vec<Sample<'_>> {
    let policies = status.app.metrics.policies();
    let by_decision = policies.flat_map(|(policy, charges)| {
        let decisions = [
            ("admitted", &charges.admitted),
            ("refused", &charges.refused),
            ("refunded", &charges.refunded),
        ];
        split(("policy", policy.as_str()), "decision", decisions)
    });
    by_decision.collect()
}

fn delivery_attempts(status: &Status) -> Vec<Sample<'_>> {
    let by_outcome = Channel::ALL.into_iter().flat_map(|channel| {
        let counters = status.app.metrics.deliveries.of(channel);
        let outcomes = [
            ("made", &counters.made),
            ("failed", &counters.failed),
            ("given_up", &counters.given_up),
        ];
        split(("channel", channel.as_str()), "outcome", outcomes)
    });
    by_outcome.collect()
}

/// Counters that share a label, each under its value of another one.
fn split<'a>(
    shared: (&'static str, &'a str),
    label: &'static str,
    counters: [(&'a str, &'a metrics::Counter); 3],
) -> [Sample<'a>; 3] {
    counters.map(|(value, counter)| (vec![shared, (label, value)], Value::Whole(counter.get())))
}
