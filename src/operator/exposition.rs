//! `/metrics`, for Prometheus; `/live` and `/ready`, for whatever restarts the service or sends it
//! requests.

use std::fmt;
use std::sync::Arc;

use hyper::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::app::App;
use crate::domain::{Channel, QueueStanding, Timestamp};
use crate::metrics::{Counter, Histogram, Metrics, StatusClass};

use super::page::{PageBody, whole};
use super::status::Status;

const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// The answer to a request for one of these paths; `None` for any other.
pub async fn respond(app: &Arc<App>, head: &Parts) -> Option<Response<PageBody>> {
    let is_read = matches!(head.method, Method::GET | Method::HEAD);
    let answer = match head.uri.path() {
        "/metrics" if is_read => metrics(app, head).await,
        "/live" if is_read => plain(StatusCode::OK, "live\n"),
        "/ready" if is_read => ready(app).await,
        _ => return None,
    };
    Some(answer)
}

/// Whether requests should be sent here: the stores take writes, and the service is not stopping.
async fn ready(app: &App) -> Response<PageBody> {
    if app.metrics.is_stopping() {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
    }
    if app.takes_writes() {
        return plain(StatusCode::OK, "ready\n");
    }
    plain(
        StatusCode::SERVICE_UNAVAILABLE,
        "the store takes no writes; the log says why\n",
    )
}

async fn metrics(app: &Arc<App>, head: &Parts) -> Response<PageBody> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Status::of(app).await));
    let mut text = String::new();
    // Writing to a string does not fail.
    if encode(&mut text, &registry).is_err() {
        return plain(StatusCode::INTERNAL_SERVER_ERROR, "cannot be written\n");
    }
    if prefers_open_metrics(head) {
        answer(StatusCode::OK, OPEN_METRICS, text)
    } else {
        answer(StatusCode::OK, PROMETHEUS, prometheus_text(&text))
    }
}

/// Whether `OpenMetrics` is named in `Accept` with at least the weight of plain text (RFC 9110, section
/// 12.5.1).
fn prefers_open_metrics(head: &Parts) -> bool {
    let accept = head.headers.get_all(ACCEPT).into_iter();
    let ranges = accept.filter_map(|value| value.to_str().ok());
    let (mut open_metrics, mut plain) = (0.0_f32, 0.0_f32);
    for range in ranges.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(|it| it.strip_prefix("q="));
        let weight = weight.map_or(1.0, |it| it.parse().unwrap_or(0.0));
        match media_type.as_str() {
            "application/openmetrics-text" => open_metrics = open_metrics.max(weight),
            "text/plain" | "text/*" => plain = plain.max(weight),
            _ => {}
        }
    }
    open_metrics > 0.0 && open_metrics >= plain
}

fn plain(status: StatusCode, text: &str) -> Response<PageBody> {
    answer(status, PLAIN, text.to_owned())
}

fn answer(status: StatusCode, media_type: &'static str, text: String) -> Response<PageBody> {
    let mut response = Response::new(whole(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The older format, from the newer one: counters are declared under the names of their samples, and there
/// is no mark at the end.
fn prometheus_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut lines = open_metrics.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "# EOF" {
            break;
        }
        let words: Vec<_> = line.splitn(4, ' ').collect();
        let is_counter = |line: &str| line.starts_with("# TYPE ") && line.ends_with(" counter");
        match words.as_slice() {
            // The type follows the help.
            ["#", "HELP", name, help] if lines.peek().is_some_and(|next| is_counter(next)) => {
                text += &format!("# HELP {name}_total {help}\n");
            }
            ["#", "TYPE", name, "counter"] => text += &format!("# TYPE {name}_total counter\n"),
            _ => {
                text += line;
                text.push('\n');
            }
        }
    }
    text
}

impl Collector for Status {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Families(encoder);
        let metrics = &self.app.metrics;
        out.gauges(
            "landing_api_build_info",
            "The version that runs.",
            [([("version", env!("CARGO_PKG_VERSION"))], 1_u64)],
        )?;
        requests(&mut out, metrics)?;
        use_cases(&mut out, metrics)?;
        deliveries(&mut out, metrics)?;
        out.gauge(
            "landing_api_model_available",
            "Whether the model is asked: 0 while it is left alone after failures.",
            u64::from(!self.app.model.is_paused()),
        )?;
        tls(&mut out, metrics)?;
        self.stores(&mut out)?;
        self.process(&mut out)
    }
}

