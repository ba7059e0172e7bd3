//! What an operation answers when nothing goes wrong.

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use serde::Serialize;

use crate::domain::decision::Decision;

use super::events::{BrokenOff, EventStream};
use super::problem::{Code, Problem};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// An answer, before the headers that every answer has.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    /// Its own headers, `Content-Type` among them.
    pub(crate) headers: HeaderMap,
    pub(crate) body: ReplyBody,
    /// What policies beyond the door said, if they were asked.
    pub(crate) decision: Option<Box<Decision>>,
    /// What the log is told beside.
    pub(crate) aside: Aside,
}

/// What the log is told of an answer that speaks for another operation.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    /// The tool that was called.
    pub(crate) tool: Option<&'static str>,
    /// What went wrong, if the answer tells it in another shape than a problem's.
    pub(crate) problem: Option<Box<Problem>>,
}

impl Reply {
    /// A JSON answer.
    ///
    /// # Errors
    /// A problem when `body` has no JSON form, which is a fault of the service.
    pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Result<Self, Problem> {
        match serde_json::to_vec(body) {
            Ok(body) => Ok(Self {
                status,
                ..Self::of_type(JSON, Bytes::from(body))
            }),
            Err(error) => Err(Problem::of(Code::InternalError).because(error)),
        }
    }

    /// An answer with these headers.
    pub(crate) fn new(status: StatusCode, headers: HeaderMap, body: impl Into<ReplyBody>) -> Self {
        Self {
            status,
            headers,
            body: body.into(),
            decision: None,
            aside: Aside::default(),
        }
    }

    /// Word that it went well, and nothing else.
    pub(crate) fn empty() -> Self {
        Self::new(StatusCode::OK, HeaderMap::new(), ReplyBody::default())
    }

    /// An answer that comes in pieces.
    pub(crate) fn events(stream: EventStream) -> Self {
        Self::of_type(EVENTS, ReplyBody(Form::Streamed(stream)))
    }

    fn of_type(media_type: HeaderValue, body: impl Into<ReplyBody>) -> Self {
        let mut headers = HeaderMap::with_capacity(16);
        headers.insert(CONTENT_TYPE, media_type);
        Self::new(StatusCode::OK, headers, body)
    }

    pub(crate) fn with_decision(mut self, decision: Decision) -> Self {
        self.decision = Some(Box::new(decision));
        self
    }
}

/// What an answer says: all of it at once, or piece by piece as it comes to be.
#[derive(Debug, Default)]
pub struct ReplyBody(Form);

#[derive(Debug)]
enum Form {
    Whole(Full<Bytes>),
    Streamed(EventStream),
}

impl Default for Form {
    fn default() -> Self {
        Self::Whole(Full::default())
    }
}

impl From<Bytes> for ReplyBody {
    fn from(whole: Bytes) -> Self {
        Self(Form::Whole(Full::new(whole)))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match &mut self.get_mut().0 {
            Form::Whole(body) => Pin::new(body)
                .poll_frame(context)
                .map_err(|never| match never {}),
            Form::Streamed(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Form::Whole(body) => body.is_end_stream(),
            Form::Streamed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Form::Whole(body) => body.size_hint(),
            Form::Streamed(body) => body.size_hint(),
        }
    }
}
