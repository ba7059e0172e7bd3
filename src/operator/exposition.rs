//! `/metrics`, for Prometheus; `/live` and `/ready`, for orchestrators and load balancers.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use minijinja::context;
use minijinja::value::Serde;
use serde_json::{Value, json};

use crate::app::App;
use crate::domain::Channel;
use crate::metrics::Histogram;

use super::page::{PageBody, reply};
use super::status::{counts, engines, queues, service};
use super::words::templates;

/// Prometheus's text format, which every scraper reads.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// The response to a request for one of these paths; `None` for any other.
pub async fn respond(app: &Arc<App>, head: &Parts) -> Option<Response<PageBody>> {
    if !matches!(head.method, Method::GET | Method::HEAD) {
        return None;
    }
    let unready = |fault| reply(StatusCode::SERVICE_UNAVAILABLE, PLAIN, fault);
    let mut response = match head.uri.path() {
        "/metrics" => match metrics(app).await {
            Ok(text) => reply(StatusCode::OK, PROMETHEUS, text),
            // A bug.
            Err(error) => reply(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, error.to_string()),
        },
        "/live" => reply(StatusCode::OK, PLAIN, "live\n"),
        "/ready" if app.metrics.stopping.is_cancelled() => unready("stopping\n"),
        "/ready" if !app.takes_writes() => unready("the store is not writable; see the log\n"),
        "/ready" => reply(StatusCode::OK, PLAIN, "ready\n"),
        _ => return None,
    };
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, no_store);
    Some(response)
}

/// The metrics: the status, and counters that it lacks.
async fn metrics(app: &App) -> Result<String, minijinja::Error> {
    const SOURCE: (&str, &str) = ("metrics.txt", include_str!("../../data/admin/metrics.txt"));
    let (metrics, now) = (&app.metrics, app.clock.now());
    let endpoints = metrics.endpoints.iter().map(|(name, endpoint)| {
        json!({
            "name": name,
            "requests": counts(endpoint.by_outcome()),
            "durations": distribution(&endpoint.durations),
        })
    });
    let workers = metrics.workers.all();
    let restarts = workers.map(|(worker, health)| (worker.as_str(), health.restarts.get()));
    let attempts = Channel::ALL.map(|channel| {
        let outcomes = counts(metrics.deliveries(channel).by_outcome());
        json!({ "channel": channel.as_str(), "outcomes": outcomes })
    });
    let counted = json!({
        "endpoints": endpoints.collect::<Vec<_>>(),
        // One number: two would reveal if an address was known to whoever signs it up.
        "sign_ups": metrics.sign_ups.get() + metrics.renewals.get(),
        "unsubscribes": metrics.leavings.get(),
        "trapped_forms": metrics.trapped_forms.get(),
        "attempts": attempts,
        "confirmations": counts(metrics.confirmations.by_outcome()),
        "keys": metrics.keys.get(),
        "agents": metrics.agents.get(),
        "commits": distribution(&metrics.ledger.durations),
        "changes": metrics.ledger.changes.get(),
        "failed_commits": metrics.ledger.failed.get(),
        "local_decisions": metrics.local_decisions.get(),
        "worker_restarts": counts(restarts),
        "tls_handshakes": counts(metrics.tls.by_outcome()),
    });
    let values = context! {
        version => env!("CARGO_PKG_VERSION"),
        now => now.to_rfc3339(),
        counted => Serde(counted),
        service => Serde(service(app, now).await),
        engines => Serde(engines(app)),
        queues => Serde(queues(app, now).await),
    };
    let text = templates(&[SOURCE])?
        .get_template(SOURCE.0)?
        .render(values)?;
    let lines = text.lines().filter(|line| !line.is_empty());
    Ok(lines.flat_map(|line| [line, "\n"]).collect())
}

/// A distribution in seconds. Buckets of the format are cumulative.
fn distribution(histogram: &Histogram) -> Value {
    let seconds = |us| Duration::from_micros(us).as_secs_f64();
    let mut count = 0;
    let buckets = histogram.buckets().map(|(bound_us, number)| {
        count += number;
        let bound = bound_us.map_or_else(|| "+Inf".to_owned(), |us| seconds(us).to_string());
        json!({ "le": bound, "count": count })
    });
    let buckets: Vec<_> = buckets.collect();
    json!({ "buckets": buckets, "sum_s": seconds(histogram.sum_us.get()), "count": count })
}
