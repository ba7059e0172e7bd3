//! One request to the upstream and what comes back, under a deadline and a cap.

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, TRANSFER_ENCODING,
    USER_AGENT,
};
use hyper::{Method, Request, Response, StatusCode, Uri};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::answer::Completion;
use super::breaker::{Finding, Pass};
use super::collector::Collector;
use super::events::EventReader;
use super::failure::{Failure, Kind};
use super::retry_after::retry_after;
use super::surrogates::Surrogates;
use super::upstream_error::UpstreamError;
use crate::adapters::outbound::{HttpClient, reasons};

/// The largest answer that is not streamed, in bytes.
const WHOLE_BYTES_MAX: usize = 1 << 20;
/// The largest streamed answer, in bytes: every word comes in hundreds of bytes of JSON.
const STREAM_BYTES_MAX: usize = 8 << 20;

/// Where and how the upstream is asked.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) http: HttpClient,
    pub(super) uri: Uri,
    pub(super) authorization: Option<HeaderValue>,
}

/// How far an answer has come: it decides who bears a turn that is cut off.
#[derive(Debug)]
struct Progress<'a, 'b> {
    pass: &'a mut Pass<'b>,
    /// There is a byte of it.
    has_begun: bool,
    /// The model has stopped.
    is_finished: bool,
}

impl Progress<'_, '_> {
    /// There is a byte of the answer: the upstream is alive, whatever becomes of this turn.
    fn begin(&mut self) {
        if !self.has_begun {
            self.has_begun = true;
            self.pass.report(Finding::Alive);
        }
    }

    fn failure(&self, loss: Loss) -> Failure {
        match loss {
            Loss::Broken(cause) => Failure::unusable(format!("the answer broke off: {cause}")),
            Loss::Late if self.has_begun => {
                Failure::new(Kind::Late, "the answer was not whole in time")
            }
            Loss::Late => Failure::new(Kind::Silent, "no answer in time"),
        }
    }
}

/// Why no more of a body comes.
enum Loss {
    Late,
    Broken(String),
}

impl Upstream {
    /// Sends `body` and collects the answer. What it finds out about the upstream before its end is
    /// reported to `pass`.
    ///
    /// # Errors
    /// [`Failure`] when there is none that can be used by `deadline`.
    pub(super) async fn exchange(
        &self,
        body: Vec<u8>,
        is_streamed: bool,
        deadline: Instant,
        collector: &mut Collector<'_>,
        pass: &mut Pass<'_>,
    ) -> Result<(), Failure> {
        let mut progress = Progress {
            pass,
            has_begun: false,
            is_finished: false,
        };
        let asking = self.http.request(self.request(body, is_streamed));
        let response = timeout_at(deadline, asking)
            .await
            .map_err(|_elapsed| progress.failure(Loss::Late))?
            .map_err(|error| {
                let what = if error.is_connect() {
                    "cannot connect"
                } else {
                    "the connection broke before the answer"
                };
                Failure::new(Kind::Unreachable, format!("{what}: {}", reasons(&error)))
            })?;
        let status = response.status();
        if status.is_redirection() {
            let cause = format!("upstream answered {status}; redirects are not followed");
            return Err(Failure::new(Kind::Refused, cause));
        }
        if !status.is_success() {
            return Err(refusal(response, deadline).await);
        }
        if media_type(response.headers()) == EVENT_STREAM {
            read_stream(response, deadline, collector, &mut progress).await?;
        } else {
            let mut body = response.into_body();
            let whole = read_whole(&mut body, deadline, || progress.begin()).await;
            let whole = whole.map_err(|unread| match unread {
                Unread::Lost(loss) => progress.failure(loss),
                Unread::TooLarge => Failure::unusable(TOO_LARGE),
            })?;
            let completion = completion(&whole, &mut Surrogates::default())?;
            collector.take(&completion).await?;
        }
        collector.finish().await
    }

    fn request(&self, body: Vec<u8>, is_streamed: bool) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        let accept = if is_streamed {
            EVENT_STREAM
        } else {
            "application/json"
        };
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let user_agent = concat!("landing-api/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(user_agent));
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        request
    }
}

const EVENT_STREAM: &str = "text/event-stream";

fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let text = String::from_utf8_lossy(value.unwrap_or_default());
    let essence = text.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// The failure that an answer with an error's status is.
async fn refusal(response: Response<Incoming>, deadline: Instant) -> Failure {
    let status = response.status();
    let pause = retry_after(response.headers());
    // An error whose text cannot be read is an error all the same.
    let body = read_whole(&mut response.into_body(), deadline, || ()).await;
    let error = body
        .ok()
        .and_then(|body| serde_json::from_slice::<Value>(&body).ok())
        .and_then(|body| UpstreamError::find(&body))
        .unwrap_or_default();
    error.into_failure(status.as_u16(), pause)
}

