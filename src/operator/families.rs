//! The families of `/metrics`, as a table. Names end in `_total` for counters, and in the unit otherwise.

use crate::domain::{Channel, QueueStanding, Timestamp};
use crate::metrics::{Counter, Histogram, StatusClass};

use super::status::Status;

/// Samples that belong together.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: Kind,
    /// None where the service does not have what is counted.
    pub(super) samples: fn(&Status) -> Vec<Sample<'_>>,
}

/// The types of the format.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A value with its labels.
pub(super) type Sample<'a> = (Vec<(&'static str, &'a str)>, Value<'a>);

pub(super) enum Value<'a> {
    Whole(u64),
    Seconds(f64),
    /// A distribution, and how many of its units one in the samples is.
    Distribution(&'a Histogram, f64),
}

type Samples = fn(&Status) -> Vec<Sample<'_>>;

const fn counter(name: &'static str, help: &'static str, samples: Samples) -> Family {
    let kind = Kind::Counter;
    Family {
        name,
        help,
        kind,
        samples,
    }
}

const fn gauge(name: &'static str, help: &'static str, samples: Samples) -> Family {
    let kind = Kind::Gauge;
    Family {
        name,
        help,
        kind,
        samples,
    }
}

const fn histogram(name: &'static str, help: &'static str, samples: Samples) -> Family {
    let kind = Kind::Histogram;
    Family {
        name,
        help,
        kind,
        samples,
    }
}