fn requests(out: &mut Families<'_>, metrics: &Metrics) -> fmt::Result {
    let endpoints = metrics.endpoints();
    let requests = endpoints.iter().flat_map(|endpoint| {
        StatusClass::ALL.map(|class| {
            let labels = [("endpoint", endpoint.name), ("status", class.as_str())];
            (labels, endpoint.requests(class))
        })
    });
    out.counters(
        "landing_api_requests",
        "Requests by endpoint and class of status; none if the client hung up.",
        requests,
    )?;
    let durations = endpoints.iter();
    let durations = durations.map(|it| ([("endpoint", it.name)], &it.durations));
    out.histograms(
        "landing_api_request_duration_seconds",
        "From a request's head to the head of its answer.",
        1e6,
        durations,
    )?;
    let charges = metrics.policies().flat_map(|(policy, it)| {
        let name = policy.as_str();
        [
            ("admitted", &it.admitted),
            ("refused", &it.refused),
            ("refunded", &it.refunded),
        ]
        .map(|(decision, count)| ([("policy", name), ("decision", decision)], count.get()))
    });
    out.counters(
        "landing_api_charges",
        "Charges to rate-limit policies by decision.",
        charges,
    )
}

fn use_cases(out: &mut Families<'_>, metrics: &Metrics) -> fmt::Result {
    // One number: two would tell whoever signs an address up whether it was known.
    out.counter(
        "landing_api_sign_ups",
        "Newsletter sign-ups kept here.",
        metrics.sign_ups.get() + metrics.renewals.get(),
    )?;
    out.counter(
        "landing_api_leavings",
        "Contacts that left the newsletter by their link.",
        metrics.leavings.get(),
    )?;
    let forms = &metrics.forms;
    let stopped = [
        ("honeypot", &forms.honeypot),
        ("stamp", &forms.stamp),
        ("proof", &forms.proof),
    ];
    out.counters(
        "landing_api_forms_stopped",
        "Plain forms of the newsletter that were not taken.",
        labelled("check", stopped),
    )?;
    out.counter(
        "landing_api_keys_issued",
        "API keys issued.",
        metrics.keys.get(),
    )?;
    let registered = "Agents registered.";
    let agents = metrics.agents.get();
    out.counter("landing_api_agents_registered", registered, agents)?;
    out.counters(
        "landing_api_chat_turns",
        "Chat turns by how they ended.",
        labelled("outcome", metrics.model.by_outcome()),
    )?;
    let webhook = &metrics.webhook;
    let posts = [
        ("delivered", &webhook.delivered),
        ("failed", &webhook.failed),
        ("overloaded", &webhook.overloaded),
    ];
    out.counters(
        "landing_api_webhook_posts",
        "Sign-ups passed on to the newsletter's provider while visitors waited.",
        labelled("outcome", posts),
    )
}

/// Confirmations of sign-ups, and deliveries from the queue.
fn deliveries(out: &mut Families<'_>, metrics: &Metrics) -> fmt::Result {
    let confirmations = &metrics.confirmations;
    let steps = [
        ("shown", &confirmations.shown),
        ("given", &confirmations.given),
        ("refused", &confirmations.refused),
        ("expired", &confirmations.expired),
    ];
    out.counters(
        "landing_api_confirmations",
        "What became of sign-ups that are to be confirmed.",
        labelled("step", steps),
    )?;
    let attempts = Channel::ALL.into_iter().flat_map(|channel| {
        let counters = metrics.deliveries.of(channel);
        let outcomes = [
            ("made", &counters.made),
            ("failed", &counters.failed),
            ("given_up", &counters.given_up),
        ];
        outcomes.map(|(outcome, counter)| {
            let labels = [("channel", channel.as_str()), ("outcome", outcome)];
            (labels, counter.get())
        })
    });
    out.counters(
        "landing_api_delivery_attempts",
        "Attempts to deliver from the queue, by how they ended.",
        attempts,
    )
}

