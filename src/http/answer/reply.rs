//! What a handler answers when nothing fails.

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use serde::Serialize;

use crate::domain::decision::Decision;

use crate::http::answer::problem::{Code, Problem};
use crate::http::answer::sse::{BrokenOff, SseStream};

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
    /// What only the log shows.
    pub(crate) log: ReplyLog,
}

/// What the log shows of an answer that is no problem.
#[derive(Debug, Default)]
pub(crate) struct ReplyLog {
    /// The tool that was called.
    pub(crate) tool: Option<&'static str>,
    /// What failed all the same: a tool, a form, the model that the fallback answered for.
    pub(crate) problem: Option<Box<Problem>>,
}

impl Reply {
    /// A JSON answer.
    ///
    /// # Errors
    /// A problem when `body` cannot be serialised, which is a bug.
    pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Result<Self, Problem> {
        let mut json = Vec::with_capacity(256);
        match serde_json::to_writer(&mut json, body) {
            Ok(()) => Ok(Self {
                status,
                ..Self::serialised(Bytes::from(json))
            }),
            Err(error) => Err(Problem::of(Code::InternalError).because(error)),
        }
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
            log: ReplyLog::default(),
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
