//! Writing an answer: its status, the headers that every answer has, its body.

use std::mem;

use hyper::body::Body as _;
use hyper::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, PRAGMA, RETRY_AFTER,
    VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Response, StatusCode};

use crate::domain::{Decision, Policies};

use crate::http::answer::page::failure_page;
use crate::http::answer::ratelimit::{self, RateLimitHeaders};
use crate::http::answer::reply::{NO_STORE, X_REQUEST_ID};
use crate::http::{
    Area, Code, Problem, Reply, ReplyBody, RequestContext, RequestId, insert, whole,
};

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");
/// A placeholder.
const BLANK: HeaderValue = HeaderValue::from_static("");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
/// Tells nginx not to buffer a stream.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Writes answers.
#[derive(Debug)]
pub(crate) struct Renderer {
    limits: RateLimitHeaders,
    /// The headers of most answers to programs. It is copied and filled: to insert them one by one would cost more
    /// than all decisions about the request.
    template: HeaderMap,
}

impl Renderer {
    pub(crate) fn new(policies: &Policies) -> Self {
        // The blanks come first, in the order in which they are filled.
        let blanks = [X_REQUEST_ID, CONTENT_TYPE].into_iter();
        let blanks = blanks.chain(ratelimit::NAMES).map(|name| (name, BLANK));
        let rest = [(X_CONTENT_TYPE_OPTIONS, NOSNIFF), (CACHE_CONTROL, NO_STORE)];
        Self {
            limits: RateLimitHeaders::new(policies),
            template: blanks.chain(rest).collect(),
        }
    }

    /// The answer to a request. Takes headers and body out of `outcome` and merges its decision into
    /// that of the request, both of which the log reads afterwards.
    pub(crate) fn render(
        &self,
        context: &RequestContext,
        decision: &mut Decision,
        outcome: &mut Result<Reply, Problem>,
    ) -> Response<ReplyBody> {
        match outcome {
            Ok(reply) => {
                if let Some(later) = &reply.decision {
                    decision.merge(later);
                }
                self.write(context, decision, reply)
            }
            Err(problem) => {
                decision.merge(&problem.decision);
                let mut reply = problem_reply(context, decision, problem);
                self.write(context, decision, &mut reply)
            }
        }
    }

    /// Adds to `reply` what every answer has.
    fn write(
        &self,
        context: &RequestContext,
        decision: &Decision,
        reply: &mut Reply,
    ) -> Response<ReplyBody> {
        let (area, status) = (context.area, reply.status);
        let is_head = context.parts.method == hyper::Method::HEAD;
        let shows_limits = area.is_for_programs() || decision.is_refused();
        let limits = shows_limits.then(|| self.limits.values(decision)).flatten();
        // `Retry-After` equals `RateLimit-Reset` and comes with 429 only: a refused tool is an answer of
        // another status.
        let refused = limits
            .as_ref()
            .filter(|_| status == StatusCode::TOO_MANY_REQUESTS);
        let retry_after = refused.map(|[_, _, reset, ..]| reset.clone());
        let mut headers = self.headers(context.id, reply, limits);
        if let Some(retry_after) = retry_after {
            headers.insert(RETRY_AFTER, retry_after);
        }
        if area == Area::OAuth {
            // RFC 6749, section 5.1.
            headers.insert(CACHE_CONTROL, NO_STORE);
            headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
        }
        match reply.body.size_hint().exact() {
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
        let body = mem::replace(&mut reply.body, whole(""));
        response(status, headers, if is_head { whole("") } else { body })
    }

    /// Merges the reply's own headers with the template.
    fn headers(
        &self,
        id: RequestId,
        reply: &mut Reply,
        limits: Option<[HeaderValue; 5]>,
    ) -> HeaderMap {
        let content_type = reply.content_type.take();
        let Some(limits) = limits else {
            let mut headers = mem::take(&mut reply.headers);
            headers.insert(X_REQUEST_ID, id.to_header());
            headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
            headers.extend(content_type.map(|value| (CONTENT_TYPE, value)));
            return headers;
        };
        let mut headers = self.template.clone();
        let has_type = content_type.is_some();
        let [limit, remaining, reset, rate_limit, policy] = limits;
        let content_type = content_type.unwrap_or(BLANK);
        let values = [
            id.to_header(),
            content_type,
            limit,
            remaining,
            reset,
            rate_limit,
            policy,
        ];
        for (blank, value) in headers.values_mut().zip(values) {
            *blank = value;
        }
        if !has_type {
            headers.remove(CONTENT_TYPE);
        }
        if !reply.headers.is_empty() {
            let mut own = mem::take(&mut reply.headers);
            // No cache may keep the numbers, which are one client's at one moment.
            own.remove(CACHE_CONTROL);
            headers.extend(own);
        }
        headers
    }
}

/// The answer to a request that failed: a problem, or a page for whoever wants one.
fn problem_reply(context: &RequestContext, decision: &Decision, problem: &Problem) -> Reply {
    if let Some(page) = failure_page(context, problem, decision) {
        return page;
    }
    let status = problem.code.status();
    let mut headers: HeaderMap = problem.headers.iter().cloned().collect();
    if context.area == Area::Site {
        headers.insert(VARY, HeaderValue::from_static("Accept"));
    }
    if status == StatusCode::UNAUTHORIZED {
        let challenge = problem.challenge(&context.app().settings.base_url);
        insert(&mut headers, WWW_AUTHENTICATE, &challenge);
    }
    let base_url = &context.app().settings.base_url;
    let body = problem.body(base_url, context.id, decision, context.area);
    Reply {
        content_type: Some(PROBLEM_JSON),
        ..Reply::new(status, headers, whole(body))
    }
}

/// The answer to a request of which nothing else is left.
pub(crate) fn fault(base_url: &str, id: RequestId, is_head: bool) -> Response<ReplyBody> {
    let problem = Problem::of(Code::InternalError);
    let headers = HeaderMap::from_iter([
        (CONTENT_TYPE, PROBLEM_JSON),
        (X_REQUEST_ID, id.to_header()),
        (X_CONTENT_TYPE_OPTIONS, NOSNIFF),
    ]);
    let body = problem.body(base_url, id, &Decision::default(), Area::Site);
    let body = if is_head { Vec::new() } else { body };
    response(problem.code.status(), headers, whole(body))
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
