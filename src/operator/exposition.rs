//! `/metrics`, for Prometheus; `/live` and `/ready`, for orchestrators and load balancers.

use std::sync::Arc;

use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};

use crate::app::App;

use super::families;
use super::page::{PageBody, asset};
use super::status::Status;

/// Prometheus's text format, which every scraper reads.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// The response to a request for one of these paths; `None` for any other.
pub async fn respond(app: &Arc<App>, head: &Parts) -> Option<Response<PageBody>> {
    let is_read = matches!(head.method, Method::GET | Method::HEAD);
    let answer = match head.uri.path() {
        "/metrics" if is_read => answer(
            StatusCode::OK,
            PROMETHEUS,
            families::text(&Status::of(app).await),
        ),
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
    let mut response = asset(media_type, text);
    *response.status_mut() = status;
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, no_store);
    response
}
