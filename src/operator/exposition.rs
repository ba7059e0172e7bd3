//! `/metrics`, for Prometheus; `/live` and `/ready`, for orchestrators and load balancers.

use std::fmt::Display;
use std::sync::Arc;

use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};

use crate::app::App;
use crate::metrics::Histogram;

use super::families::{FAMILIES, Value};
use super::page::{PageBody, whole};
use super::status::Status;

/// Prometheus's text format, which every scraper reads.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// The response to a request for one of these paths; `None` for any other.
pub async fn respond(app: &Arc<App>, head: &Parts) -> Option<Response<PageBody>> {
    let is_read = matches!(head.method, Method::GET | Method::HEAD);
    let answer = match head.uri.path() {
        "/metrics" if is_read => {
            answer(StatusCode::OK, PROMETHEUS, metrics(&Status::of(app).await))
        }
        "/live" if is_read => plain(StatusCode::OK, "live\n"),
        "/ready" if is_read => ready(app).await,
        _ => return None,
    };
    Some(answer)
}

/// Readiness for requests: the stores are writable, and the service is not stopping.
async fn ready(app: &App) -> Response<PageBody> {
    if app.metrics.is_stopping() {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
    }
    if app.takes_writes() {
        return plain(StatusCode::OK, "ready\n");
    }
    plain(
        StatusCode::SERVICE_UNAVAILABLE,
        "the store is not writable; see the log\n",
    )
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

fn metrics(status: &Status) -> String {
    let mut text = String::new();
    for &(kind, name, help, samples) in FAMILIES {
        text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (labels, value) in samples(status) {
            // The values are names in the code, and need no escaping.
            let labels = labels
                .iter()
                .map(|(label, value)| format!("{label}=\"{value}\""));
            let labels = labels.collect::<Vec<_>>().join(",");
            match value {
                Value::Whole(value) => text += &sample(name, "", &labels, value),
                Value::Seconds(value) => text += &sample(name, "", &labels, value),
                Value::Distribution(histogram, unit) => {
                    distribution(&mut text, name, &labels, (histogram, unit));
                }
            }
        }
    }
    text
}

/// Buckets of the format are cumulative.
fn distribution(text: &mut String, name: &str, labels: &str, (histogram, unit): (&Histogram, f64)) {
    let comma = if labels.is_empty() { "" } else { "," };
    let mut count = 0;
    for (bound, counted) in histogram.buckets() {
        count += counted;
        let bound = bound.map_or_else(
            || "+Inf".to_owned(),
            |bound| in_unit(bound, unit).to_string(),
        );
        let labels = format!("{labels}{comma}le=\"{bound}\"");
        *text += &sample(name, "_bucket", &labels, count);
    }
    *text += &sample(name, "_sum", labels, in_unit(histogram.sum(), unit));
    *text += &sample(name, "_count", labels, count);
}

fn sample(name: &str, suffix: &str, labels: &str, value: impl Display) -> String {
    match labels {
        "" => format!("{name}{suffix} {value}\n"),
        _ => format!("{name}{suffix}{{{labels}}} {value}\n"),
    }
}

#[allow(clippy::cast_precision_loss, reason = "the format has floats only")]
fn in_unit(value: u64, unit: f64) -> f64 {
    value as f64 / unit
}
