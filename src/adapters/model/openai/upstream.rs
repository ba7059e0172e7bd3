//! One HTTP exchange with the upstream, with a deadline and size limits.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue,
    TRANSFER_ENCODING, USER_AGENT,
};
use hyper::{Request, Response, StatusCode, Uri};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::adapters::lenient_json;
use crate::adapters::outbound::{
    HttpClient, PRODUCT, refusal_in_words, retry_after, root_cause, send,
};
use crate::ports::ModelError;

use super::breaker::{Pass, Verdict};
use super::collector::Collector;
use super::completion::{Completion, Part};
use super::failure::TurnFailure;
use super::sse_parser::SseParser;
use super::upstream_error::UpstreamError;

/// Largest answer that is not streamed, in bytes.
const WHOLE_BYTES_MAX: usize = 1 << 20;
/// Largest streamed answer, in bytes: every word comes in hundreds of bytes of JSON.
const STREAM_BYTES_MAX: usize = 8 << 20;
/// Longest wait for the rest of a transfer that cannot change the outcome: anything after the finish
/// reason, or the message of an error.
const REST_GRACE: Duration = Duration::from_secs(2);

const EVENT_STREAM: &str = "text/event-stream";

/// The endpoint for chat completions.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) http: HttpClient,
    pub(super) uri: Uri,
    pub(super) authorization: Option<HeaderValue>,
}

impl Upstream {
    /// Posts `body` and adds the answer to `collector`. The first byte of an answer is reported to `pass` at
    /// once; the verdict on a failure is left to the caller.
    ///
    /// # Errors
    /// [`TurnFailure`] when there is no usable answer by the collector's deadline.
    pub(super) async fn ask(
        &self,
        body: Vec<u8>,
        collector: &mut Collector<'_>,
        pass: &Pass<'_>,
    ) -> Result<(), TurnFailure> {
        let deadline = collector.deadline;
        let request = self.request(body, collector.sink.is_streamed())?;
        let response = timeout_at(deadline, send(&self.http, request)).await;
        let response = response.map_err(|_elapsed| silent())?;
        let response = response.map_err(|cause| not_started(Verdict::Dead, cause))?;
        let status = response.status();
        if status.is_redirection() {
            let words = refusal_in_words(status, response.headers());
            return Err(not_started(Verdict::Alive, format!("upstream {words}")));
        }
        if !status.is_success() {
            return Err(refusal(response, deadline).await);
        }
        let (head, body) = response.into_parts();
        let mut answer = AnswerBody {
            body,
            peeked: None,
            deadline,
            pass,
            has_begun: false,
        };
        // Some servers send white space to keep the connection alive.
        let mut begun = Vec::new();
        while begun.trim_ascii().is_empty()
            && let Some(bytes) = answer.next().await?
        {
            begun.extend_from_slice(&bytes);
            if begun.len() > WHOLE_BYTES_MAX {
                return Err(too_large());
            }
        }
        let mut bytes = begun.iter();
        // The first byte is more reliable than the media type, which proxies and small servers get wrong.
        let is_stream = match bytes.find(|byte| !b" \t\r\n\xEF\xBB\xBF".contains(byte)) {
            Some(b'{' | b'[' | b'<') => false,
            Some(b':' | b'd' | b'e' | b'i' | b'r') => true,
            _ => is_event_stream(&head.headers),
        };
        answer.peeked = Some(begun.into());
        if is_stream {
            // True if the transfer encoding distinguishes an end from a broken connection.
            let has_end = head.headers.contains_key(TRANSFER_ENCODING)
                || head.headers.contains_key(CONTENT_LENGTH);
            answer.read_stream(has_end, collector).await?;
        } else {
            collector.add(&answer.read_whole().await?).await?;
        }
        collector.finish().await
    }

    fn request(
        &self,
        body: Vec<u8>,
        is_streamed: bool,
    ) -> Result<Request<Full<Bytes>>, TurnFailure> {
        let accept = if is_streamed {
            EVENT_STREAM
        } else {
            "application/json"
        };
        let mut request = Request::post(&self.uri)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accept)
            .header(ACCEPT_ENCODING, "identity")
            .header(USER_AGENT, PRODUCT);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::from(body));
        request.map_err(|error| not_started(Verdict::Alive, error.to_string()))
    }
}

fn not_started(verdict: Verdict, cause: String) -> TurnFailure {
    TurnFailure::new(ModelError::NotStarted(cause), verdict)
}

/// No byte of an answer before the deadline.
fn silent() -> TurnFailure {
    not_started(Verdict::Dead, "no response in time".to_owned())
}

fn too_large() -> TurnFailure {
    TurnFailure::unusable("the answer is too large")
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let prefix = media_type.and_then(|text| text.trim_ascii_start().get(..EVENT_STREAM.len()));
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(EVENT_STREAM.as_bytes()))
}

/// The failure that an error status means; a body that cannot be read or parsed adds nothing.
async fn refusal(response: Response<Incoming>, deadline: Instant) -> TurnFailure {
    let status = response.status();
    let pause = retry_after(response.headers(), None);
    let body = Limited::new(response.into_body(), WHOLE_BYTES_MAX).collect();
    let error = match timeout_at(deadline.min(Instant::now() + REST_GRACE), body).await {
        Ok(Ok(body)) => UpstreamError::read_body(&body.to_bytes()),
        Ok(Err(_)) | Err(_) => UpstreamError::default(),
    };
    error.into_failure(status, pause)
}

