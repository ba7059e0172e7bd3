//! Failures as pages, for people: whoever asks for HTML outside the API gets words instead of a problem.

use hyper::header::{HeaderValue, VARY};
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};
use serde::Serialize;

use crate::domain::decision::Decision;
use crate::site::page_writer::PageWriter;

use super::area::Area;
use super::negotiate;
use super::problem::Problem;
use super::reply::Reply;
use super::request_id::RequestId;
use super::written_page::WrittenPage;

/// What the page says.
#[derive(Debug, Serialize)]
struct ErrorValues {
    /// The keys of its messages.
    title: &'static str,
    text_key: &'static str,
    /// After how many seconds to try again.
    wait_s: u64,
    id: String,
}

/// Whether a request wants a page rather than a problem: it names HTML, and likes JSON no better.
pub(super) fn is_wanted(request: &Parts) -> bool {
    const OFFERED: [&str; 3] = ["application/problem+json", "application/json", "text/html"];
    let is_for_people = Area::of(request.uri.path()) == Area::Site;
    is_for_people && negotiate::choose(&request.headers, OFFERED.into_iter()) == 2
}

/// The page for `problem`, with the headers that the problem has. None if it cannot be rendered.
pub(super) fn reply(
    writer: &PageWriter,
    id: RequestId,
    request: &Parts,
    problem: &Problem,
    decision: &Decision,
) -> Option<Reply> {
    let status = problem.code.kind().status;
    let (title, text_key) = match status {
        StatusCode::NOT_FOUND => ("error-not-found-title", "error-not-found"),
        StatusCode::METHOD_NOT_ALLOWED => ("error-method-title", "error-method"),
        StatusCode::TOO_MANY_REQUESTS => ("error-too-many-title", "error-too-many"),
        status if status.is_server_error() => ("error-broken-title", "error-broken"),
        _ => ("error-other-title", "error-other"),
    };
    let page = WrittenPage {
        status,
        language: negotiate::language(&request.uri, &request.headers),
        layout: "parts/error.html",
        title,
        path: None,
        values: ErrorValues {
            title,
            text_key,
            wait_s: decision.binding().map_or(0, |standing| standing.reset_s()),
            id: id.to_string(),
        },
    };
    let mut reply = page.reply(writer).ok()?;
    reply
        .headers
        .extend(problem.headers.iter().cloned().collect::<HeaderMap>());
    reply
        .headers
        .insert(VARY, HeaderValue::from_static("Accept, Accept-Language"));
    Some(reply)
}