/// Without samples if a proxy speaks TLS for the service.
fn tls(out: &mut Families<'_>, metrics: &Metrics) -> fmt::Result {
    let (valid, order) = (metrics.tls.validity(), metrics.tls.order());
    let speaks_tls = valid.is_some() || order.is_some();
    let handshakes = labelled("outcome", metrics.tls.by_outcome());
    out.counters(
        "landing_api_tls_handshakes",
        "TLS handshakes by how they ended.",
        handshakes.filter(|_| speaks_tls),
    )?;
    let until = valid.as_ref().map(|valid| ([], valid.end.as_ms() / 1000));
    let expires = "When the certificate in use expires, since the Unix epoch.";
    out.gauges(
        "landing_api_tls_certificate_expires_seconds",
        expires,
        until,
    )?;
    let lifetime = valid.map(|valid| ([], valid.end.ms_since(valid.start) / 1000));
    let whole = "How long the certificate in use is valid as a whole.";
    out.gauges(
        "landing_api_tls_certificate_lifetime_seconds",
        whole,
        lifetime,
    )?;
    let failures = order.map(|order| ([], u64::from(order.failures)));
    out.gauges(
        "landing_api_tls_order_failures",
        "How many orders of the service's own certificate have failed in a row.",
        failures,
    )
}

impl Status {
    fn stores(&self, out: &mut Families<'_>) -> fmt::Result {
        let ledger = &self.app.metrics.ledger;
        out.gauge(
            "landing_api_store_available",
            "Whether the stores take writes.",
            u64::from(self.takes_writes),
        )?;
        out.histograms(
            "landing_api_ledger_commit_duration_seconds",
            "From the start of a batch until it is durable.",
            1e6,
            [([], &ledger.durations)],
        )?;
        out.histograms(
            "landing_api_ledger_batch_changes",
            "Changes in a batch.",
            1.0,
            [([], &ledger.batches)],
        )?;
        let failed = "Batches that could not be made durable.";
        let failures = ledger.failed.get();
        out.counter("landing_api_ledger_commit_failures", failed, failures)?;
        // To the byte it would tell, too, whether a sign-up was of a known address.
        out.gauge(
            "landing_api_ledger_bytes",
            "The length of the ledger, in whole MiB.",
            ledger.bytes().next_multiple_of(1024 * 1024),
        )?;
        self.queues(out)?;
        self.engines(out)?;
        if let Some(limiter) = self.limiter {
            let windows = "Rate-limit windows in memory.";
            out.gauge("landing_api_limiter_windows", windows, limiter.windows)?;
            out.gauge(
                "landing_api_limiter_windows_max",
                "The number of windows from which on newcomers share one.",
                limiter.windows_max,
            )?;
            let disk = "Bytes that rate-limit windows take on disk.";
            out.gauge("landing_api_limiter_disk_bytes", disk, limiter.disk_bytes)?;
            out.gauge(
                "landing_api_limiter_store_failing",
                "Whether rate-limit windows cannot be stored.",
                u64::from(limiter.is_store_failing),
            )?;
        }
        if let Some(disk) = self.disk {
            let free = "What the service may still take of the data directory's disk.";
            out.gauge("landing_api_disk_free_bytes", free, disk.free_bytes)?;
            let size = "The size of the data directory's disk.";
            out.gauge("landing_api_disk_size_bytes", size, disk.size_bytes)?;
        }
        Ok(())
    }

    fn queues(&self, out: &mut Families<'_>) -> fmt::Result {
        let by_channel = |value: fn(&QueueStanding, Timestamp) -> u64| {
            let queues = self.queues.iter();
            queues.map(move |(channel, standing)| {
                ([("channel", channel.as_str())], value(standing, self.now))
            })
        };
        out.gauges(
            "landing_api_deliveries_waiting",
            "What is to be delivered.",
            by_channel(|it, _now| it.waiting),
        )?;
        out.gauges(
            "landing_api_deliveries_oldest_age_seconds",
            "How long ago the oldest of it was made.",
            by_channel(|it, now| it.oldest.map_or(0, |at| now.ms_since(at) / 1000)),
        )?;
        out.gauges(
            "landing_api_deliveries_given_up",
            "Deliveries that were given up and are kept.",
            by_channel(|it, _now| it.dead),
        )?;
        out.gauges(
            "landing_api_deliveries_held",
            "Whether nothing leaves until the operator says so.",
            by_channel(|it, _now| u64::from(it.is_held)),
        )?;
        let channels = Channel::ALL.into_iter();
        let paused = channels.map(|channel| {
            let labels = [("channel", channel.as_str())];
            (labels, u64::from(self.pause(channel).is_some()))
        });
        out.gauges(
            "landing_api_deliveries_paused",
            "Whether nothing leaves for a while because the account is refused.",
            paused,
        )?;
        let workers = &self.app.metrics.workers;
        let restarts = workers
            .all()
            .map(|(worker, health)| (worker.as_str(), &health.restarts));
        out.counters(
            "landing_api_worker_restarts",
            "How often a worker ended and was started again.",
            labelled("worker", restarts),
        )
    }