/// The body of a successful response.
struct AnswerBody<'a> {
    body: Incoming,
    /// Already read; precedes `body`.
    peeked: Option<Bytes>,
    deadline: Instant,
    pass: &'a Pass<'a>,
    has_begun: bool,
}

impl AnswerBody<'_> {
    /// The next bytes; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, TurnFailure> {
        if let Some(bytes) = self.peeked.take() {
            return Ok(Some(bytes));
        }
        loop {
            match timeout_at(self.deadline, self.body.frame()).await {
                Err(_elapsed) => return Err(self.late()),
                Ok(None) => return Ok(None),
                Ok(Some(Ok(frame))) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
                Ok(Some(Err(error))) => {
                    let cause = format!("the response broke off: {}", root_cause(&error));
                    return Err(TurnFailure::unusable(cause));
                }
            }
        }
    }

    fn late(&self) -> TurnFailure {
        if self.has_begun {
            TurnFailure::started("the answer was not complete in time")
        } else {
            silent()
        }
    }

    /// Records the first byte: the upstream is alive, whatever happens to this turn.
    fn begin(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.pass.report(Verdict::Alive);
        }
    }

    async fn read_whole(mut self) -> Result<Completion, TurnFailure> {
        let mut whole = Vec::new();
        loop {
            let bytes = match self.next().await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return parse(&whole),
                // JSON shows where it ends, so only the end of the transfer may be missing.
                Err(failure) => return parse(&whole).map_err(|_cut| failure),
            };
            if whole.len() + bytes.len() > WHOLE_BYTES_MAX {
                return Err(too_large());
            }
            if !bytes.trim_ascii().is_empty() {
                self.begin();
            }
            whole.extend_from_slice(&bytes);
            // It is complete, whether the connection stays open or not.
            if whole.trim_ascii_end().ends_with(b"}") && parse(&whole).is_ok() {
                self.deadline = self.deadline.min(Instant::now() + REST_GRACE);
            }
        }
    }

    /// Reads a stream until `[DONE]` or its end.
    ///
    /// Some servers end a good answer without `[DONE]` and without a finish reason. Such an answer is accepted
    /// as complete if the transfer marks its own end (`has_end`); an answer that lasts as long as its connection
    /// ends in the same way when the server dies.
    async fn read_stream(
        mut self,
        has_end: bool,
        collector: &mut Collector<'_>,
    ) -> Result<(), TurnFailure> {
        let mut parser = SseParser::default();
        let (mut read, mut is_finished, mut part) = (0, false, Part::First);
        loop {
            let bytes = match self.next().await {
                Ok(bytes) => bytes,
                // Only the end of the transfer is missing.
                Err(_failure) if is_finished => return Ok(()),
                Err(failure) => return Err(failure),
            };
            let is_end = bytes.is_none();
            let events = match bytes {
                Some(bytes) => {
                    read += bytes.len();
                    if read > STREAM_BYTES_MAX {
                        return is_finished.then_some(()).ok_or_else(too_large);
                    }
                    parser.push(&bytes).map_err(TurnFailure::unusable)?
                }
                None => parser.finish().into_iter().collect(),
            };
            for event in events {
                if event.trim_ascii() == b"[DONE]" {
                    return Ok(());
                }
                // Buffered events never wait, so `next` does not notice the deadline.
                if Instant::now() >= self.deadline && !is_finished {
                    return Err(self.late());
                }
                let body = lenient_json::parse(&event);
                // Some servers have their own end marker.
                if is_finished && body.is_err() {
                    return Ok(());
                }
                let completion = completed(body, part)?;
                if !completion.text.is_empty() {
                    part = Part::Later;
                }
                self.begin();
                if completion.finish_reason.is_some() && !is_finished {
                    is_finished = true;
                    self.deadline = self.deadline.min(Instant::now() + REST_GRACE);
                }
                collector.add(&completion).await?;
            }
            if is_end && !is_finished && parser.has_foreign_lines {
                let cause = "the stream ended with lines that are not events";
                return Err(TurnFailure::unusable(cause));
            }
            if is_end && (is_finished || has_end) {
                if !is_finished {
                    tracing::debug!(
                        "a stream without [DONE] or a finish reason is accepted as complete"
                    );
                }
                return Ok(());
            }
            if is_end {
                let cause = "the stream ended with its connection and may be incomplete";
                return Err(TurnFailure::unusable(cause));
            }
        }
    }
}

/// Parses a completion in a successful response.
fn parse(json: &[u8]) -> Result<Completion, TurnFailure> {
    completed(lenient_json::parse(json), Part::Whole)
}

fn completed(parsed: serde_json::Result<Value>, part: Part) -> Result<Completion, TurnFailure> {
    let body = parsed
        .map_err(|error| TurnFailure::unusable(format!("the response is not JSON: {error}")))?;
    let completion = Completion::read(&body, part);
    match UpstreamError::find(&body) {
        Some(error) => Err(error.into_failure(StatusCode::OK, None)),
        None if completion.has_failed() => {
            Err(TurnFailure::unusable("the model stopped with an error"))
        }
        None => Ok(completion),
    }
}
