//! One HTTP exchange with the upstream, with a deadline and size limits.

use std::time::Duration;

use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue,
    TRANSFER_ENCODING,
};
use hyper::{Response, StatusCode, Uri};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::adapters::lenient_json;
use crate::adapters::outbound::{
    HttpClient, post_json, refusal_in_words, retry_after, root_cause, send,
};

use super::breaker::{Pass, Verdict};
use super::collector::Collector;
use super::failure::{TurnFailure, error_in, error_of, failure_of};
use super::sse_parser::SseParser;

/// Largest answer that is not streamed, in bytes.
const WHOLE_BYTES_MAX: usize = 1 << 20;
/// Largest streamed answer, in bytes: every word comes in hundreds of bytes of JSON.
const STREAM_BYTES_MAX: usize = 8 << 20;
/// Longest wait for the rest of a transfer that cannot change the outcome: anything after the finish
/// reason, or the message of an error.
const REST_GRACE: Duration = Duration::from_secs(2);

const TOO_LARGE: &str = "the answer is too large";
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
        let accept = if collector.sink.is_streamed() {
            EVENT_STREAM
        } else {
            "application/json"
        };
        let mut request = post_json(&self.uri)
            .header(ACCEPT, accept)
            .header(ACCEPT_ENCODING, "identity");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let sent = send(&self.http, request.body(Full::from(body)));
        let response = timeout_at(collector.deadline, sent).await;
        let response = response.map_err(|_elapsed| silent())?;
        let response = response.map_err(|cause| TurnFailure::not_started(cause, Verdict::Dead))?;
        let status = response.status();
        if status.is_redirection() {
            let words = refusal_in_words(status, response.headers());
            let cause = format!("upstream {words}");
            return Err(TurnFailure::not_started(cause, Verdict::Alive));
        }
        if !status.is_success() {
            return Err(refusal(response, collector.deadline).await);
        }
        let (head, body) = response.into_parts();
        let answer = Answer {
            form: Form::Unknown,
            whole: Vec::new(),
            stream: SseParser::default(),
            // True if the transfer encoding distinguishes an end from a broken connection.
            has_end: head.headers.contains_key(TRANSFER_ENCODING)
                || head.headers.contains_key(CONTENT_LENGTH),
            labelled: form_by_label(&head.headers),
            deadline: collector.deadline,
            pass,
            has_begun: false,
            is_finished: false,
        };
        answer.read(body, collector).await?;
        collector.finish().await
    }
}

/// No byte of an answer before the deadline.
fn silent() -> TurnFailure {
    TurnFailure::not_started("no response in time", Verdict::Dead)
}

/// The failure that an error status means; a body that cannot be read or parsed adds nothing.
async fn refusal(response: Response<Incoming>, deadline: Instant) -> TurnFailure {
    let status = response.status();
    let pause = retry_after(response.headers(), None);
    let body = Limited::new(response.into_body(), WHOLE_BYTES_MAX).collect();
    let error = match timeout_at(deadline.min(Instant::now() + REST_GRACE), body).await {
        Ok(Ok(body)) => error_of(&body.to_bytes()),
        Ok(Err(_)) | Err(_) => Value::Null,
    };
    failure_of(&error, status, pause)
}

/// The form of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Nothing but white space so far: some servers send it to keep the connection alive.
    Unknown,
    Whole,
    Stream,
}

/// The form that the media type says. The first byte is more reliable: proxies and small servers get the type wrong.
fn form_by_label(headers: &HeaderMap) -> Form {
    let media_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let prefix = media_type.and_then(|text| text.trim_ascii_start().get(..EVENT_STREAM.len()));
    let is_stream =
        prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(EVENT_STREAM.as_bytes()));
    if is_stream { Form::Stream } else { Form::Whole }
}

/// The body of a successful response: the events of a stream, or JSON, which is read like one event.
struct Answer<'a> {
    form: Form,
    labelled: Form,
    /// The bytes so far, unless it is a stream.
    whole: Vec<u8>,
    stream: SseParser,
    has_end: bool,
    deadline: Instant,
    pass: &'a Pass<'a>,
    has_begun: bool,
    /// Only the end of the transfer may be missing.
    is_finished: bool,
}

