//! Writing an answer: its status, the headers that every answer has, its body.

use std::mem;

use hyper::body::Body as _;
use hyper::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, PRAGMA, RETRY_AFTER,
    VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Response, StatusCode};

use crate::domain::{Decision, Policies, Standing};

use crate::http::answer::page::failure_page;
use crate::http::answer::ratelimit::{self, RateLimitHeaders};
use crate::http::answer::reply::{BLANK, NO_STORE, NOSNIFF, X_REQUEST_ID};
use crate::http::{
    Area, Code, Problem, Reply, ReplyBody, RequestContext, RequestId, insert, whole,
};

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");
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
        // The blanks come first, in the order in which `fill` fills them. `RateLimitHeaders::values` follows the order
        // of `NAMES`.
        let blanks = [X_REQUEST_ID, CONTENT_TYPE].into_iter();
        let blanks = blanks.chain(ratelimit::NAMES).map(|name| (name, BLANK));
        let rest = [(X_CONTENT_TYPE_OPTIONS, NOSNIFF), (CACHE_CONTROL, NO_STORE)];
        Self {
            limits: RateLimitHeaders::new(policies),
            template: blanks.chain(rest).collect(),
        }
    }

    /// Adds to `response` what every answer has. Its type is `content_type`, unless that is among its headers.
    pub(crate) fn complete(
        &self,
        context: &RequestContext,
        decision: &Decision,
        content_type: Option<HeaderValue>,
        response: &mut Response<ReplyBody>,
    ) {
        let (area, status) = (context.area, response.status());
        let shows_limits = area.is_for_programs() || decision.is_refused();
        let binding = decision.binding().filter(|_| shows_limits);
        let id = context.id.to_header();
        let headers = response.headers_mut();
        match binding {
            Some(binding) => self.fill(id, content_type, binding, decision, headers),
            None => {
                headers.insert(X_REQUEST_ID, id);
                headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
                headers.extend(content_type.map(|value| (CONTENT_TYPE, value)));
            }
        }
        // `Retry-After` equals `RateLimit-Reset` and comes with 429 only: a refused tool is an answer of
        // another status.
        if status == StatusCode::TOO_MANY_REQUESTS
            && let Some(binding) = binding
        {
            headers.insert(RETRY_AFTER, HeaderValue::from(binding.reset_s()));
        }
        if area == Area::OAuth {
            // RFC 6749, section 5.1.
            headers.insert(CACHE_CONTROL, NO_STORE);
            headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
        }
        let (length, is_head) = (response.body().size_hint().exact(), context.is_head());
        let headers = response.headers_mut();
        match length {
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
        if is_head {
            *response.body_mut() = whole("");
        }
    }

    /// Merges `headers`, a reply's own, into a copy of the template.
    fn fill(
        &self,
        id: HeaderValue,
        content_type: Option<HeaderValue>,
        binding: &Standing,
        decision: &Decision,
        headers: &mut HeaderMap,
    ) {
        let mut own = mem::replace(headers, self.template.clone());
        let has_type = content_type.is_some();
        let mut blanks = headers.values_mut();
        let mut fill = |value| {
            if let Some(blank) = blanks.next() {
                *blank = value;
            }
        };
        fill(id);
        fill(content_type.unwrap_or(BLANK));
        self.limits.values(binding, decision, fill);
        if !has_type {
            headers.remove(CONTENT_TYPE);
        }
        if !own.is_empty() {
            // No cache may keep the numbers, which are one client's at one moment.
            own.remove(CACHE_CONTROL);
            own.remove(X_REQUEST_ID);
            headers.extend(own);
        }
    }
}

/// The answer to a request that failed: a problem, or a page for whoever wants one.
pub(crate) fn problem_reply(
    context: &RequestContext,
    decision: &Decision,
    problem: &Problem,
) -> Reply {
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
    Reply::new(problem.code.status(), headers, whole(body)).response
}
