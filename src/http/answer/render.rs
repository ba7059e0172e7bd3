//! Writing an answer: its status, the headers that every answer has, its body.

use hyper::body::{Body as _, Bytes};
use hyper::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, PRAGMA, VARY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Response, StatusCode};

use crate::domain::Decision;
use crate::site::page_writer::PageWriter;

use crate::http::answer::documents::DocumentUrls;
use crate::http::answer::page::{failure_page, is_page_wanted};
use crate::http::answer::ratelimit;
use crate::http::answer::reply::{NO_STORE, X_REQUEST_ID};
use crate::http::{
    Area, Code, Problem, Reply, ReplyBody, RequestContext, RequestId, insert, whole,
};

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
/// Tells nginx not to buffer a stream.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Writes answers.
#[derive(Debug)]
pub(crate) struct Renderer {
    base_url: String,
    /// The URL of the protected resource metadata (RFC 9728).
    metadata: String,
    page_writer: PageWriter,
}

impl Renderer {
    pub(crate) fn new(base_url: &str, page_writer: PageWriter) -> Self {
        Self {
            base_url: base_url.to_owned(),
            metadata: DocumentUrls::new(base_url).protected_resource,
            page_writer,
        }
    }

    /// The answer to a request. Takes headers and body out of `outcome` and merges its decision into
    /// that of the request, both of which the log reads afterwards.
    pub(crate) fn render(
        &self,
        context: &mut RequestContext,
        outcome: &mut Result<Reply, Problem>,
    ) -> Response<ReplyBody> {
        match outcome {
            Ok(reply) => {
                if let Some(later) = &reply.decision {
                    context.decision.merge(later);
                }
                let headers = std::mem::take(&mut reply.headers);
                let body = std::mem::take(&mut reply.body);
                write(context, (reply.status, headers, body))
            }
            Err(problem) => {
                context.decision.merge(&problem.decision);
                self.problem(context, problem)
            }
        }
    }

    /// The answer to a request that failed: a problem, or a page for whoever wants one.
    fn problem(&self, context: &RequestContext, problem: &Problem) -> Response<ReplyBody> {
        let (id, area, decision) = (context.id, context.area, &context.decision);
        if is_page_wanted(&context.parts)
            && let Some(page) =
                failure_page(&self.page_writer, id, &context.parts, problem, decision)
        {
            return write(context, (page.status, page.headers, page.body));
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
        write(context, (status, headers, body))
    }

    /// The answer to a request of which nothing else is left.
    pub(crate) fn fault(&self, id: RequestId, is_head: bool) -> Response<ReplyBody> {
        let problem = Problem::of(Code::InternalError);
        let headers = HeaderMap::from_iter([
            (CONTENT_TYPE, PROBLEM_JSON),
            (X_REQUEST_ID, id.to_header()),
            (X_CONTENT_TYPE_OPTIONS, NOSNIFF),
        ]);
        let body = problem.body(&self.base_url, id, &Decision::default(), Area::Site);
        let body = whole(if is_head { Bytes::new() } else { body.into() });
        response(problem.code.kind().status, headers, body)
    }
}

/// Adds what every answer has.
fn write(
    context: &RequestContext,
    (status, mut headers, body): (StatusCode, HeaderMap, ReplyBody),
) -> Response<ReplyBody> {
    let (area, decision) = (context.area, &context.decision);
    let is_head = context.parts.method == hyper::Method::HEAD;
    headers.insert(X_REQUEST_ID, context.id.to_header());
    headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
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
pub(crate) fn response(
    status: StatusCode,
    headers: HeaderMap,
    body: ReplyBody,
) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
