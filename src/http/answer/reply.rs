//! What a handler answers when nothing fails.

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use serde::Serialize;

use crate::domain::Decision;

use crate::http::Problem;
use crate::http::answer::sse::{BrokenOff, SseStream};

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The value of `Cache-Control` that forbids every cache to keep an answer.
pub(crate) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// An answer, before the headers that every answer has.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    /// Its own headers, `Content-Type` among them.
    pub(crate) headers: HeaderMap,
    pub(crate) body: ReplyBody,
    /// The standings of the policies that the handler asked.
    pub(crate) decision: Option<Box<Decision>>,
    /// The tool that was called, for the log.
    pub(crate) tool: Option<&'static str>,
    /// What failed all the same, for the log: a tool, a form, the model that the fallback answered for.
    pub(crate) problem: Option<Box<Problem>>,
}

impl Reply {
    /// A JSON answer.
    ///
    /// # Errors
    /// A problem when `body` cannot be serialised, which is a bug.
    pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Result<Self, Problem> {
        let mut json = Vec::with_capacity(256);
        serde_json::to_writer(&mut json, body).map_err(Problem::fault)?;
        Ok(Self {
            status,
            ..Self::serialised(json.into())
        })
    }

    /// 200 with a JSON body.
    pub(crate) fn serialised(json: Bytes) -> Self {
        Self::of_type(JSON, whole(json))
    }

    /// An answer with these headers.
    pub(crate) fn new(status: StatusCode, headers: HeaderMap, body: ReplyBody) -> Self {
        Self {
            status,
            headers,
            body,
            decision: None,
            tool: None,
            problem: None,
        }
    }

    /// 200 without a body.
    pub(crate) fn empty() -> Self {
        Self::new(StatusCode::OK, HeaderMap::new(), ReplyBody::default())
    }

    /// A stream of server-sent events.
    pub(crate) fn events(stream: SseStream) -> Self {
        Self::of_type(EVENTS, stream.boxed_unsync())
    }

    fn of_type(media_type: HeaderValue, body: ReplyBody) -> Self {
        let mut headers = HeaderMap::with_capacity(16);
        headers.insert(CONTENT_TYPE, media_type);
        Self::new(StatusCode::OK, headers, body)
    }

    /// The same as the answer to what failed with `problem`.
    pub(crate) fn about(mut self, problem: Problem) -> Self {
        self.decision = Some(problem.decision.clone());
        self.problem = Some(Box::new(problem));
        self
    }

    pub(crate) fn with_decision(mut self, decision: Decision) -> Self {
        self.decision = Some(Box::new(decision));
        self
    }
}

/// The body of an answer: whole, or a stream of events.
pub(crate) type ReplyBody = UnsyncBoxBody<Bytes, BrokenOff>;

/// A whole body.
pub(crate) fn whole(bytes: Bytes) -> ReplyBody {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// Inserts `value`, which consists of visible ASCII characters.
pub(crate) fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
