//! What a handler answers when nothing fails.

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use serde::Serialize;
use serde_json::Value;

use crate::domain::Decision;

use crate::http::Problem;
use crate::http::answer::sse::{BrokenOff, SseStream};

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The value of `Cache-Control` that forbids every cache to keep an answer.
pub(crate) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// A placeholder, and the fallback of conversions that cannot fail.
pub(crate) const BLANK: HeaderValue = HeaderValue::from_static("");

/// Disables MIME sniffing.
pub(crate) const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// An answer, before the headers that every answer has.
#[derive(Debug)]
pub(crate) struct Reply {
    /// Its status, its own headers and its body.
    pub(crate) response: Response<ReplyBody>,
    /// `Content-Type`, unless it is among its own headers.
    pub(crate) content_type: Option<HeaderValue>,
    /// The standings of the policies that the handler asked.
    pub(crate) decision: Option<Box<Decision>>,
    /// The tool that was called, for the log.
    pub(crate) tool: Option<&'static str>,
    /// What failed all the same, for the log: a tool, a form, the model that the fallback answered for.
    pub(crate) problem: Option<Box<Problem>>,
}

impl Reply {
    /// A JSON answer of these fields, without those that are null.
    pub(crate) fn json(status: StatusCode, mut fields: Value) -> Self {
        if let Value::Object(fields) = &mut fields {
            fields.retain(|_name, value| !value.is_null());
        }
        let mut reply = Self::ok(&fields);
        *reply.response.status_mut() = status;
        reply
    }

    /// 200 with `body` as JSON, without the map of [`Self::json`]: for the most frequent responses.
    pub(crate) fn ok(body: &impl Serialize) -> Self {
        // Only a map with keys that are not text could fail.
        Self::serialised(serde_json::to_vec(body).unwrap_or_default())
    }

    /// 200 with a JSON body.
    pub(crate) fn serialised(json: impl Into<Bytes>) -> Self {
        Self {
            content_type: Some(JSON),
            ..Self::of(whole(json))
        }
    }

    /// An answer with these headers.
    pub(crate) fn new(status: StatusCode, headers: HeaderMap, body: ReplyBody) -> Self {
        let mut reply = Self::of(body);
        *reply.response.status_mut() = status;
        *reply.response.headers_mut() = headers;
        reply
    }

    /// 200 with this body.
    fn of(body: ReplyBody) -> Self {
        Self {
            response: Response::new(body),
            content_type: None,
            decision: None,
            tool: None,
            problem: None,
        }
    }

    /// 200 without a body.
    pub(crate) fn empty() -> Self {
        Self::of(whole(""))
    }

    /// A stream of server-sent events.
    pub(crate) fn events(stream: SseStream) -> Self {
        Self {
            content_type: Some(EVENTS),
            ..Self::of(Either::Right(stream.boxed_unsync()))
        }
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
pub(crate) type ReplyBody = Either<Full<Bytes>, UnsyncBoxBody<Bytes, BrokenOff>>;

/// A whole body.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> ReplyBody {
    Either::Left(Full::new(bytes.into()))
}

/// Inserts `value`, which consists of visible ASCII characters.
pub(crate) fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
