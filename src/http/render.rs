//! Writing an answer: its status, the headers that every answer has, its body.

use hyper::body::{Body as _, Bytes};
use hyper::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, PRAGMA, WWW_AUTHENTICATE,
};
use hyper::{HeaderMap, Response, StatusCode};

use crate::domain::decision::Decision;
use crate::domain::settings::Settings;

use super::cors;
use super::headers::{self, NO_STORE, Template, UNSET, X_REQUEST_ID};
use super::problem::Problem;
use super::ratelimit::{self, RateLimitHeaders};
use super::reply::{Begin, Reply, ReplyBody};
use super::request_id::RequestId;
use super::route::Area;
use super::version;
use super::visit::Visit;

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");
/// Tells nginx to pass a stream on as it comes.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Writes answers.
#[derive(Debug)]
pub(super) struct Renderer {
    base_url: String,
    /// Where the description of how to authenticate is.
    metadata: String,
    rate_limits: RateLimitHeaders,
    /// What headers begin with: `Content-Type` and `X-Request-Id` are blanks.
    usual: Template,
    /// What they begin with if they show the rate limits, which are blanks, too.
    counted: Template,
}

impl Renderer {
    pub(super) fn new(settings: &Settings) -> Self {
        let blanks = ["content-type", X_REQUEST_ID];
        let usual = headers::usual();
        let mut counted = usual.clone();
        counted.insert(CACHE_CONTROL, NO_STORE);
        Self {
            base_url: settings.base_url.clone(),
            metadata: settings.protected_resource(),
            rate_limits: RateLimitHeaders::new(&settings.policies),
            usual: Template::new(usual, blanks),
            counted: Template::new(counted, blanks.into_iter().chain(ratelimit::NAMES)),
        }
    }

    /// The answer to `visit`, but for what CORS adds to it. What policies beyond the door said is
    /// merged into `decision`; of `outcome`, what the log wants to know is left.
    pub(super) fn render(
        &self,
        visit: &Visit,
        outcome: &mut Result<Reply, Problem>,
        decision: &mut Decision,
    ) -> Response<ReplyBody> {
        let (id, area) = (visit.id, visit.area);
        let (status, begin, own, body) = match outcome {
            Ok(reply) => {
                if let Some(later) = &reply.decision {
                    decision.merge(later);
                }
                let begin = std::mem::replace(&mut reply.begin, Begin::Usual(None));
                let own = std::mem::take(&mut reply.headers);
                (reply.status, begin, own, std::mem::take(&mut reply.body))
            }
            Err(problem) => {
                decision.merge(&problem.decision);
                let body = problem.body(&self.base_url, id, decision, area);
                let begin = Begin::Usual(Some(PROBLEM_JSON));
                let own = std::mem::take(&mut problem.headers);
                let body = ReplyBody::from(Bytes::from(body));
                (problem.code.kind().status, begin, own, body)
            }
        };
        let shows_limits = area.is_for_programs() || decision.is_refused();
        let is_prepared = matches!(begin, Begin::Prepared(_));
        let mut headers = self.begin(begin, id, shows_limits.then_some(&*decision));
        for (name, value) in own {
            headers.append(name, value);
        }
        let body = end(visit.is_head, status, body, &mut headers);
        if let Err(problem) = outcome
            && status == StatusCode::UNAUTHORIZED
            && let Ok(challenge) = HeaderValue::try_from(problem.challenge(&self.metadata))
        {
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
        if area == Area::OAuth {
            // RFC 6749, section 5.1.
            headers.insert(CACHE_CONTROL, NO_STORE);
            headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
        }
        if shows_limits {
            RateLimitHeaders::set_retry_after(decision, status, &mut headers);
        }
        visit.wanted.confirm(&mut headers);
        if visit.route.is_document() && !is_prepared {
            cors::open(&mut headers);
        }
        if let Some(deprecation) = visit.route.deprecation() {
            version::give_notice(deprecation, &mut headers);
        }
        response(status, headers, body)
    }

    /// The answer that tells of `problem` when none could be made that knows more of its request than
    /// its id and whether it is a HEAD.
    pub(super) fn apology(
        &self,
        id: RequestId,
        is_head: bool,
        problem: &Problem,
    ) -> Response<ReplyBody> {
        let body = problem.body(&self.base_url, id, &Decision::default(), Area::Site);
        let mut headers = self.begin(Begin::Usual(Some(PROBLEM_JSON)), id, None);
        headers.insert(CACHE_CONTROL, NO_STORE);
        let status = problem.code.kind().status;
        let body = end(is_head, status, Bytes::from(body).into(), &mut headers);
        response(status, headers, body)
    }

    /// The headers that every answer has, and the rate limits as `shown`.
    fn begin(&self, begin: Begin, id: RequestId, shown: Option<&Decision>) -> HeaderMap {
        let id = id.to_header();
        let media_type = match begin {
            Begin::Prepared(mut headers) => {
                headers::set(&mut headers, &mut [(X_REQUEST_ID, id)]);
                if let Some(decision) = shown {
                    self.rate_limits.set(decision, &mut headers);
                }
                return headers;
            }
            Begin::Usual(media_type) => media_type,
        };
        let is_empty = media_type.is_none();
        // When all policies are off there is nothing to show.
        let shown = shown.filter(|decision| !decision.standings().is_empty());
        let template = match shown {
            Some(_) => &self.counted,
            None => &self.usual,
        };
        let mut headers = template.copy();
        let mut blanks = template.blanks(&mut headers);
        headers::fill_next(&mut blanks, media_type.unwrap_or(UNSET));
        headers::fill_next(&mut blanks, id);
        if let Some(decision) = shown {
            self.rate_limits.fill(decision, blanks);
        }
        if is_empty {
            headers.remove(CONTENT_TYPE);
        }
        headers
    }
}

/// The body as it is sent. What is true of it is told in `headers`.
fn end(is_head: bool, status: StatusCode, body: ReplyBody, headers: &mut HeaderMap) -> ReplyBody {
    match body.size_hint().exact() {
        // Whose length is not that of what the client has.
        Some(_) if status == StatusCode::NOT_MODIFIED => {}
        // Of a body that is sent, hyper writes the length.
        Some(length) if is_head || length == 0 => {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        Some(_) => {}
        // A stream is one reader's at one moment.
        None => {
            headers.insert(CACHE_CONTROL, NO_STORE);
            headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
        }
    }
    if is_head {
        return ReplyBody::default();
    }
    body
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