/// Why a body cannot be read whole.
enum Unread {
    Lost(Loss),
    TooLarge,
}

/// Reads a body to its end; says when it has `begun`.
async fn read_whole(
    body: &mut Incoming,
    deadline: Instant,
    mut begun: impl FnMut(),
) -> Result<Vec<u8>, Unread> {
    let mut whole = Vec::new();
    while let Some(bytes) = next(body, deadline).await.map_err(Unread::Lost)? {
        if whole.len() + bytes.len() > WHOLE_BYTES_MAX {
            return Err(Unread::TooLarge);
        }
        // Some servers send blanks while the model has not begun, so that nobody hangs up.
        if bytes.iter().any(|byte| !byte.is_ascii_whitespace()) {
            begun();
        }
        whole.extend_from_slice(&bytes);
    }
    Ok(whole)
}

/// Reads a stream until it says that it is done, or ends.
///
/// Some servers end a good answer without `[DONE]` and without a reason for the model's stopping;
/// with others something broke then. The transfer itself tells them apart where it says how long it
/// is or marks its end: such an answer is taken for whole. One that lasts as long as its connection
/// ends in the same way when the server dies: it is none.
async fn read_stream(
    response: Response<Incoming>,
    deadline: Instant,
    collector: &mut Collector<'_>,
    progress: &mut Progress<'_, '_>,
) -> Result<(), Failure> {
    let marks_end = [TRANSFER_ENCODING, CONTENT_LENGTH]
        .iter()
        .any(|name| response.headers().contains_key(name));
    let mut body = response.into_body();
    let mut reader = EventReader::default();
    let mut surrogates = Surrogates::default();
    let mut seen = 0;
    loop {
        let bytes = match next(&mut body, deadline).await {
            Ok(bytes) => bytes,
            // Only the end of the transfer is missing.
            Err(_loss) if progress.is_finished => return Ok(()),
            Err(loss) => return Err(progress.failure(loss)),
        };
        let is_end = bytes.is_none();
        let events = match bytes {
            Some(bytes) => {
                seen += bytes.len();
                if seen > STREAM_BYTES_MAX {
                    return Err(Failure::unusable(TOO_LARGE));
                }
                let pushed = reader.push(&bytes);
                pushed.map_err(|error| Failure::unusable(error.to_string()))?
            }
            None => reader.finish().into_iter().collect(),
        };
        for event in events {
            if event.trim_ascii() == b"[DONE]" {
                return Ok(());
            }
            // What has come is there at once, whatever the time: only waiting would look at it.
            if Instant::now() >= deadline && !progress.is_finished {
                return Err(progress.failure(Loss::Late));
            }
            let completion = completion(&event, &mut surrogates)?;
            progress.begin();
            progress.is_finished |= completion.finish.is_some();
            collector.take(&completion).await?;
        }
        if !is_end {
            continue;
        }
        if !progress.is_finished {
            if !marks_end {
                return Err(Failure::unusable(
                    "the stream ended with its connection, and nothing says that it was whole",
                ));
            }
            tracing::debug!("a stream ended without [DONE] or a finish reason; taken for whole");
        }
        return Ok(());
    }
}

const TOO_LARGE: &str = "the answer is too large";

/// The next bytes of a body; nothing at its end.
async fn next(body: &mut Incoming, deadline: Instant) -> Result<Option<Bytes>, Loss> {
    loop {
        match timeout_at(deadline, body.frame()).await {
            Err(_elapsed) => return Err(Loss::Late),
            Ok(None) => return Ok(None),
            Ok(Some(Ok(frame))) => {
                if let Ok(bytes) = frame.into_data() {
                    return Ok(Some(bytes));
                }
            }
            Ok(Some(Err(error))) => return Err(Loss::Broken(reasons(&error))),
        }
    }
}

/// Reads a completion, or a chunk of one, that came with a status of success.
fn completion(json: &[u8], surrogates: &mut Surrogates) -> Result<Completion, Failure> {
    let body: Value = serde_json::from_slice(json)
        .or_else(|_error| serde_json::from_slice(&surrogates.mend(json)))
        .map_err(|error| Failure::unusable(format!("the answer is not JSON: {error}")))?;
    match UpstreamError::find(&body) {
        Some(error) => Err(error.into_failure(StatusCode::OK.as_u16(), None)),
        None => Ok(Completion::read(&body)),
    }
}