impl Answer<'_> {
    /// Reads the body until the answer and its transfer are complete.
    async fn read(
        mut self,
        body: Incoming,
        collector: &mut Collector<'_>,
    ) -> Result<(), TurnFailure> {
        let mut body = body.into_data_stream();
        let mut read = 0;
        loop {
            let bytes = match timeout_at(self.deadline, body.next()).await {
                Ok(Some(Ok(bytes))) => bytes,
                _ if self.is_finished => return Ok(()),
                Ok(None) => return self.end(collector).await,
                Ok(Some(Err(error))) => {
                    let cause = format!("the response was cut off: {}", root_cause(&error));
                    return Err(TurnFailure::unusable(cause));
                }
                Err(_elapsed) => return Err(self.late()),
            };
            read += bytes.len();
            if read > STREAM_BYTES_MAX {
                return Err(TurnFailure::unusable(TOO_LARGE));
            }
            let events = self.push(&bytes).map_err(TurnFailure::unusable)?;
            if self.form == Form::Whole || !events.is_empty() {
                self.begin();
            }
            for event in events {
                if self.is_last(&event, collector).await? {
                    return Ok(());
                }
            }
        }
    }

    /// Takes the next bytes and returns the events that they complete.
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
        if self.form == Form::Stream {
            return self.stream.push(bytes);
        }
        self.whole.extend_from_slice(bytes);
        if self.form == Form::Unknown {
            let mut bytes = self.whole.iter();
            self.form = match bytes.find(|byte| !b" \t\r\n\xEF\xBB\xBF".contains(byte)) {
                None => Form::Unknown,
                Some(b'{' | b'[' | b'<') => Form::Whole,
                Some(b':' | b'd' | b'e' | b'i' | b'r') => Form::Stream,
                Some(_) => self.labelled,
            };
        }
        if self.form == Form::Stream {
            return self.stream.push(&std::mem::take(&mut self.whole));
        }
        if self.whole.len() > WHOLE_BYTES_MAX {
            return Err(TOO_LARGE);
        }
        // JSON shows where it ends, whether the connection stays open or not.
        let is_complete =
            self.whole.trim_ascii_end().ends_with(b"}") && lenient_json::parse(&self.whole).is_ok();
        let complete = is_complete.then(|| std::mem::take(&mut self.whole));
        Ok(complete.into_iter().collect())
    }

    /// Records the first byte: the upstream is alive, whatever happens to this turn.
    fn begin(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.pass.report(Verdict::Alive);
        }
    }

    fn late(&self) -> TurnFailure {
        if self.has_begun {
            TurnFailure::started("the answer was not complete in time")
        } else {
            silent()
        }
    }

    /// Adds the text of an event. Returns true if none follows.
    async fn is_last(
        &mut self,
        event: &[u8],
        collector: &mut Collector<'_>,
    ) -> Result<bool, TurnFailure> {
        if event.trim_ascii() == b"[DONE]" {
            return Ok(true);
        }
        // Buffered events never wait, so `read` does not notice the deadline.
        if Instant::now() >= self.deadline && !self.is_finished {
            return Err(self.late());
        }
        let body = match lenient_json::parse(event) {
            Ok(body) => body,
            // Some servers have their own end marker.
            Err(_) if self.is_finished => return Ok(true),
            Err(error) => {
                let cause = format!("the response is not JSON: {error}");
                return Err(TurnFailure::unusable(cause));
            }
        };
        if let Some(error) = error_in(&body) {
            return Err(failure_of(error, StatusCode::OK, None));
        }
        let has_stopped = collector.add(&body).await? || self.form == Form::Whole;
        if has_stopped && !self.is_finished {
            self.is_finished = true;
            self.deadline = self.deadline.min(Instant::now() + REST_GRACE);
        }
        Ok(false)
    }

    /// The end of a body that is not finished.
    ///
    /// Some servers end a good stream without `[DONE]` and without a finish reason. It is accepted as complete if
    /// the transfer marks its own end; an answer that lasts as long as its connection ends in the same way when the
    /// server dies.
    async fn end(mut self, collector: &mut Collector<'_>) -> Result<(), TurnFailure> {
        if self.form == Form::Unknown {
            self.form = self.labelled;
        }
        let event = match self.form {
            Form::Stream => self.stream.finish(),
            Form::Whole | Form::Unknown => Some(std::mem::take(&mut self.whole)),
        };
        if let Some(event) = event {
            self.is_finished |= self.is_last(&event, collector).await?;
        }
        let cause = if self.is_finished {
            return Ok(());
        } else if self.stream.has_foreign_lines {
            "the stream ended with lines that are not events"
        } else if self.has_end {
            tracing::debug!("a stream without [DONE] or a finish reason is accepted as complete");
            return Ok(());
        } else {
            "the stream ended with its connection and may be incomplete"
        };
        Err(TurnFailure::unusable(cause))
    }
}