    fn engines(&self, out: &mut Families<'_>) -> fmt::Result {
        let metrics = &self.app.metrics;
        let engines = metrics.engines();
        out.gauges(
            "landing_api_engine_available",
            "Whether the engine answers that all nodes share.",
            engines.map(|(name, it)| ([("engine", name)], u64::from(!it.is_away()))),
        )?;
        let losses = metrics.engines().map(|(name, it)| (name, &it.losses));
        out.counters(
            "landing_api_engine_losses",
            "How often it stopped to answer.",
            labelled("engine", losses),
        )?;
        out.counter(
            "landing_api_local_decisions",
            "Decisions on limits that were made without the engine.",
            metrics.local_decisions.get(),
        )
    }

    /// Under the names that all Prometheus clients use.
    fn process(&self, out: &mut Families<'_>) -> fmt::Result {
        let Some(process) = self.process else {
            return Ok(());
        };
        let cpu = "Time on processors.";
        out.counter("process_cpu_seconds", cpu, process.cpu_s)?;
        out.gauge(
            "process_resident_memory_bytes",
            "Memory in RAM.",
            process.resident_bytes,
        )?;
        out.gauge("process_open_fds", "Open files.", process.open_files)?;
        if let Some(most) = process.open_files_max {
            out.gauge("process_max_fds", "Most open files.", most)?;
        }
        out.gauge(
            "process_start_time_seconds",
            "When the process started, since the Unix epoch.",
            process.started_at.as_ms() / 1000,
        )
    }
}

/// Labels of a sample, each with its value.
type Labels<'a, const N: usize> = [(&'a str, &'a str); N];

/// Each counter under its value of the label `name`.
fn labelled<'a>(
    name: &'static str,
    counters: impl IntoIterator<Item = (&'static str, &'a Counter)>,
) -> impl Iterator<Item = (Labels<'static, 1>, u64)> {
    let counters = counters.into_iter();
    counters.map(move |(value, counter)| ([(name, value)], counter.get()))
}

/// Writes families of samples.
struct Families<'a>(DescriptorEncoder<'a>);

impl Families<'_> {
    /// Writes a family, each of its values by `write`.
    fn family<'a, const N: usize, V>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        samples: impl IntoIterator<Item = (Labels<'a, N>, V)>,
        write: impl Fn(&mut MetricEncoder<'_>, V) -> fmt::Result,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in samples {
            match N {
                // The crate would write empty braces if there are no labels.
                0 => write(&mut family, value)?,
                _ => write(&mut family.encode_family(&labels)?, value)?,
            }
        }
        Ok(())
    }

    fn counter(&mut self, name: &str, help: &str, value: impl EncodeCounterValue) -> fmt::Result {
        self.counters(name, help, [([], value)])
    }

    fn counters<'a, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels<'a, N>, impl EncodeCounterValue)>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Counter, samples, |sample, value| {
            sample.encode_counter::<NoLabelSet, _, u64>(&value, None)
        })
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl EncodeGaugeValue) -> fmt::Result {
        self.gauges(name, help, [([], value)])
    }

    fn gauges<'a, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels<'a, N>, impl EncodeGaugeValue)>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Gauge, samples, |sample, value| {
            sample.encode_gauge(&value)
        })
    }

    /// `unit` values are one in the samples.
    fn histograms<'a, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        unit: f64,
        samples: impl IntoIterator<Item = (Labels<'a, N>, &'a Histogram)>,
    ) -> fmt::Result {
        let kind = MetricType::Histogram;
        self.family(name, help, kind, samples, |sample, histogram| {
            let bound = |bound: Option<u64>| bound.map_or(f64::INFINITY, |it| in_unit(it, unit));
            let buckets = histogram.buckets().map(|(it, count)| (bound(it), count));
            let buckets: Vec<_> = buckets.collect();
            let count = buckets.iter().map(|(_, count)| count).sum();
            let sum = in_unit(histogram.sum(), unit);
            sample.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
        })
    }
}

#[allow(clippy::cast_precision_loss, reason = "the format has floats only")]
fn in_unit(value: u64, unit: f64) -> f64 {
    value as f64 / unit
}
