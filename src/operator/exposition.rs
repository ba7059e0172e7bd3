//! `/metrics`, for Prometheus; `/live` and `/ready`, for orchestrators and load balancers.

use std::sync::Arc;

use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};

use crate::app::App;

use super::families;
use super::page::{PageBody, reply};
use super::status::Status;

/// Prometheus's text format, which every scraper reads.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// The response to a request for one of these paths; `None` for any other.
pub async fn respond(app: &Arc<App>, head: &Parts) -> Option<Response<PageBody>> {
    if !matches!(head.method, Method::GET | Method::HEAD) {
        return None;
    }
    let (status, media_type, text) = match head.uri.path() {
        "/metrics" => {
            let text = families::text(&Status::of(app).await);
            (StatusCode::OK, PROMETHEUS, text)
        }
        "/live" => (StatusCode::OK, PLAIN, "live\n".to_owned()),
        "/ready" => match fault(app) {
            None => (StatusCode::OK, PLAIN, "ready\n".to_owned()),
            Some(fault) => (StatusCode::SERVICE_UNAVAILABLE, PLAIN, fault.to_owned()),
        },
        _ => return None,
    };
    let mut response = reply(status, media_type, text);
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, no_store);
    Some(response)
}

/// Why the service is not ready for requests, if it isn't.
fn fault(app: &App) -> Option<&'static str> {
    if app.metrics.is_stopping() {
        return Some("stopping\n");
    }
    let is_ready = app.takes_writes();
    (!is_ready).then_some("the store is not writable; see the log\n")
}
