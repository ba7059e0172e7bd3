//! One request and the answer to it: an HTTP exchange with the upstream, with a deadline and size limits.

use std::time::Duration;

use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, TRANSFER_ENCODING};
use hyper::{Response, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use crate::adapters::lenient_json;
use crate::adapters::outbound::{
    HttpClient, post_json, refusal_in_words, retry_after, root_cause, send,
};
use crate::ports::{AnswerSink, ModelError};

use super::breaker::{Breaker, Verdict};
use super::collector::Collector;
use super::events::Events;
use super::failure::{TurnFailure, error_in, error_of, failure_of, unusable};
use super::request::OpenAiSettings;

/// Longest body of an error, in bytes.
const ERROR_BYTES_MAX: usize = 1 << 20;
/// Largest answer, in bytes: in a stream every word comes in hundreds of bytes of JSON.
const ANSWER_BYTES_MAX: usize = 8 << 20;
/// Longest wait for the rest of a transfer that cannot change the outcome: anything after the finish
/// reason, or the message of an error.
const REST_GRACE: Duration = Duration::from_secs(2);
/// Time after the deadline for a slow reader to receive the answer.
const SLOW_READER_GRACE: Duration = Duration::from_secs(5);

/// A request, and the answer so far.
pub(super) struct Round<'a> {
    settings: &'a OpenAiSettings,
    sink: Option<&'a dyn AnswerSink>,
    breaker: &'a Breaker,
    began: Instant,
    deadline: Instant,
    events: Events,
    pub(super) collector: Collector,
    /// Pushed part of the answer, in bytes, which may have been read. The pushed pieces, concatenated, are the answer.
    pub(super) pushed: usize,
    has_begun: bool,
    /// Once only the end of the transfer may be missing: how long it is awaited.
    rest_until: Option<Instant>,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        settings: &'a OpenAiSettings,
        sink: Option<&'a dyn AnswerSink>,
        breaker: &'a Breaker,
        began: Instant,
    ) -> Self {
        Self {
            settings,
            sink,
            breaker,
            began,
            deadline: began + settings.timeout,
            events: Events::default(),
            collector: Collector::new(settings.thinks_first),
            pushed: 0,
            has_begun: false,
            rest_until: None,
        }
    }

    /// Posts `body` and reads the answer. Its first byte is reported to the breaker at once; the verdict on a failure is
    /// left to the caller.
    ///
    /// # Errors
    /// [`TurnFailure`] when there is no usable answer by the deadline.
    pub(super) async fn ask(
        &mut self,
        http: &HttpClient,
        body: Vec<u8>,
    ) -> Result<(), TurnFailure> {
        let accept = match self.sink {
            Some(_) => "text/event-stream",
            None => "application/json",
        };
        let mut request = post_json(&self.settings.address)
            .header(ACCEPT, accept)
            .header(ACCEPT_ENCODING, "identity");
        if let Some(key) = &self.settings.key {
            request = request.header(AUTHORIZATION, key);
        }
        let sent = send(http, request.body(Full::from(body)), self.settings.timeout);
        // Earlier rounds took some of that time.
        let response = timeout_at(self.deadline, sent).await;
        let response = response.map_err(|_elapsed| self.late())?;
        let response = response.map_err(TurnFailure::dead)?;
        let (status, headers) = (response.status(), response.headers());
        if status.is_redirection() {
            let cause = format!("upstream {}", refusal_in_words(status, headers));
            return Err(ModelError::NotStarted(cause).into());
        }
        if !status.is_success() {
            return Err(Self::refusal(response).await);
        }
        // The transfer encoding distinguishes an end from a broken connection.
        let mut marks = [TRANSFER_ENCODING, CONTENT_LENGTH].iter();
        let has_end = marks.any(|name| headers.contains_key(name));
        self.read(response.into_body(), has_end).await?;
        self.collector.finish()?;
        self.push().await
    }

    /// The failure that an error status means; a body that cannot be read or parsed adds nothing.
    async fn refusal(response: Response<Incoming>) -> TurnFailure {
        let status = response.status();
        let pause = retry_after(response.headers());
        let body = Limited::new(response.into_body(), ERROR_BYTES_MAX).collect();
        let error = match timeout(REST_GRACE, body).await {
            Ok(Ok(body)) => error_of(&body.to_bytes()),
            Ok(Err(_)) | Err(_) => Value::Null,
        };
        failure_of(&error, status, pause)
    }

    /// Reads the body until the answer and its transfer are complete.
    async fn read(&mut self, body: Incoming, has_end: bool) -> Result<(), TurnFailure> {
        let mut body = Limited::new(body, ANSWER_BYTES_MAX).into_data_stream();
        loop {
            let until = self.rest_until.unwrap_or(self.deadline);
            let (events, is_end) = match timeout_at(until, body.next()).await {
                // Bytes that are there already never wait, so `timeout_at` does not end them.
                Ok(Some(Ok(bytes))) if Instant::now() < until => (self.events.push(&bytes), false),
                _ if self.rest_until.is_some() => return Ok(()),
                Ok(None) => (self.events.finish(), true),
                Ok(Some(Err(error))) if error.is::<LengthLimitError>() => (None, false),
                Ok(Some(Err(error))) => {
                    let cause = format!("the response was cut off: {}", root_cause(&*error));
                    return Err(unusable(cause).into());
                }
                Ok(Some(Ok(_))) | Err(_) => return Err(self.late()),
            };
            let events = events.ok_or_else(|| unusable("the answer is too large"))?;
            let has_begun = self.events.is_json == Some(true) || !events.is_empty();
            if has_begun && !self.has_begun {
                // The upstream is alive, whatever happens to this turn.
                self.has_begun = true;
                self.breaker.report(self.began, Verdict::Alive);
            }
            for event in events {
                if self.is_last(&event).await? {
                    return Ok(());
                }
            }
            if is_end {
                return self.end(has_end);
            }
        }
    }

    fn late(&self) -> TurnFailure {
        if self.has_begun {
            let cause = "the answer was not complete in time";
            return ModelError::Started(cause.to_owned()).into();
        }
        TurnFailure::dead("no response in time".to_owned())
    }

    /// Adds the text of an event. Returns true if none follows.
    async fn is_last(&mut self, event: &[u8]) -> Result<bool, TurnFailure> {
        if event.trim_ascii() == b"[DONE]" {
            return Ok(true);
        }
        let is_finished = self.rest_until.is_some();
        // The events of one piece never wait, so `read` does not notice the deadline.
        if Instant::now() >= self.deadline && !is_finished {
            return Err(self.late());
        }
        let body = match lenient_json::parse(event) {
            Ok(body) => body,
            // Some servers have their own end marker.
            Err(_) if is_finished => return Ok(true),
            Err(error) => {
                return Err(unusable(format!("the response is not JSON: {error}")).into());
            }
        };
        if let Some(error) = error_in(&body) {
            return Err(failure_of(error, StatusCode::OK, None));
        }
        if self.collector.add(&body)? && !is_finished {
            self.rest_until = Some(Instant::now() + REST_GRACE);
        }
        self.push().await?;
        Ok(self.events.is_json == Some(true))
    }

    /// The end of a body without a last event.
    ///
    /// Some servers end a good stream without `[DONE]` and without a finish reason. It is accepted as complete if
    /// the transfer marks its own end; an answer that lasts as long as its connection ends in the same way when the
    /// server dies.
    fn end(&self, has_end: bool) -> Result<(), TurnFailure> {
        let cause = match self.rest_until {
            Some(_) => return Ok(()),
            None if self.events.has_foreign_lines => {
                "the stream ended with lines that are not events"
            }
            None if !has_end => "the stream ended with its connection and may be incomplete",
            None => {
                tracing::debug!("a stream without an end mark is accepted as complete");
                return Ok(());
            }
        };
        Err(unusable(cause).into())
    }

    /// Pushes new text except trailing white space, which may be the end.
    async fn push(&mut self) -> Result<(), TurnFailure> {
        let text = self.collector.text.trim_end();
        let piece = text.get(self.pushed..).unwrap_or_default();
        if let Some(sink) = self.sink
            && !piece.is_empty()
        {
            // Before the await: a cancelled push may have been read.
            self.pushed = text.len();
            let pushed = timeout_at(self.deadline + SLOW_READER_GRACE, sink.push(piece)).await;
            let late = "the reader did not receive the answer in time";
            let pushed = pushed.map_err(|_elapsed| ModelError::Started(late.to_owned()))?;
            pushed.map_err(ModelError::from)?;
        }
        Ok(())
    }
}