#[rustfmt::skip]
pub(super) const FAMILIES: &[Family] = &[
    gauge("landing_api_build_info", "The version that runs.",
        |_| vec![(vec![("version", env!("CARGO_PKG_VERSION"))], Value::Whole(1))]),
    counter("landing_api_requests_total", "Requests by endpoint and class of status; none if the client hung up.",
        requests),
    histogram("landing_api_request_duration_seconds", "From a request's head to the head of its response.",
        |status| status.app.metrics.endpoints().iter()
            .map(|endpoint| (vec![("endpoint", endpoint.name)], Value::Distribution(&endpoint.durations, 1e6)))
            .collect()),
    counter("landing_api_charges_total", "Charges to rate-limit policies by decision.",
        charges),
    // One number: two would tell whoever signs an address up whether it was known.
    counter("landing_api_sign_ups_total", "Newsletter sign-ups kept here.",
        |status| one(status.app.metrics.sign_ups.get() + status.app.metrics.renewals.get())),
    counter("landing_api_leavings_total", "Contacts that left the newsletter by their link.",
        |status| one(status.app.metrics.leavings.get())),
    counter("landing_api_forms_stopped_total", "Plain forms of the newsletter that were not taken.",
        |status| {
            let forms = &status.app.metrics.forms;
            labelled("check", [("honeypot", &forms.honeypot), ("stamp", &forms.stamp), ("proof", &forms.proof)])
        }),
    counter("landing_api_keys_issued_total", "API keys issued.",
        |status| one(status.app.metrics.keys.get())),
    counter("landing_api_agents_registered_total", "Agents registered.",
        |status| one(status.app.metrics.agents.get())),
    counter("landing_api_chat_turns_total", "Chat turns by how they ended.",
        |status| labelled("outcome", status.app.metrics.model.by_outcome())),
    counter("landing_api_webhook_posts_total", "Sign-ups passed on to the newsletter's provider while visitors waited.",
        |status| {
            let webhook = &status.app.metrics.webhook;
            labelled("outcome", [
                ("delivered", &webhook.delivered), ("failed", &webhook.failed), ("overloaded", &webhook.overloaded),
            ])
        }),
    counter("landing_api_confirmations_total", "What became of sign-ups that are to be confirmed.",
        |status| {
            let steps = &status.app.metrics.confirmations;
            labelled("step", [
                ("shown", &steps.shown), ("given", &steps.given), ("refused", &steps.refused),
                ("expired", &steps.expired),
            ])
        }),
    counter("landing_api_delivery_attempts_total", "Attempts to deliver from the queue, by how they ended.",
        delivery_attempts),
    gauge("landing_api_model_available", "Whether the model is asked: 0 while it is left alone after failures.",
        |status| one(!status.app.model.is_paused())),
    // A proxy that speaks TLS for the service leaves these without samples.
    counter("landing_api_tls_handshakes_total", "TLS handshakes by how they ended.",
        |status| {
            let tls = &status.app.metrics.tls;
            let speaks_tls = tls.validity().is_some() || tls.order().is_some();
            labelled("outcome", tls.by_outcome().filter(|_| speaks_tls))
        }),
    gauge("landing_api_tls_certificate_expires_seconds", "When the certificate in use expires, since the Unix epoch.",
        |status| perhaps(status.app.metrics.tls.validity().map(|valid| valid.end.as_ms() / 1000))),
    gauge("landing_api_tls_certificate_lifetime_seconds", "How long the certificate in use is valid as a whole.",
        |status| perhaps(status.app.metrics.tls.validity().map(|valid| valid.end.ms_since(valid.start) / 1000))),
    gauge("landing_api_tls_order_failures", "How many orders of the service's own certificate have failed in a row.",
        |status| perhaps(status.app.metrics.tls.order().map(|order| order.failures.into()))),
    gauge("landing_api_store_available", "Whether the stores take writes.",
        |status| one(status.takes_writes)),
    histogram("landing_api_ledger_commit_duration_seconds", "From the start of a batch until it is durable.",
        |status| vec![(Vec::new(), Value::Distribution(&status.app.metrics.ledger.durations, 1e6))]),
    histogram("landing_api_ledger_batch_changes", "Changes in a batch.",
        |status| vec![(Vec::new(), Value::Distribution(&status.app.metrics.ledger.batches, 1.0))]),
    counter("landing_api_ledger_commit_failures_total", "Batches that could not be made durable.",
        |status| one(status.app.metrics.ledger.failed.get())),
    // To the byte it would tell, too, whether a sign-up was of a known address.
    gauge("landing_api_ledger_bytes", "The length of the ledger, in whole MiB.",
        |status| one(status.app.metrics.ledger.bytes().next_multiple_of(1024 * 1024))),
    gauge("landing_api_deliveries_waiting", "Deliveries that are due or will be.",
        |status| by_channel(status, |queue, _| queue.waiting)),
    gauge("landing_api_deliveries_oldest_age_seconds", "The age of the oldest of them.",
        |status| by_channel(status, |queue, now| queue.oldest.map_or(0, |at| now.ms_since(at) / 1000))),
    gauge("landing_api_deliveries_given_up", "Failed deliveries that are still stored.",
        |status| by_channel(status, |queue, _| queue.dead)),
    gauge("landing_api_deliveries_held", "Whether the channel is held until the operator releases it.",
        |status| by_channel(status, |queue, _| queue.is_held.into())),
    gauge("landing_api_deliveries_paused", "Whether the channel is paused because the account is refused.",
        |status| Channel::ALL.into_iter()
            .map(|channel| {
                let is_paused = status.pause(channel).is_some();
                (vec![("channel", channel.as_str())], Value::Whole(is_paused.into()))
            })
            .collect()),
    counter("landing_api_worker_restarts_total", "How often a worker ended and was started again.",
        |status| labelled("worker", status.app.metrics.workers.all()
            .map(|(worker, health)| (worker.as_str(), &health.restarts)))),
    gauge("landing_api_engine_available", "Whether the engine answers that all nodes share.",
        |status| status.app.metrics.engines()
            .map(|(name, health)| (vec![("engine", name)], Value::Whole((!health.is_away()).into())))
            .collect()),
    counter("landing_api_engine_losses_total", "How often the engine stopped answering.",
        |status| labelled("engine", status.app.metrics.engines().map(|(name, health)| (name, &health.losses)))),
    counter("landing_api_local_decisions_total", "Decisions on limits that were made without the engine.",
        |status| one(status.app.metrics.local_decisions.get())),
    gauge("landing_api_limiter_windows", "Rate-limit windows in memory.",
        |status| perhaps(status.limiter.map(|limiter| limiter.windows as u64))),
    gauge("landing_api_limiter_windows_max", "The number of windows from which on newcomers share one.",
        |status| perhaps(status.limiter.map(|limiter| limiter.windows_max as u64))),
    gauge("landing_api_limiter_disk_bytes", "Bytes that rate-limit windows take on disk.",
        |status| perhaps(status.limiter.map(|limiter| limiter.disk_bytes))),
    gauge("landing_api_limiter_store_failing", "Whether rate-limit windows cannot be stored.",
        |status| perhaps(status.limiter.map(|limiter| limiter.is_store_failing.into()))),
    gauge("landing_api_disk_free_bytes", "The space left for the service on the data directory's disk.",
        |status| perhaps(status.disk.map(|disk| disk.free_bytes))),
    gauge("landing_api_disk_size_bytes", "The size of the data directory's disk.",
        |status| perhaps(status.disk.map(|disk| disk.size_bytes))),
    // Under the names that all Prometheus clients use.
    counter("process_cpu_seconds_total", "Time on processors.",
        |status| status.process.map(|process| (Vec::new(), Value::Seconds(process.cpu_s))).into_iter().collect()),
    gauge("process_resident_memory_bytes", "Memory in RAM.",
        |status| perhaps(status.process.map(|process| process.resident_bytes))),
    gauge("process_open_fds", "Open files.",
        |status| perhaps(status.process.map(|process| process.open_files))),
    gauge("process_max_fds", "Most open files.",
        |status| perhaps(status.process.and_then(|process| process.open_files_max))),
    gauge("process_start_time_seconds", "When the process started, since the Unix epoch.",
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
    counters: impl IntoIterator<Item = (&'static str, &'a Counter)>,
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
        [
            ("admitted", &charges.admitted),
            ("refused", &charges.refused),
            ("refunded", &charges.refunded),
        ]
        .map(|(decision, count)| {
            let labels = vec![("policy", policy.as_str()), ("decision", decision)];
            (labels, Value::Whole(count.get()))
        })
    });
    by_decision.collect()
}

fn delivery_attempts(status: &Status) -> Vec<Sample<'_>> {
    let by_outcome = Channel::ALL.into_iter().flat_map(|channel| {
        let counters = status.app.metrics.deliveries.of(channel);
        [
            ("made", &counters.made),
            ("failed", &counters.failed),
            ("given_up", &counters.given_up),
        ]
        .map(|(outcome, count)| {
            let labels = vec![("channel", channel.as_str()), ("outcome", outcome)];
            (labels, Value::Whole(count.get()))
        })
    });
    by_outcome.collect()
}
