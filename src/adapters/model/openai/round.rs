//! One request and the answer to it: an HTTP exchange with the upstream, with a deadline and size limits.

use std::time::Duration;

use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, TRANSFER_ENCODING};
use hyper::{Response, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::adapters::lenient_json;
use crate::adapters::outbound::{
    HttpClient, post_json, refusal_in_words, retry_after, root_cause, send,
};
use crate::ports::{AnswerSink, ModelError};

use super::breaker::{Pass, Verdict};
use super::collector::Collector;
use super::events::Events;
use super::failure::{TurnFailure, error_in, error_of, failure_of};
use super::settings::OpenAiSettings;

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
    http: &'a HttpClient,
    settings: &'a OpenAiSettings,
    pub(super) sink: Option<&'a dyn AnswerSink>,
    pass: &'a Pass<'a>,
    deadline: Instant,
    events: Events,
    collector: Collector,
    /// Pushed part of the answer, in bytes. The pushed pieces, concatenated, are the answer.
    pushed: usize,
    /// The transfer encoding distinguishes an end from a broken connection.
    has_end: bool,
    has_begun: bool,
    /// Once only the end of the transfer may be missing: how long it is awaited.
    rest_until: Option<Instant>,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        http: &'a HttpClient,
        settings: &'a OpenAiSettings,
        sink: Option<&'a dyn AnswerSink>,
        pass: &'a Pass<'a>,
        deadline: Instant,
    ) -> Self {
        Self {
            http,
            settings,
            sink,
            pass,
            deadline,
            events: Events::default(),
            collector: Collector::new(settings.thinks_first),
            pushed: 0,
            has_end: false,
            has_begun: false,
            rest_until: None,
        }
    }

    /// True if a part of the answer may have been read.
    pub(super) const fn was_read(&self) -> bool {
        self.pushed > 0
    }

    pub(super) fn into_reply(self) -> String {
        self.collector.text
    }

    /// Posts `body` and reads the answer, from scratch. The first byte of an answer is reported to the breaker at once; the verdict on
    /// a failure is left to the caller.
    ///
    /// # Errors
    /// [`TurnFailure`] when there is no usable answer by the deadline.
    pub(super) async fn ask(&mut self, body: Vec<u8>) -> Result<(), TurnFailure> {
        self.events = Events::default();
        self.collector = Collector::new(self.settings.thinks_first);
        (self.has_begun, self.rest_until) = (false, None);
        let accept = if self.sink.is_some() {
            "text/event-stream"
        } else {
            "application/json"
        };
        let settings = self.settings;
        let mut request = post_json(&settings.address)
            .header(ACCEPT, accept)
            .header(ACCEPT_ENCODING, "identity");
        if let Some(key) = &settings.key {
            request = request.header(AUTHORIZATION, &key.0);
        }
        let sent = send(self.http, request.body(Full::from(body)));
        let response = timeout_at(self.deadline, sent).await;
        let response = response.map_err(|_elapsed| self.late())?;
        let response = response.map_err(|cause| TurnFailure::not_started(cause, Verdict::Dead))?;
        let (status, headers) = (response.status(), response.headers());
        if status.is_redirection() {
            let cause = format!("upstream {}", refusal_in_words(status, headers));
            return Err(TurnFailure::not_started(cause, Verdict::Alive));
        }
        if !status.is_success() {
            return Err(self.refusal(response).await);
        }
        self.has_end = [TRANSFER_ENCODING, CONTENT_LENGTH]
            .iter()
            .any(|name| headers.contains_key(name));
        self.read(response.into_body()).await?;
        self.collector.finish()?;
        self.push().await
    }

    /// The failure that an error status means; a body that cannot be read or parsed adds nothing.
    async fn refusal(&self, response: Response<Incoming>) -> TurnFailure {
        let status = response.status();
        let pause = retry_after(response.headers(), None);
        let body = Limited::new(response.into_body(), ERROR_BYTES_MAX).collect();
        let error = match timeout_at(self.rest_end(), body).await {
            Ok(Ok(body)) => error_of(&body.to_bytes()),
            Ok(Err(_)) | Err(_) => Value::Null,
        };
        failure_of(&error, status, pause)
    }

    fn rest_end(&self) -> Instant {
        self.deadline.min(Instant::now() + REST_GRACE)
    }

    /// Reads the body until the answer and its transfer are complete.
    async fn read(&mut self, body: Incoming) -> Result<(), TurnFailure> {
        let mut body = body.into_data_stream();
        let mut read = 0;
        loop {
            let next = timeout_at(self.rest_until.unwrap_or(self.deadline), body.next()).await;
            let bytes = match next {
                Ok(Some(Ok(bytes))) => bytes,
                _ if self.rest_until.is_some() => return Ok(()),
                Ok(None) => return self.end().await,
                Ok(Some(Err(error))) => {
                    let cause = format!("the response was cut off: {}", root_cause(&error));
                    return Err(TurnFailure::unusable(cause));
                }
                Err(_elapsed) => return Err(self.late()),
            };
            read += bytes.len();
            if read > ANSWER_BYTES_MAX {
                return Err(TurnFailure::unusable("the answer is too large"));
            }
            let events = self.events.push(&bytes).map_err(TurnFailure::unusable)?;
            let has_begun = self.events.is_json == Some(true) || !events.is_empty();
            if has_begun && !self.has_begun {
                // The upstream is alive, whatever happens to this turn.
                self.has_begun = true;
                self.pass.report(Verdict::Alive);
            }
            for event in events {
                if self.is_last(&event).await? {
                    return Ok(());
                }
            }
        }
    }

    fn late(&self) -> TurnFailure {
        if self.has_begun {
            TurnFailure::started("the answer was not complete in time")
        } else {
            TurnFailure::not_started("no response in time", Verdict::Dead)
        }
    }

    /// Adds the text of an event. Returns true if none follows.
    async fn is_last(&mut self, event: &[u8]) -> Result<bool, TurnFailure> {
        if event.trim_ascii() == b"[DONE]" {
            return Ok(true);
        }
        let is_finished = self.rest_until.is_some();
        // Buffered events never wait, so `read` does not notice the deadline.
        if Instant::now() >= self.deadline && !is_finished {
            return Err(self.late());
        }
        let body = match lenient_json::parse(event) {
            Ok(body) => body,
            // Some servers have their own end marker.
            Err(_) if is_finished => return Ok(true),
            Err(error) => {
                let cause = format!("the response is not JSON: {error}");
                return Err(TurnFailure::unusable(cause));
            }
        };
        if let Some(error) = error_in(&body) {
            return Err(failure_of(error, StatusCode::OK, None));
        }
        let has_stopped = self.collector.add(&body)? || self.events.is_json == Some(true);
        if has_stopped && !is_finished {
            self.rest_until = Some(self.rest_end());
        }
        self.push().await?;
        Ok(false)
    }

    /// The end of a body that is not finished.
    ///
    /// Some servers end a good stream without `[DONE]` and without a finish reason. It is accepted as complete if
    /// the transfer marks its own end; an answer that lasts as long as its connection ends in the same way when the
    /// server dies.
    async fn end(&mut self) -> Result<(), TurnFailure> {
        if let Some(event) = self.events.finish()
            && (self.is_last(&event).await? || self.rest_until.is_some())
        {
            return Ok(());
        }
        if self.events.has_foreign_lines {
            let cause = "the stream ended with lines that are not events";
            return Err(TurnFailure::unusable(cause));
        }
        if !self.has_end {
            let cause = "the stream ended with its connection and may be incomplete";
            return Err(TurnFailure::unusable(cause));
        }
        tracing::debug!("a stream without [DONE] or a finish reason is accepted as complete");
        Ok(())
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
            let pushed = pushed.map_err(|_elapsed| TurnFailure::started(late))?;
            pushed.map_err(ModelError::from)?;
        }
        Ok(())
    }
}
