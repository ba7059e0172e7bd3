//! Writing an answer: its status, the headers that every answer has, its body.

use hyper::body::{Body as _, Bytes};
use hyper::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, PRAGMA, VARY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Response, StatusCode};

use crate::domain::decision::Decision;
use crate::site::page_writer::PageWriter;

use super::area::Area;
use super::context::RequestContext;
use super::documents::DocumentUrls;
use super::error_page;
use super::headers::{NO_STORE, X_REQUEST_ID, insert};
use super::problem::Problem;
use super::ratelimit;
use super::reply::{Reply, ReplyBody, whole};
use super::request_id::RequestId;

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");
/// Tells nginx not to buffer a stream.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Writes answers.
#[derive(Debug)]
pub(super) struct Renderer {
    base_url: String,
    /// The URL of the protected resource metadata (RFC 9728).
    metadata: String,
    page_writer: PageWriter,
}

impl Renderer {
    pub(super) fn new(base_url: &str, page_writer: PageWriter) -> Self {
        Self {
            base_url: base_url.to_owned(),
            metadata: DocumentUrls::new(base_url).protected_resource,
            page_writer,
        }
    }

    /// The answer to a request. Takes headers and body out of `outcome`
    /// and merges its decision into `decision`, which the log reads afterwards.
    pub(super) fn render(
        &self,
        context: &RequestContext,
        outcome: &mut Result<Reply, Problem>,
        decision: &mut Decision,
    ) -> Response<ReplyBody> {
        let is_head = context.parts.method == hyper::Method::HEAD;
        let (id, area) = (context.id, context.area);
        match outcome {
            Ok(reply) => {
                if let Some(later) = &reply.decision {
                    decision.merge(later);
                }
                let headers = std::mem::take(&mut reply.headers);
                let body = std::mem::take(&mut reply.body);
                write(id, is_head, area, decision, (reply.status, headers, body))
            }
            Err(problem) => {
                decision.merge(&problem.decision);
                self.problem(id, &context.parts, problem, decision)
            }
        }
    }

    /// The answer to a request that failed: a problem, or a page for whoever wants one.
    pub(super) fn problem(
        &self,
        id: RequestId,
        request: &Parts,
        problem: &Problem,
        decision: &Decision,
    ) -> Response<ReplyBody> {
        let is_head = request.method == hyper::Method::HEAD;
        let area = Area::of(request.uri.path());
        if error_page::is_wanted(request)
            && let Some(page) = error_page::reply(&self.page_writer, id, request, problem, decision)
        {
            let parts = (page.status, page.headers, page.body);
            return write(id, is_head, area, decision, parts);
        }
        let status = problem.code.kind().status;
        let mut headers = HeaderMap::with_capacity(16);
        headers.insert(CONTENT_TYPE, PROBLEM_JSON);
        headers.extend(problem.headers.iter().cloned());
        if area == Area::Site {
            headers.insert(VARY, HeaderValue::from_static("Accept"));
        }
        if status == StatusCode::UNAUTHORIZED {
            insert(
                &mut headers,
                WWW_AUTHENTICATE,
                &problem.challenge(&self.metadata),
            );
        }
        let body = problem.body(&self.base_url, id, decision, area);
        let body = whole(Bytes::from(body));
        write(id, is_head, area, decision, (status, headers, body))
    }
}

/// Adds what every answer has.
fn write(
    id: RequestId,
    is_head: bool,
    area: Area,
    decision: &Decision,
    (status, mut headers, body): (StatusCode, HeaderMap, ReplyBody),
) -> Response<ReplyBody> {
    headers.insert(X_REQUEST_ID, id.to_header());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if area.is_for_programs() || decision.is_refused() {
        ratelimit::write(decision, status, &mut headers);
    }
    if area == Area::OAuth {
        // RFC 6749, section 5.1.
        headers.insert(CACHE_CONTROL, NO_STORE);
        headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    }
    match body.size_hint().exact() {
        // Its length would be that of the representation (RFC 9110, section 8.6).
        Some(_) if status == StatusCode::NOT_MODIFIED => {}
        // hyper writes the length of a body that is sent.
        Some(length) if is_head || length == 0 => {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        Some(_) => {}
        None => {
            headers.insert(CACHE_CONTROL, NO_STORE);
            headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
        }
    }
    let body = if is_head { ReplyBody::default() } else { body };
    response(status, headers, body)
}

/// An answer of these parts.
pub(super) fn response(
    status: StatusCode,
    headers: HeaderMap,
    body: ReplyBody,
) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
